"""The exact multinomial test, and p-values by simulation: cross-checks of the other tests at levels that they can resolve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from specverify.law import Law, Outcome

MOST_TABLES = 200_000
"""Tables that the exact test enumerates, a second's work."""

TIES = 1e-9
"""Tables whose probabilities differ by less, relatively, count as equally likely."""


def exact_p_value(counts: Mapping[Outcome, int], right: Law) -> float:
    """The probability of all tables no likelier than the one drawn; 0 if a draw lies outside the support.

    Raises:
        ValueError: there are more than MOST_TABLES tables.
    """
    if any(right[outcome] == 0 for outcome, n in counts.items() if n):
        return 0.0
    logs = [math.log(mass) for mass in right.probabilities.values()]
    total = sum(counts.values())
    if math.comb(total + len(logs) - 1, total) > MOST_TABLES:
        raise ValueError("too many tables to enumerate: simulate")
    seen = _log_probability([counts.get(outcome, 0) for outcome in right.probabilities], logs)
    likelihoods = (_log_probability(table, logs) for table in _tables(total, len(logs)))
    return min(1.0, math.fsum(math.exp(log) for log in likelihoods if log <= seen + TIES))


def monte_carlo_p_value(counts: Mapping[Outcome, int], right: Law, *, simulations: int = 9_999, seed: int = 0) -> float:
    """The share of simulated tables, the drawn one counted among them, whose chi-squared is as large: at least 1 / (simulations + 1).

    Valid at any level, whatever the cells expect (Barnard 1963).

    Args:
        counts: outcome to how often it was drawn.
        right: the law under the null hypothesis.
        simulations: tables to draw; a level below 1 / simulations cannot be reached.
        seed: of the simulation.
    """
    import numpy as np

    if any(right[outcome] == 0 for outcome, n in counts.items() if n):
        return 1 / (simulations + 1)
    masses = np.array(list(right.probabilities.values()))
    total = sum(counts.values())
    table = np.array([counts.get(outcome, 0) for outcome in right.probabilities])
    tables = np.random.default_rng(seed).multinomial(total, masses / masses.sum(), size=simulations)
    values = ((np.vstack([table, tables]) - total * masses) ** 2 / (total * masses)).sum(axis=1)
    return float((values >= values[0] * (1 - TIES)).sum() / (simulations + 1))


def _tables(total: int, cells: int) -> Iterator[list[int]]:
    """All ways to put `total` draws into cells."""
    if cells == 1:
        yield [total]
        return
    for first in range(total + 1):
        for rest in _tables(total - first, cells - 1):
            yield [first, *rest]


def _log_probability(table: list[int], logs: list[float]) -> float:
    return math.lgamma(sum(table) + 1) + math.fsum(n * log - math.lgamma(n + 1) for n, log in zip(table, logs, strict=True))
