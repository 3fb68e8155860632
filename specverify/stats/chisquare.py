"""Goodness of fit with its pooling stated, Pearson's and G: stands in the record beside the sequential test and decides nothing.

Both are compared with the chi-squared law, an approximation. At levels of 1e-3 and above it is fair where cells expect 5 draws; far below it is
not: at 1e-9 Pearson's false alarms are 10 to 40 times nominal, since a cell's tail is Poisson's, not a normal one. Asked for a level below
1e-3, cells are pooled to 100 expected draws and the p-values made honest: Pearson's is multiplied by what a Poisson tail exceeds a normal
one by in the smallest cell, and G's is a theorem's bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from specverify.law import Law, Outcome

FAIR = 1e-3
"""The lowest level at which the approximation is used as it is."""

LEAST_EXPECTED = 5.0
"""Cells that expect fewer draws are pooled."""

LEAST_EXPECTED_DEEP = 100.0
"""The same below FAIR."""


@dataclass(frozen=True)
class ChiSquared:
    """Statistic, degrees of freedom, p-value, and how many cells were pooled into one."""

    statistic: float
    dof: int
    p_value: float
    pooled: int


@dataclass(frozen=True)
class Refused:
    """Why there is no test."""

    reason: str


@dataclass(frozen=True)
class Fit:
    """Both tests of one table."""

    pearson: ChiSquared
    g: ChiSquared


Cells = list[tuple[int, float]]
"""Drawn and expected, one pair per cell."""


def chi_squared(counts: Mapping[Outcome, int], right: Law) -> ChiSquared | None:
    """Pearson's test of counts against a law, or none where fewer than two cells remain. A draw outside the support gives p = 0."""
    fit = goodness_of_fit(counts, right)
    return None if isinstance(fit, Refused) else fit.pearson


def goodness_of_fit(counts: Mapping[Outcome, int], right: Law, *, alpha: float = FAIR) -> Fit | Refused:
    """Pearson's chi-squared and the likelihood ratio G = 2 sum n ln(n / e), at a level that is named beforehand.

    Args:
        counts: outcome to how often it was drawn.
        right: the law under the null hypothesis.
        alpha: the lowest level that the p-values must hold at.
    """
    if any(right[outcome] == 0 for outcome, n in counts.items() if n):
        sure = ChiSquared(math.inf, len(right.probabilities), 0.0, 0)
        return Fit(sure, sure)
    least = LEAST_EXPECTED if alpha >= FAIR else LEAST_EXPECTED_DEEP
    cells, pooled = _pool(counts, right, least)
    if len(cells) < 2:  # noqa: PLR2004
        return Refused(f"fewer than two cells expect {least:g} draws")
    return Fit(_pearson(cells, pooled, deep=alpha < FAIR), _g(cells, pooled, deep=alpha < FAIR))


def _pearson(cells: Cells, pooled: int, *, deep: bool) -> ChiSquared:
    statistic, dof = math.fsum((n - e) ** 2 / e for n, e in cells), len(cells) - 1
    p_value = deep_tail(statistic, dof, min(e for _, e in cells)) if deep else _tail(statistic, dof)
    return ChiSquared(statistic, dof, p_value, pooled)


def _g(cells: Cells, pooled: int, *, deep: bool) -> ChiSquared:
    statistic = max(0.0, 2 * math.fsum(n * math.log(n / e) for n, e in cells if n))
    dof = len(cells) - 1
    return ChiSquared(statistic, dof, _relative_entropy_tail(statistic / 2, dof) if deep else _tail(statistic, dof), pooled)


def _tail(statistic: float, dof: int) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(statistic, dof))


def deep_tail(statistic: float, dof: int, expected: float) -> float:
    """The chi-squared law's tail times how much likelier a Poisson cell is than a normal one to be sqrt(statistic) deviations too full (Cramer 1938).

    The exponents are e h(x), h(x) = (1 + x) ln(1 + x) - x, x = sqrt(statistic / e), and statistic / 2.

    Args:
        statistic: Pearson's.
        dof: degrees of freedom.
        expected: what the smallest cell expects, e.
    """
    from scipy.stats import chi2

    x = math.sqrt(statistic / expected)
    excess = statistic / 2 - expected * ((1 + x) * math.log1p(x) - x)
    return math.exp(min(0.0, float(chi2.logsf(statistic, dof)) + excess))


def _relative_entropy_tail(nats: float, dof: int) -> float:
    """A bound on P(N KL(phat, p) >= nats) at any N and p: exp(-nats) (e nats / dof)^dof above dof (Agrawal, arXiv 1904.02291)."""
    return 1.0 if nats <= dof else math.exp(dof + dof * math.log(nats / dof) - nats)


def _pool(counts: Mapping[Outcome, int], right: Law, least: float) -> tuple[Cells, int]:
    """The cells, and how many of the smallest were pooled."""
    total = sum(counts.values())
    cells = sorted(((counts.get(outcome, 0), total * mass) for outcome, mass in right.probabilities.items()), key=lambda cell: cell[1])
    small = _too_small([expected for _, expected in cells], least)
    large = cells[small:]
    if small:
        large.append((sum(n for n, _ in cells[:small]), math.fsum(expected for _, expected in cells[:small])))
    return large, small


def _too_small(expected: list[float], least: float) -> int:
    """How many of the smallest cells must be pooled, so that no cell, the pool included, expects fewer than `least` draws."""
    pooled, pool = 0, 0.0
    while pooled < len(expected) and (expected[pooled] < least or (pooled and pool < least)):
        pool += expected[pooled]
        pooled += 1
    return pooled
