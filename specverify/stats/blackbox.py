"""Teacher-forced tests of text: the reference gives the law of each next token, so every token is a draw of a known law."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from specverify.law import Law, Outcome
from specverify.stats.directed import WEIGHTS
from specverify.stats.logs import log_mean

TILTS = (-0.3, -0.1, -0.03, 0.03, 0.1, 0.3)
"""Powers of the alternatives p^(1 + b): text drawn at a temperature 1 / (1 + b), hotter or colder by 3 to 43 %."""


@dataclass(frozen=True)
class Drift:
    """A sum's deviation in standard deviations, for people; and the log e-value beside it, which is valid at any length and decides."""

    z: float
    log_e: float


def draft_excess(steps: Iterable[tuple[bool, float]]) -> Drift:
    """Whether drafted tokens come out more or less often than they should.

    Each step is whether the drafted token came out, and the probability of that: p(d) for a deterministic draft, sum min(p, q) for one drawn from q.
    The alternatives move that probability by a share w towards 1 or towards 0.

    Raises:
        ValueError: a step went as it has probability zero to go, which needs no statistics.
    """
    steps = [(bool(hit), chance) for hit, chance in steps]
    if any(chance == 1 - hit for hit, chance in steps):
        raise ValueError("a step of probability zero")
    seen = [(hit, chance) for hit, chance in steps if 0 < chance < 1]
    surplus = math.fsum(hit - chance for hit, chance in seen)
    variance = math.fsum(chance * (1 - chance) for _, chance in seen)
    more = [math.fsum(math.log1p(-w + w / c) if hit else _log(1 - w) for hit, c in seen) for w in WEIGHTS]
    less = [math.fsum(_log(1 - w) if hit else math.log1p(-w + w / (1 - c)) for hit, c in seen) for w in WEIGHTS]
    return Drift(surplus / math.sqrt(variance) if seen else 0.0, log_mean(more + less))


def surprisal(steps: Iterable[tuple[Outcome, Law]]) -> Drift:
    """Whether tokens are as surprising as the law says: temperature, truncation, penalties. Each step is the token and its law.

    z is the sum of -ln p(x) - H(p) over its standard deviation. The e-value averages the ratios of p^(1 + b) / sum p^(1 + b) to p over TILTS.

    Raises:
        ValueError: a token has probability zero, which needs no statistics.
    """
    seen = [(law[token], [mass for mass in law.probabilities.values() if mass > 0]) for token, law in steps]
    if any(mass == 0 for mass, _ in seen):
        raise ValueError("a token of probability zero")
    moments = [_entropy(masses) for _, masses in seen]
    surplus = math.fsum(-math.log(mass) - mean for (mass, _), (mean, _) in zip(seen, moments, strict=True))
    deviation = math.sqrt(math.fsum(variance for _, variance in moments))
    tilted = [math.fsum(b * math.log(mass) - math.log(math.fsum(m ** (1 + b) for m in masses)) for mass, masses in seen) for b in TILTS]
    return Drift(surplus / deviation if deviation > 0 else 0.0, log_mean(tilted))


def _entropy(masses: list[float]) -> tuple[float, float]:
    """Mean and variance of -ln p(x)."""
    mean = -math.fsum(mass * math.log(mass) for mass in masses)
    return mean, math.fsum(mass * (math.log(mass) + mean) ** 2 for mass in masses)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
