"""`residual`: the law of the token that replaces a rejected one."""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Parameter, array_of, check_names, outside, probability_rows
from specverify.contracts.results import float_array_result, rows_sum_to_one


def _check(case: Case) -> None:
    check_names("residual", case, ("p", "q"))
    p, q = probability_rows("residual", case, "p"), probability_rows("residual", case, "q")
    if p.shape != q.shape or p.dtype != q.dtype:
        raise outside("residual", "p and q must have one shape and one dtype")


def _outcome(case: Case, result: object) -> Array:
    return float_array_result(array_of(case, "p").shape, result, "p")


CONTRACT = Contract(
    name="residual",
    prefix="RES",
    sentence="Gives the law of the token that replaces a rejected one.",
    parameters=(Parameter("p", "(..., V)", "rows of the target"), Parameter("q", "(..., V)", "rows of the draft")),
    returns="(..., V), rows of probabilities",
    right="(p - q)+ / sum (p - q)+ along the last axis, wherever p and q differ",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"p": array("float32", (3,), (0.5, 0.25, 0.25)), "q": array("float32", (3,), (0.25, 0.75, 0.0))},
    conventions={"eps": Convention("a guard added to the sum, a number")},
    equivalents=("norm_max", "recovered_probs"),
    row_parameters=("p", "q"),
    plausible=rows_sum_to_one,
)
