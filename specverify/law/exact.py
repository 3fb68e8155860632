"""A law that was computed, not sampled: with what stays open, what rounding may move, and how each outcome comes about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from specverify.law.finite import Law, Outcome

GRID = 2.0**-20
"""Mass up to which an impossible outcome is an effect of the random generator's grid (u = 0 has probability 2^-24 in float32): it is
reported as such, and the null hypothesis of every statistical test grants it."""

SUMS = 1e-12
"""Total variation that sums of doubles leave."""

Verdict = Literal["equal", "rounding", "grid", "open", "different"]


@dataclass(frozen=True)
class Path:
    """The heaviest way to an outcome: its probability, and each random choice as (primitive and line, outcome, probability)."""

    mass: float
    steps: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class Comparison:
    """A law beside the right one.

    Attributes:
        tv: total variation that is certain, open mass counted as if it fell right.
        worst: the outcome that differs most.
        impossible: outcomes that the right law does not have, with their mass, exceptions included.
        verdict: "equal", "rounding" (below what the dtypes allow), "grid" (impossible outcomes of at most 2^-20 together), "open" (undecided), or "different".
    """

    tv: float
    worst: Outcome
    impossible: Mapping[Outcome, float]
    verdict: Verdict


@dataclass(frozen=True)
class ExactLaw:
    """An explored law.

    Attributes:
        probabilities: outcome to explored mass.
        open_mass: what was not explored; the sum of both is 1.
        kind: "exact", "exact to 1e-12" (integrated) or "bounds" (open mass).
        tolerance: total variation that rounding in the dtypes at work allows.
        notes: such as that random numbers are used twice.
        paths: for each outcome its heaviest path.
        runs: executions.
        idealised: whether some draws count as ideal numbers (exponentials, normals, those of which the largest is taken), so that what the bounds
            of their generator's range lead to is not in it.
    """

    probabilities: Mapping[Outcome, float]
    open_mass: float = 0.0
    kind: str = "exact"
    tolerance: float = 0.0
    notes: tuple[str, ...] = ()
    paths: Mapping[Outcome, Path] = field(default_factory=dict)
    runs: int = 0
    idealised: bool = False

    def __getitem__(self, outcome: Outcome) -> float:
        return self.lower(outcome)

    def lower(self, outcome: Outcome) -> float:
        """What is certain of an outcome."""
        return self.probabilities.get(outcome, 0.0)

    def upper(self, outcome: Outcome) -> float:
        """What an outcome has at most."""
        return self.lower(outcome) + self.open_mass

    def path(self, outcome: Outcome) -> Path:
        """The random choices that lead to it.

        Raises:
            KeyError: it has no probability.
        """
        return self.paths[outcome]

    def compare(self, right: Law) -> Comparison:
        """Hold it beside the right law."""
        outcomes = self.probabilities.keys() | right.probabilities.keys()
        over = math.fsum(max(0.0, self.lower(x) - right[x]) for x in outcomes)
        under = math.fsum(max(0.0, right[x] - self.upper(x)) for x in outcomes)
        impossible = {x: mass for x, mass in self.probabilities.items() if right[x] == 0 and mass > 0}
        worst = max(outcomes, key=lambda x: (abs(self.lower(x) - right[x]), str(x)))
        return Comparison(max(over, under), worst, impossible, self._verdict(max(over, under), math.fsum(impossible.values())))

    def _verdict(self, tv: float, impossible: float) -> Verdict:
        allowed = self.tolerance + SUMS
        if impossible > GRID or tv - impossible > allowed or tv > allowed + GRID:
            return "different"
        if impossible > 0:
            return "grid"
        if self.open_mass > GRID:
            return "open"
        return "rounding" if tv > SUMS else "equal"
