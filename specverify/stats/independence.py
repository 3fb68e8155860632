"""Whether rows of a batch, and successive steps, are drawn independently of each other."""

from __future__ import annotations

import math
from collections.abc import Mapping

from specverify.law import Law, Outcome
from specverify.stats.directed import log_directed, log_screen


def log_matches(matches: int, pairs: int, first: Law, second: Law) -> float:
    """Log e-value against independent rows, from how many disjoint pairs of rows gave equal outcomes.

    Independent rows match with probability sum p(x) p'(x). The alternatives are rows that share their noise and always match, and rows that
    avoid each other; with shared noise ln(1/a) / ln(1 / sum p^2) pairs suffice.

    Args:
        matches: pairs with equal outcomes.
        pairs: pairs in all, no row in two of them.
        first: law of one row of each pair.
        second: law of the other.
    """
    chance = math.fsum(mass * second[outcome] for outcome, mass in first.probabilities.items())
    right = Law.of({True: chance, False: max(0.0, 1 - chance)})
    counts = {True: matches, False: pairs - matches}
    return log_directed({seen: n for seen, n in counts.items() if n}, right, {"shared noise": Law({True: 1.0}), "avoiding": Law({False: 1.0})})


def log_steps(counts: Mapping[Outcome, int], first: Law, second: Law) -> float:
    """Log e-value against independent steps, from pairs (x_t, x_t+1) of which no step is in two: half generic, half one uniform for both steps."""
    return log_screen(counts, pair_law(first, second), {"one uniform": one_uniform(first, second)})


def pair_law(first: Law, second: Law) -> Law:
    """Of two independent draws."""
    return Law({(a, b): p * q for a, p in first.probabilities.items() for b, q in second.probabilities.items() if p * q > 0})


def one_uniform(first: Law, second: Law) -> Law:
    """Of two draws by inversion of the cumulative sums, in the order of the outcomes, with the same uniform number; equal laws give equal outcomes."""
    masses: dict[Outcome, float] = {}
    rows = [sorted(law.probabilities.items()) for law in (first, second)]
    (a, left), (b, right) = rows[0].pop(0), rows[1].pop(0)
    while True:
        masses[a, b] = masses.get((a, b), 0.0) + min(left, right)
        left, right = left - min(left, right), right - min(left, right)
        if (left == 0 and not rows[0]) or (right == 0 and not rows[1]):
            return Law.of(masses)
        if left == 0:
            a, left = rows[0].pop(0)
        if right == 0:
            b, right = rows[1].pop(0)
