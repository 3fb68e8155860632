"""Coins: the uniform numbers that a call may take as an argument, and where the theory expects borders of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from specverify.contracts.arrays import FLOATS, Array
from specverify.contracts.base import Case, array_of

FEW = 5
"""Tokens of positive weight whose every order of scanning is expected: 2^5 sums of some of them. Of more: their own order, by weight, and both backwards."""


@dataclass(frozen=True)
class Coins:
    """Uniform numbers on [0, 1) as the keyword `coins`, of shape (n,).

    Attributes:
        shape: as text.
        count: n, for a case.
        borders: for a case with its draft, numbers at which what a call does may change; those of any coin, since their order is the subject's.
        streams: for a case whose requests have seeds, the seed of each and how many of the numbers are its own, in order.
    """

    shape: str
    count: Callable[[Case], int]
    borders: Callable[[Case], set[float]]
    streams: Callable[[Case], list[tuple[int, int]] | None] = field(default=lambda _: None)


def dtype_of(case: Case) -> str:
    """Double precision where the rows have it, else single: half precision has too few uniform numbers for any law."""
    found = {value.dtype for value in case.values() if isinstance(value, Array) and value.dtype in FLOATS}
    return "float64" if "float64" in found else "float32"


def chain(case: Case) -> set[float]:
    """Of a verify step: the acceptance of each draft token, and scans of each residual and of the bonus row (2211.17192, algorithm 1)."""
    p, draft = list(array_of(case, "p").rows()), [int(x) for x in array_of(case, "draft").values]
    q = list(array_of(case, "q").rows()) if "q" in case else [[float(token == x) for token in range(len(p[0]))] for x in draft]
    ratios = {a[x] / b[x] for a, b, x in zip(p, q, draft, strict=False) if b[x] > 0}
    gaps = [[max(0.0, x - y) for x, y in zip(a, b, strict=True)] for a, b in zip(p, q, strict=False)]
    return ratios.union(*(scans(row) for row in [*gaps, p[-1]]))


def rows(case: Case) -> set[float]:
    """Of sampling: scans of each row."""
    return set[float]().union(*(scans(row) for row in array_of(case, "probs").rows()))


def scans(row: Sequence[float]) -> set[float]:
    """Cumulative sums of a row, normalised: in every order if few tokens have weight."""
    weights, total = [x for x in row if x > 0], math.fsum(row)
    if len(weights) <= FEW:
        return {math.fsum(some) / total for n in range(1, len(weights)) for some in itertools.combinations(weights, n)}
    sums = {x / total for order in (weights, sorted(weights)) for x in itertools.accumulate(order)}
    return sums | {1 - x for x in sums}
