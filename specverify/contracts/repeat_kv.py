"""`repeat_kv`: each head of keys or values, n times behind each other."""

from __future__ import annotations

from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Parameter, array_of, check_names, float_array, outside
from specverify.contracts.results import float_array_result
from specverify.law import Outcome

NAME = "repeat_kv"
AXES = 4


def _check(case: Case) -> None:
    check_names(NAME, case, ("kv", "n"))
    if len(float_array(NAME, case, "kv").shape) != AXES:
        raise outside(NAME, "kv must have shape (B, H, T, D)")
    _times(case)


def _times(case: Case) -> int:
    n = case["n"]
    if not isinstance(n, int) or n < 1:
        raise outside(NAME, "n must be an int of at least 1")
    return n


def _outcome(case: Case, result: object) -> Outcome:
    batch, heads, *rest = array_of(case, "kv").shape
    return float_array_result((batch, heads * _times(case), *rest), result, "kv, its heads repeated,")


CONTRACT = Contract(
    name=NAME,
    prefix="RKV",
    sentence="Repeats each head of keys or values for the queries that share it.",
    parameters=(Parameter("kv", "(B, H, T, D)", "keys or values"), Parameter("n", "int", "queries' heads for each of them, at least 1")),
    returns="(B, H n, T, D)",
    right="head i of the result is head i // n",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"kv": array("float32", (1, 1, 1, 1), (1,)), "n": 2},
)
