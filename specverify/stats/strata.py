"""Where a step of the standard rule goes wrong: the laws of its parts, each given that it is reached (2211.17192, algorithm 1; statistics 2.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from specverify.law import Law, Outcome
from specverify.stats.eprocess import log_e_value

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Stratum:
    """One part of a step at one position.

    Attributes:
        part: "acceptance" (whether the draft token passes), "accepted" (the token that passed), "replacement" or "bonus".
        position: of the emitted token, from 1.
        weights: of its outcomes: draws, or masses of an explored law.
        right: its law under the standard rule.
    """

    part: str
    position: int
    weights: Mapping[Outcome, float]
    right: Law

    @property
    def weight(self) -> float:
        """How much of all draws, or of the mass, reaches it."""
        return math.fsum(self.weights.values())

    @property
    def distance(self) -> float:
        """Total variation from the right law; 1 where the part should not be reached at all."""
        return Law.of(self.weights).total_variation(self.right) if self.right.probabilities else 1.0

    @property
    def log_e(self) -> float:
        """Natural logarithm of the e-value against the right law, where weights are draws."""
        return log_e_value({outcome: round(n) for outcome, n in self.weights.items()}, self.right)


def strata(outcomes: Mapping[Outcome, float], p: Rows, q: Rows) -> tuple[Stratum, ...]:
    """The parts that were reached, by position: with the draft drawn from q, acceptance has a chance of alpha = sum min(p, q), what is accepted the law
    min(p, q) / alpha, a replacement (p - q)+ / (1 - alpha), the bonus p.

    Args:
        outcomes: (n, tokens) to draws or mass; n the accepted length, tokens those emitted, completed or not.
        p: rows of the target, (gamma + 1, V).
        q: rows of the draft, (gamma, V).
    """
    return tuple(one for one in _all(outcomes, p, q) if one.weights)


def _all(outcomes: Mapping[Outcome, float], p: Rows, q: Rows) -> Iterator[Stratum]:
    rows = _normalised(p)
    for i, (row, other) in enumerate(zip(rows, _normalised(q), strict=False)):
        yield from _at(outcomes, i, row, other)
    gamma = len(q)
    yield Stratum("bonus", gamma + 1, _counted(outcomes, lambda n: n == gamma, lambda _, tokens: tokens[gamma]), _law(rows[gamma]))


def _at(outcomes: Mapping[Outcome, float], i: int, p: Sequence[float], q: Sequence[float]) -> Iterator[Stratum]:
    """The parts of one drafted position."""
    passed = [min(a, b) for a, b in zip(p, q, strict=True)]
    left = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    chances = Law.of({True: math.fsum(passed), False: math.fsum(left)})
    yield Stratum("acceptance", i + 1, _counted(outcomes, lambda n: n >= i, lambda n, _: n > i), chances)
    yield Stratum("accepted", i + 1, _counted(outcomes, lambda n: n > i, lambda _, tokens: tokens[i]), _law(passed))
    yield Stratum("replacement", i + 1, _counted(outcomes, lambda n: n == i, lambda _, tokens: tokens[i]), _law(left))


def _normalised(rows: Rows) -> list[list[float]]:
    return [[x / math.fsum(row) for x in row] for row in rows]


def _counted(outcomes: Mapping[Outcome, float], reached: Callable[[int], bool], seen: Callable[[int, Sequence[int]], Outcome]) -> dict[Outcome, float]:
    """What is seen of those (n, tokens) whose n reaches a part."""
    found: dict[Outcome, float] = {}
    for (n, tokens), weight in outcomes.items():
        if reached(n):
            found[seen(n, tokens)] = found.get(seen(n, tokens), 0.0) + weight
    return found


def _law(weights: Sequence[float]) -> Law:
    """Proportional to weights; none where all are zero: then the part should not be reached at all."""
    return Law.of(dict(enumerate(weights))) if math.fsum(weights) else Law({})
