"""A null hypothesis with room for rounding: every law within a total variation tau of the right one.

For a function LR of the outcome and any p' with TV(p', p) <= tau, E_p'[LR] = E_p[LR] + sum (p' - p) LR <= E_p[LR] + tau (max LR - min LR), since the
positive and the negative part of p' - p have mass at most tau each. So LR / (1 + tau (max LR - min LR)) has an expectation of at
most 1 in the whole ball, and products of it stay supermartingales. Outside the support both laws leak max(tau, GRID), which keeps the ratio there at
most 1 / tau.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from specverify.law import GRID, Law, Outcome
from specverify.stats.directed import WEIGHTS, factor, mass_outside
from specverify.stats.logs import log_mean

BOUNDED = tuple(weight for weight in WEIGHTS if weight < 1)
"""Weights whose ratio no single draw brings to zero: min LR is 1 - w."""


def log_within(counts: Mapping[Outcome, int], right: Law, alternatives: Mapping[str, Law], *, tau: float) -> float:
    """Natural logarithm of the directed e-value against every law within `tau` of `right`.

    Args:
        counts: outcome to how often it was drawn.
        right: the centre of the ball.
        alternatives: name to the law of a known fault; those inside the ball cannot be told from it.
        tau: total variation that rounding may cause, from 0 to 1.

    Raises:
        ValueError: there is no alternative, or tau is no total variation.
    """
    if not alternatives or not 0 <= tau <= 1:
        raise ValueError("needs an alternative, and a tau from 0 to 1")
    return log_mean([_log_ratio(counts, right, law, weight, tau) for law in alternatives.values() for weight in BOUNDED])


def _log_ratio(counts: Mapping[Outcome, int], right: Law, law: Law, weight: float, tau: float) -> float:
    granted = max(tau, GRID)
    factors = {outcome: factor(right, law, weight, outcome, granted) for outcome in right.probabilities}
    outside = 1 + (1 / granted - 1) * weight * mass_outside(right, law)
    spread = max(outside, *factors.values()) - min(outside, *factors.values())
    total = sum(counts.values())
    return math.fsum(n * math.log(factors.get(outcome, outside)) for outcome, n in counts.items()) - total * math.log1p(tau * spread)
