"""`ratio`: a division with a guard."""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Parameter, array_of, check_names, float_array, outside
from specverify.contracts.results import float_array_result


def _check(case: Case) -> None:
    check_names("ratio", case, ("num", "den"))
    num, den = float_array("ratio", case, "num"), float_array("ratio", case, "den")
    if num.shape != den.shape or num.dtype != den.dtype:
        raise outside("ratio", "num and den must have one shape and one dtype")
    if not all(0 <= x <= 1 for x in num.values + den.values):
        raise outside("ratio", "num and den must be probabilities")


def _outcome(case: Case, result: object) -> Array:
    return float_array_result(array_of(case, "num").shape, result, "num")


CONTRACT = Contract(
    name="ratio",
    prefix="RAT",
    sentence="Divides probabilities entry by entry, guarded against a denominator of zero.",
    parameters=(Parameter("num", "(...)", "probabilities p(x)"), Parameter("den", "(...)", "probabilities q(x)")),
    returns="(...)",
    right="num / den within the declared guard; 0/0 gives 0 or the guard's value, never NaN",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"num": array("float32", (2,), (0.5, 0.25)), "den": array("float32", (2,), (0.25, 0.5))},
    conventions={"eps": Convention("a guard added to the denominator or its least value, a number")},
    equivalents=("safe_div",),
)
