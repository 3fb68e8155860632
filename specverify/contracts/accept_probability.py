"""`accept_probability`: how likely a draft token is accepted."""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Parameter, array_of, check_names, float_array, outside
from specverify.contracts.results import float_array_result


def _check(case: Case) -> None:
    check_names("accept_probability", case, ("p_x", "q_x"))
    p, q = float_array("accept_probability", case, "p_x"), float_array("accept_probability", case, "q_x")
    if p.shape != q.shape or p.dtype != q.dtype or not all(0 <= x <= 1 for x in p.values + q.values):
        raise outside("accept_probability", "p_x and q_x must be probabilities of one shape and one dtype")


def _outcome(case: Case, result: object) -> Array:
    return float_array_result(array_of(case, "p_x").shape, result, "p_x")


CONTRACT = Contract(
    name="accept_probability",
    prefix="ACC",
    sentence="Gives the probability with which a draft token is accepted.",
    parameters=(Parameter("p_x", "(...)", "target probability of the draft token"), Parameter("q_x", "(...)", "its draft probability, above 0")),
    returns="(...), probabilities",
    right="min(1, p_x / q_x) for q_x > 0",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"p_x": array("float32", (2,), (0.5, 0.25)), "q_x": array("float32", (2,), (0.25, 0.5))},
    equivalents=("acceptance_ratio",),
)
