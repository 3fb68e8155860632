"""What the contracts on logits share: their domain, and results that are logits again."""

from __future__ import annotations

import math

from specverify.contracts.arrays import Array
from specverify.contracts.base import Case, Convention, array_of, float_array, outside
from specverify.contracts.results import float_array_result

FILTERS = Convention("which filter is applied first where both are given", ("top_k first", "top_p first"))
"""Top-p over the tokens that top-k kept, renormalised; or top-p over the whole row, which is where both masks meet (theory C1)."""


def logit_rows(contract: str, case: Case) -> Array:
    """The argument `logits`: no NaN, no +inf, at least one finite entry in each row."""
    logits = float_array(contract, case, "logits")
    for row in logits.rows():
        if any(math.isnan(x) or x == math.inf for x in row) or not any(map(math.isfinite, row)):
            raise outside(contract, "every row of logits must have a finite entry, none that is NaN or +inf")
    return logits


def check_top_k(contract: str, case: Case) -> None:
    """`top_k` is an int of at least 1; more than V keeps all."""
    top_k = case["top_k"]
    if not isinstance(top_k, int) or top_k < 1:
        raise outside(contract, "top_k must be an int of at least 1")


def check_top_p(contract: str, case: Case) -> None:
    """`top_p` lies in (0, 1]."""
    top_p = case["top_p"]
    if not isinstance(top_p, (int, float)) or not 0 < top_p <= 1:
        raise outside(contract, "top_p must lie in (0, 1]")


def logits_result(case: Case, result: object) -> Array:
    """A result of the shape of `logits`."""
    return float_array_result(array_of(case, "logits").shape, result, "logits")
