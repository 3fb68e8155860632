"""`keep_fraction`: the largest logits, as many as a fraction of the vocabulary."""

from __future__ import annotations

from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Parameter, check_names, outside
from specverify.contracts.logits import logit_rows, logits_result


def _check(case: Case) -> None:
    check_names("keep_fraction", case, ("logits", "thres"))
    logit_rows("keep_fraction", case)
    thres = case["thres"]
    if not isinstance(thres, (int, float)) or not 0 <= thres <= 1:
        raise outside("keep_fraction", "thres must lie in [0, 1]")


CONTRACT = Contract(
    name="keep_fraction",
    prefix="KPF",
    sentence="Keeps the ceil((1 - thres) V) largest logits and sets the others to -inf.",
    parameters=(Parameter("logits", "(..., V)", "rows of logits, -inf allowed"), Parameter("thres", "float", "share to drop, [0, 1]")),
    returns="(..., V), logits",
    right="the ceil((1 - thres) V) largest unchanged, at least one; others -inf",
    random=False,
    check=_check,
    outcome=logits_result,
    smoke={"logits": array("float32", (3,), (0, 1, 2)), "thres": 0.5},
    equivalents=("top_k(logits, thres)",),
    row_parameters=("logits",),
)
