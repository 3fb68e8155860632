"""The Dirichlet-mixture e-process: evidence against a law that is valid at any stopping time.

Under the right law E is a non-negative martingale that starts at 1, so P(E ever reaches 1/a) <= a (Ville's inequality), whatever
decides when to stop: a look after each chunk, a shrinker, a person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from specverify.law import Law, Outcome

KAPPAS = tuple(10.0**k for k in range(1, 9))
"""Concentrations of the Dirichlet priors, averaged: kappa 10 finds gross faults, 1e8 differences of 1e-4."""

GRID = 2.0**-20
"""Mass that the resolution of a random generator may put outside the support (u = 0 has probability 2^-24 in float32): it is reported
as a grid effect, so the null hypothesis grants it."""


def log_e_value(counts: Mapping[Outcome, int], right: Law) -> float:
    """Natural logarithm of E = mean over kappa of B(kappa a + counts) / B(kappa a) / prod right^counts.

    Outcomes outside the support of `right` share one cell of mass GRID. The cells inside are not scaled down for it, so that for every
    law that keeps their proportions and puts at most GRID outside, a factor's expectation stays at most max(1 - m, m / GRID) <= 1.

    Args:
        counts: outcome to how often it was drawn.
        right: the law under the null hypothesis.
    """
    inside = {outcome: n for outcome, n in counts.items() if right[outcome] > 0}
    outside, total = sum(counts.values()) - sum(inside.values()), sum(counts.values())
    cells = [(right[outcome] * (1 - GRID), right[outcome], n) for outcome, n in inside.items()]
    if outside:
        cells.append((GRID, GRID, outside))
    null = math.fsum(n * math.log(mass) for _, mass, n in cells)
    logs = [_log_marginal(kappa, cells, total) - null for kappa in KAPPAS]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs) / len(logs))


def _log_marginal(kappa: float, cells: list[tuple[float, float, int]], total: int) -> float:
    """Log probability of the counts, in their order, under a Dirichlet prior centred at the null; cells never hit cost nothing."""
    rises = math.fsum(math.lgamma(kappa * centre + n) - math.lgamma(kappa * centre) for centre, _, n in cells)
    return rises - (math.lgamma(kappa + total) - math.lgamma(kappa))
