"""`filter_logits`: top-k and top-p on logits."""

from __future__ import annotations

from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Parameter, check_names
from specverify.contracts.logits import FILTERS, check_top_k, check_top_p, logit_rows, logits_result


def _check(case: Case) -> None:
    check_names("filter_logits", case, ("logits", "top_k", "top_p"))
    logit_rows("filter_logits", case)
    check_top_k("filter_logits", case)
    check_top_p("filter_logits", case)


CONTRACT = Contract(
    name="filter_logits",
    prefix="FLT",
    sentence="Keeps the logits of the top-k and top-p tokens and sets the others to -inf.",
    parameters=(
        Parameter("logits", "(..., V)", "rows of logits, -inf allowed"),
        Parameter("top_k", "int", "1 … V and more"),
        Parameter("top_p", "float", "(0, 1]"),
    ),
    returns="(..., V), logits",
    right="kept entries unchanged, others -inf; no row emptied; top_k >= V and top_p = 1 keep all",
    random=False,
    check=_check,
    outcome=logits_result,
    smoke={"logits": array("float32", (3,), (0, 1, 2)), "top_k": 2, "top_p": 1.0},
    conventions={"filters": FILTERS},
    equivalents=("top_k_top_p_filter",),
    row_parameters=("logits",),
)
