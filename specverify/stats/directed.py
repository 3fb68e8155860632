"""Directed likelihood ratios: evidence against a law by comparison with named wrong ones.

For each alternative k with law f_k and each weight w the ratio is the product over draws of g(x) / p(x), g = (1 - w) p + w f_k. Each is a
test martingale under p, so their average over k and w is an e-value: against the ratio that knows the fault it costs ln(4 K). The weights
below 1 bound the loss of a draw and find faults that show on some draws only. Source: the method of mixtures, Robbins, Ann. Math. Stat.
41 (1970) 1397; Ville's inequality.

Outcomes outside the support of p share one cell. There the null hypothesis grants a mass m of at most G = GRID, and g is granted the same:
both laws leak G, so that a draw inside has the factor g(x) / p(x), one outside 1 + (1/G - 1) g_out, g_out the mass of g outside. Under any law that
has m <= G outside and keeps p's proportions inside, a factor's expectation is (1 - m) (1 - g_out) + m (1 + (1/G - 1) g_out), linear in m,
1 - g_out at m = 0 and exactly 1 at m = G: never above 1. The products stay supermartingales, and one u = 0 in ten million draws rules no
alternative out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from specverify.law import GRID, Law, Outcome
from specverify.stats.eprocess import log_e_value
from specverify.stats.logs import log_mean

WEIGHTS = (1.0, 0.3, 0.1, 0.03)
"""Weights of an alternative, averaged: 1 for a fault on every draw, 0.03 for one on a rare path; a step of three costs little between."""

Ratios = Mapping[str, tuple[float, ...]]
"""Name of an alternative to its natural log likelihood ratios, one per weight."""


def log_ratios(counts: Mapping[Outcome, int], right: Law, alternatives: Mapping[str, Law]) -> Ratios:
    """The log likelihood ratio of each alternative at each of WEIGHTS; minus infinity where it rules out what was drawn.

    Args:
        counts: outcome to how often it was drawn.
        right: the law under the null hypothesis.
        alternatives: name to the law of a known fault, on the same outcomes.
    """
    return {name: tuple(_log_ratio(counts, right, law, weight) for weight in WEIGHTS) for name, law in alternatives.items()}


def average(ratios: Ratios) -> float:
    """Natural logarithm of the e-value that averages over names and weights.

    Raises:
        ValueError: there is no alternative to average over.
    """
    if not ratios:
        raise ValueError("a directed test needs an alternative")
    return log_mean([log for logs in ratios.values() for log in logs])


def log_directed(counts: Mapping[Outcome, int], right: Law, alternatives: Mapping[str, Law]) -> float:
    """Natural logarithm of the directed e-value."""
    return average(log_ratios(counts, right, alternatives))


def log_screen(counts: Mapping[Outcome, int], right: Law, alternatives: Mapping[str, Law]) -> float:
    """Half the Dirichlet mixture, half the directed one: a fault outside the catalogue costs ln 2 against the first alone."""
    return halves(log_e_value(counts, right), log_ratios(counts, right, alternatives))


def halves(generic: float, ratios: Ratios) -> float:
    """Half a generic test's e-value, half the directed one's; the generic one's alone where there is no alternative."""
    return log_mean([generic, average(ratios)]) if ratios else generic


def ranking(ratios: Ratios) -> list[tuple[str, float]]:
    """Alternatives by how well they explain the draws: (name, log of the mean ratio over weights), best first, ties by name."""
    return sorted(((name, log_mean(logs)) for name, logs in ratios.items()), key=lambda row: (-row[1], row[0]))


def factor(right: Law, law: Law, weight: float, outcome: Outcome, granted: float = GRID) -> float:
    """What one draw multiplies the likelihood ratio by; `granted` is the mass that both laws leak outside the support."""
    mass = right[outcome]
    return 1 - weight + weight * law[outcome] / mass if mass > 0 else 1 + (1 / granted - 1) * weight * mass_outside(right, law)


def mass_outside(right: Law, law: Law) -> float:
    """The mass that a law has outside the support of the right one."""
    return math.fsum(mass for outcome, mass in law.probabilities.items() if right[outcome] == 0)


def _log_ratio(counts: Mapping[Outcome, int], right: Law, law: Law, weight: float) -> float:
    factors = ((n, factor(right, law, weight, outcome)) for outcome, n in counts.items() if n)
    return math.fsum(n * (math.log(x) if x > 0 else -math.inf) for n, x in factors)
