"""`positive_part`: the positive part of a difference, normalised."""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Parameter, array_of, check_names, float_array
from specverify.contracts.results import float_array_result, rows_sum_to_one


def _check(case: Case) -> None:
    check_names("positive_part", case, ("x",))
    float_array("positive_part", case, "x")


def _outcome(case: Case, result: object) -> Array:
    return float_array_result(array_of(case, "x").shape, result, "x")


CONTRACT = Contract(
    name="positive_part",
    prefix="POS",
    sentence="Takes the positive part of x and divides it by its sum.",
    parameters=(Parameter("x", "(..., V)", "differences p - q, or any finite numbers"),),
    returns="(..., V), rows of probabilities",
    right="x+ / sum x+ along the last axis, wherever x has a positive entry",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"x": array("float32", (3,), (0.25, -0.5, 0.25))},
    conventions={"eps": Convention("a guard added to the sum, a number")},
    equivalents=("max_fn",),
    row_parameters=("x",),
    plausible=rows_sum_to_one,
)
