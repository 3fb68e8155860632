"""Asking opaque code what comes out at some draws: one by one, or many in one launch. Nothing is asked twice, unless it is asked afresh."""

from __future__ import annotations

import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from specverify.errors import SpecverifyError
from specverify.exact.coordinates import Draw
from specverify.exact.searches import Value
from specverify.law import Outcome, freeze

Point = tuple[Value, ...]
"""A value of each draw."""

LARGEST = 1 << 16
"""Rows of one launch; more are asked in several, for the memory of a small device."""
BEHIND = 64
"""Numbers behind the last row, which code that reads more than it was given meets."""
POISON = (math.nan, 0.25)
"""What they are, in turns: code that reads them gives other outcomes then."""


class Spent(Exception):
    """No calls or no time are left."""


@dataclass
class Limits:
    """What may be spent: calls, until a time of the clock."""

    calls: int
    end: float
    spent: int = 0

    def spend(self, calls: int) -> None:
        """Count them, or Spent."""
        if self.spent + calls > self.calls or time.monotonic() > self.end:
            raise Spent
        self.spent += calls


@dataclass
class Asked(ABC):
    """Opaque code with what it has answered.

    Attributes:
        function: the code.
        spec: the laws of its draws.
        project: from what it returns to an outcome.
        catch: exceptions that are outcomes.
        limits: of calls and time.
        launches: how often it was called.
    """

    function: Callable[[Any], Any]
    spec: Sequence[Draw]
    project: Callable[[Any], Outcome] | None
    catch: tuple[type[BaseException], ...]
    limits: Limits
    launches: int = 0
    known: dict[Point, Outcome] = field(default_factory=dict)

    def outcomes(self, points: Sequence[Point]) -> list[Outcome]:
        """What comes out at each; what is known is not asked again."""
        fresh = [point for point in dict.fromkeys(points) if point not in self.known]
        self.known.update(zip(fresh, self.afresh(fresh), strict=True))
        return [self.known[point] for point in points]

    @abstractmethod
    def afresh(self, points: Sequence[Point]) -> list[Outcome]:
        """What comes out at each, asked now; Spent where a limit is met."""

    def outcome(self, result: Any) -> Outcome:
        """Of one result."""
        return self.project(result) if self.project is not None else _frozen(result)


class Singly(Asked):
    """Called with one list of draws at a time."""

    def afresh(self, points: Sequence[Point]) -> list[Outcome]:
        """A call for each."""
        return [self._one([one.given(value) for one, value in zip(self.spec, point, strict=True)]) for point in points]

    def _one(self, draws: list[Any]) -> Outcome:
        self.limits.spend(1)
        self.launches += 1
        try:
            return self.outcome(self.function(draws))
        except self.catch as error:
            return ("raised", type(error).__name__)


class Rows(Asked):
    """Called with many rows of draws at a time."""

    def afresh(self, points: Sequence[Point]) -> list[Outcome]:
        """A launch for all of them, if they are not too many."""
        chunks = [points[start : start + LARGEST] for start in range(0, len(points), LARGEST)]
        return [outcome for chunk in chunks for outcome in self._launch(chunk)]

    def _launch(self, points: Sequence[Point]) -> list[Outcome]:
        """What raises is asked in halves, down to the rows that do."""
        self.limits.spend(len(points))
        matrix = self._matrix(points)
        self.launches += 1
        try:
            results = self.function(matrix)
        except self.catch as error:
            half = len(points) // 2
            return [*self._launch(points[:half]), *self._launch(points[half:])] if half else [("raised", type(error).__name__)]
        found = [self.outcome(result) for result in (results.tolist() if hasattr(results, "tolist") else results)]
        if len(found) != len(points):
            raise SpecverifyError(f"{len(points)} rows of draws gave {len(found)} outcomes.", hint="Return one outcome for each row.")
        return found

    def _matrix(self, points: Sequence[Point]) -> Any:
        """Contiguous, in a buffer with poison behind."""
        import numpy as np

        size = len(points) * sum(one.width for one in self.spec)
        buffer = np.full(size + BEHIND, POISON[self.launches % len(POISON)])
        buffer[:size] = list(itertools.chain.from_iterable(itertools.chain.from_iterable(points)))
        return buffer[:size].reshape(len(points), -1)


def _frozen(result: Any) -> Outcome:
    """Arrays, tuples and lists as nested tuples."""
    if hasattr(result, "tolist"):
        return freeze(result.tolist())
    return tuple(map(_frozen, result)) if isinstance(result, (list, tuple)) else result
