"""`rotate_half`: each pair of entries turned by a right angle, (a, b) to (-b, a)."""

from __future__ import annotations

from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Parameter, array_of, check_names
from specverify.contracts.results import float_array_result
from specverify.contracts.rotations import PAIRING, even_rows
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("rotate_half", case, ("x",))
    even_rows("rotate_half", case, "x")


def _outcome(case: Case, result: object) -> Outcome:
    return float_array_result(array_of(case, "x").shape, result, "x")


CONTRACT = Contract(
    name="rotate_half",
    prefix="ROT",
    sentence="Turns each pair of entries by a right angle.",
    parameters=(Parameter("x", "(..., D)", "rows of finite entries, D even"),),
    returns="(..., D)",
    right="(a, b) becomes (-b, a) in each pair",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"x": array("float32", (1, 1, 1, 2), (1, 2))},
    conventions={"pairing": PAIRING},
    equivalents=("rotate_every_two",),
)
