"""The run-wide directed process: log likelihood ratios of all cases of a run added up, in whatever order and however many parts.

For each alternative and weight the ratios of all cases are multiplied; each case's draws are fresh given the past, so that the product stays
a supermartingale whatever chose the cases. The average over alternatives and weights is taken after every part is in, and is at most
1 / alpha with probability 1 - alpha.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from specverify.stats.directed import WEIGHTS, Ratios, average, ranking

STEPS = 2**40
"""Logs are rounded down to multiples of 1 / STEPS and added as integers: sums are the same in any order, and 10,000 cases lose 1e-8."""


class RunWide:
    """Sums of log likelihood ratios, one per alternative and weight, with the digests of the cases that are in them.

    Which alternatives take part is fixed at the start, as the average over them must be: one that a case does not know has ratio 1 there.

    Attributes:
        cases: digests of the cases counted.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.cases: set[str] = set()
        self._sums: dict[str, list[int | None]] = {name: [0] * len(WEIGHTS) for name in sorted(names)}

    def add(self, case: str, ratios: Ratios) -> bool:
        """Count a case, unless it was counted before; whether it was new.

        Raises:
            ValueError: the ratios name an alternative that the run did not start with.
        """
        if unknown := ratios.keys() - self._sums.keys():
            raise ValueError(f"not among the run's alternatives: {', '.join(sorted(unknown))}")
        if case in self.cases:
            return False
        self.cases.add(case)
        for name, logs in ratios.items():
            self._sums[name] = [_plus(a, _steps(b)) for a, b in zip(self._sums[name], logs, strict=True)]
        return True

    def merge(self, other: RunWide) -> RunWide:
        """Both together.

        Raises:
            ValueError: they have a case in common, or other alternatives.
        """
        if self._sums.keys() != other._sums.keys():
            raise ValueError("the two parts have other alternatives")
        if self.cases & other.cases:
            raise ValueError("the two parts have cases in common")
        both = RunWide(self._sums)
        both.cases = self.cases | other.cases
        both._sums = {name: [_plus(a, b) for a, b in zip(sums, other._sums[name], strict=True)] for name, sums in self._sums.items()}
        return both

    @property
    def ratios(self) -> Ratios:
        """Name to the sums, natural logarithms."""
        return {name: tuple(-math.inf if a is None else a / STEPS for a in sums) for name, sums in self._sums.items()}

    @property
    def log_e(self) -> float:
        """Natural logarithm of the average; look at it once, after merging."""
        return average(self.ratios)

    @property
    def ranking(self) -> list[tuple[str, float]]:
        """Which alternative explains the run best."""
        return ranking(self.ratios)

    @property
    def told(self) -> str:
        """What all cases show together, in a sentence."""
        power = f"10^{self.log_e / math.log(10):.1f}"
        return f"The draws of all {len(self.cases)} cases together do not follow the right law: E = {power} against it, most of it for the known fault {self.ranking[0][0]}."

    def alarm(self, alpha: float) -> bool:
        """Whether the average reaches 1 / alpha, which a run of right laws does with probability alpha at most."""
        return self.log_e >= -math.log(alpha)

    def as_dict(self) -> dict[str, Any]:
        """A plain dict for JSON: sums as integers of 1 / STEPS (null: ruled out), and the digests."""
        return {"steps": STEPS, "sums": self._sums, "cases": sorted(self.cases)}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> RunWide:
        """What `as_dict` gave.

        Raises:
            ValueError: it was written with another step or other weights.
        """
        if plain["steps"] != STEPS or any(len(sums) != len(WEIGHTS) for sums in plain["sums"].values()):
            raise ValueError("the sums are of another version")
        made = cls(plain["sums"])
        made.cases = set(plain["cases"])
        made._sums = {name: list(plain["sums"][name]) for name in made._sums}
        return made


def _steps(log: float) -> int | None:
    return None if log == -math.inf else math.floor(log * STEPS)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
