"""The Dirichlet-mixture e-process: evidence against a law that is valid at any stopping time.

Under the right law E is a non-negative supermartingale that starts at 1, so P(E ever reaches 1/a) <= a (Ville's inequality), whatever
decides when to stop: a look after each chunk, a shrinker, a person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from specverify.law import GRID, Law, Outcome
from specverify.stats.logs import log_mean

RATES = (1e-2, 1e-3)
"""Alternatives for the mass outside the support: a single sight in 60 draws gives E = 1,700, enough to make a case suspect."""

KAPPAS = tuple(10.0**k for k in range(1, 9))
"""Concentrations of the Dirichlet priors, averaged: kappa 10 finds gross faults, 1e8 differences of 1e-4."""


def log_e_value(counts: Mapping[Outcome, int], right: Law) -> float:
    """Natural logarithm of E, half a Dirichlet mixture and half a mixture over rates of draws outside the support.

    The Dirichlet half is the mean over kappa of B(kappa a + counts) / B(kappa a) / prod right^counts. Outcomes outside the support
    share one cell, for which the null hypothesis grants a mass m of at most GRID. The cells inside are not scaled down for it, so that
    for every such law that keeps their proportions a factor's expectation is at most (1 - m) f + (m / GRID) (1 - f) <= 1, f the mass
    that the alternative puts inside.

    Args:
        counts: outcome to how often it was drawn.
        right: the law under the null hypothesis.
    """
    inside = {outcome: n for outcome, n in counts.items() if right[outcome] > 0}
    total = sum(counts.values())
    outside = total - sum(inside.values())
    return log_mean([_log_dirichlet(inside, outside, right), _log_outside(total - outside, outside)])


def _log_dirichlet(inside: Mapping[Outcome, int], outside: int, right: Law) -> float:
    cells = [(right[outcome] * (1 - GRID), right[outcome], n) for outcome, n in inside.items()]
    if outside:
        cells.append((GRID, GRID, outside))
    total = sum(n for _, _, n in cells)
    null = math.fsum(n * math.log(mass) for _, mass, n in cells)
    return log_mean([_log_marginal(kappa, cells, total) - null for kappa in KAPPAS])


def _log_outside(inside: int, outside: int) -> float:
    """The inside keeps its law, the outside has one of RATES."""
    return log_mean([inside * math.log1p(-rate) + outside * math.log(rate / GRID) for rate in RATES])


def _log_marginal(kappa: float, cells: list[tuple[float, float, int]], total: int) -> float:
    """Log probability of the counts, in their order, under a Dirichlet prior centred at the null; cells never hit cost nothing."""
    rises = math.fsum(math.lgamma(kappa * centre + n) - math.lgamma(kappa * centre) for centre, _, n in cells)
    return rises - (math.lgamma(kappa + total) - math.lgamma(kappa))
