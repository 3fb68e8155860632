"""`first_rejection`: the accepted length, from the decisions."""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Parameter, array_of, check_names, outside
from specverify.contracts.results import int_array_result
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("first_rejection", case, ("accepted",))
    accepted = case["accepted"]
    if not isinstance(accepted, Array) or accepted.dtype != "bool" or not accepted.shape:
        raise outside("first_rejection", "accepted must be a bool array of shape (..., gamma)")


def _outcome(case: Case, result: object) -> Outcome:
    return int_array_result(array_of(case, "accepted").shape[:-1], result)


CONTRACT = Contract(
    name="first_rejection",
    prefix="FRJ",
    sentence="Counts the leading run of accepted draft tokens.",
    parameters=(Parameter("accepted", "(..., gamma)", "bool, one decision per draft token"),),
    returns="(...), integers from 0 to gamma",
    right="length of the leading run of True, gamma if all are",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"accepted": array("bool", (3,), (True, False, True))},
    equivalents=("find_first_true_index", "cumprod().sum()"),
    row_parameters=("accepted",),
)
