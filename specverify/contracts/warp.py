"""`warp`: logits to probabilities through temperature, top-k and top-p."""

from __future__ import annotations

import math

from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Convention, Parameter, check_names, outside
from specverify.contracts.logits import FILTERS, check_top_k, check_top_p, logit_rows, logits_result
from specverify.contracts.results import rows_sum_to_one


def _check(case: Case) -> None:
    check_names("warp", case, ("logits", "temperature", "top_k", "top_p"))
    logit_rows("warp", case)
    check_top_k("warp", case)
    check_top_p("warp", case)
    temperature = case["temperature"]
    if not isinstance(temperature, (int, float)) or not (0 <= temperature < math.inf):
        raise outside("warp", "temperature must be a number of at least 0")


CONTRACT = Contract(
    name="warp",
    prefix="WRP",
    sentence="Turns logits into the probabilities that tokens are drawn from.",
    parameters=(
        Parameter("logits", "(..., V)", "rows of logits, -inf allowed"),
        Parameter("temperature", "float", "0 is the one-hot argmax"),
        Parameter("top_k", "int", "1 … V and more; handed over as it is"),
        Parameter("top_p", "float", "(0, 1]"),
    ),
    returns="(..., V), rows of probabilities",
    right="softmax of logits / temperature over the top-k tokens, then over the smallest set of mass top_p; the order of the two, ties and the boundary token are conventions",
    random=False,
    check=_check,
    outcome=logits_result,
    smoke={"logits": array("float32", (3,), (0, 1, 2)), "temperature": 1.0, "top_k": 3, "top_p": 1.0},
    conventions={
        "zero_means": Convention("what a temperature of 0 is taken for", ("argmax", "refuse")),
        "order": Convention("which is applied first", ("temperature", "filters")),
        "filters": FILTERS,
    },
    equivalents=("norm_logits",),
    row_parameters=("logits",),
    plausible=rows_sum_to_one,
)
