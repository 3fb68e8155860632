"""Pearson's chi-squared with its pooling stated: stands in the record beside the sequential test and decides nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from specverify.law import Law, Outcome

LEAST_EXPECTED = 5.0
"""Cells that expect fewer draws are pooled. The approximation is then fair at levels of 1e-3 and above, not below: at 1e-9 its
false alarms are 10 to 40 times nominal."""


@dataclass(frozen=True)
class ChiSquared:
    """Statistic, degrees of freedom, p-value, and how many cells were pooled into one."""

    statistic: float
    dof: int
    p_value: float
    pooled: int


def chi_squared(counts: Mapping[Outcome, int], right: Law) -> ChiSquared | None:
    """The test of counts against a law, or none where fewer than two cells remain. A draw outside the support gives p = 0."""
    total = sum(counts.values())
    if any(right[outcome] == 0 for outcome in counts):
        return ChiSquared(math.inf, len(right.probabilities), 0.0, 0)
    cells = sorted(((counts.get(outcome, 0), total * mass) for outcome, mass in right.probabilities.items()), key=lambda cell: cell[1])
    small = _too_small([expected for _, expected in cells])
    large = cells[small:]
    if small:
        large.append((sum(n for n, _ in cells[:small]), math.fsum(expected for _, expected in cells[:small])))
    if len(large) < 2:  # noqa: PLR2004
        return None
    from scipy.stats import chi2

    statistic = math.fsum((n - e) ** 2 / e for n, e in large)
    return ChiSquared(statistic, len(large) - 1, float(chi2.sf(statistic, len(large) - 1)), small)


def _too_small(expected: list[float]) -> int:
    """How many of the smallest cells must be pooled, so that no cell, the pool included, expects fewer than LEAST_EXPECTED draws."""
    pooled, pool = 0, 0.0
    while pooled < len(expected) and (expected[pooled] < LEAST_EXPECTED or (pooled and pool < LEAST_EXPECTED)):
        pool += expected[pooled]
        pooled += 1
    return pooled
