"""The space of a function's random choices, cut into boxes: one set of outcomes for each random variable.

A walk is one execution. It stands on a point of a box, and whatever the function reads narrows the box to where the answer stays the
same; the parts cut off are boxes too, and wait. So all boxes are disjoint, and explored and open mass are 1 at every moment.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from specverify.errors import SpecverifyError

GOLDEN = 0.6180339887498949
"""Fractional part of the golden ratio: points at its multiples are never alike, so that two draws do not tie by accident."""

UNLIKELY = 1e-6
"""Share of an outcome below which a replay does not stand on it: floating point may not separate it."""


class NotExact(SpecverifyError):
    """A law that cannot be explored: the sentence names the operation and where it stands.

    Attributes:
        hidden: whether the function was seen to depend on something else than the draws that are followed, so that no law of it can be trusted.
    """

    hidden = False


class Stop(BaseException):
    """Ends an execution from inside. Subjects write `except Exception`, so it is none; those that write `except:` do not hide it, since it is kept."""

    raised: ClassVar[list[Stop]] = []

    hidden = False

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        Stop.raised.append(self)


class Hidden(Stop):
    """Something else than the draws that are followed decides what the function does."""

    hidden = True


class Behind(Stop):
    """A generator that is known was moved by a method that was not found."""


class Unfinished(Stop):
    """Ends an execution that follows a path of hardly any mass, or after its time: what is left of it stays open."""


Interval = tuple[int, int]
Outcomes = Interval | frozenset[int]
"""Of a grid: indices from the first up to but without the second. Of a finite variable: its outcomes."""


@dataclass(frozen=True)
class Form:
    """The law of a number on an even grid of 2^bits points, as a real generator draws it.

    Attributes:
        family: equal for equal laws.
        bits: of the grid.
        values: indices (int64 tensor) to the numbers that the function sees.
        ideal: the same for points of (0, 1) as doubles, without rounding.
        number: one index to its number, as a double that is rounded to the type when it is written.
    """

    family: tuple[Hashable, ...]
    bits: int
    values: Callable[[Any], Any]
    ideal: Callable[[Any], Any]
    number: Callable[[int], float]


@dataclass
class Grid:
    """A number on an even grid.

    Attributes:
        index: its place in the order of all draws.
        label: primitive and source line.
        form: its law.
        inside: indices that are left.
        at: the index that it has in this execution.
        races: choices that were made among this and other numbers.
    """

    index: int
    label: str
    form: Form
    inside: Interval = (0, 0)
    at: int = 0
    races: list[Finite] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = 1 << self.form.bits
        self.inside = (0, self.size)

    def mass(self, part: Outcomes) -> float:
        """Its probability of falling into a part."""
        assert isinstance(part, tuple)
        return float(part[1] - part[0]) / self.size

    def without(self, part: Outcomes) -> list[Outcomes]:
        """What is left of the present set."""
        assert isinstance(part, tuple)
        (low, high), (first, last) = self.inside, part
        return [piece for piece in ((low, first), (last, high)) if piece[0] < piece[1]]

    def drawn(self, part: Outcomes, rng: random.Random) -> int:
        """A random point of the part, or one of its ends: where it may go wrong."""
        assert isinstance(part, tuple)
        return rng.choice((part[0], part[1] - 1, rng.randrange(*part)))

    def told(self, part: Outcomes) -> str:
        """The part, in words."""
        assert isinstance(part, tuple)
        return f"in [{part[0] / self.size:.6g}, {part[1] / self.size:.6g})"

    def central(self, part: Outcomes) -> int:
        """A point of the part to stand on."""
        assert isinstance(part, tuple)
        share = (0.5 + self.index * GOLDEN) % 1
        return min(part[0] + int(share * (part[1] - part[0])), part[1] - 1)


@dataclass
class Finite:
    """A choice among finitely many outcomes.

    Attributes:
        index: its place in the order of all draws.
        label: primitive and source line.
        weights: of its outcomes, in any unit.
        place: for a choice that numbers of grids decide: where these must stand for an outcome, and their box must not have been cut.
        members: those grids.
        spans: what was left of each of them when the choice was made; empty when one of them was read since.
        keys: what was compared, so that the same choice is made once.
        read: whether anything depends on it.
    """

    index: int
    label: str
    weights: Sequence[float]
    place: Callable[[int], Mapping[int, int]] | None = None
    members: tuple[Grid, ...] = ()
    inside: frozenset[int] = frozenset()
    at: int = 0
    keys: tuple[object, ...] = ()
    read: bool = False

    def __post_init__(self) -> None:
        self.size = len(self.weights)
        self.total = sum(self.weights)
        self.inside = frozenset(outcome for outcome, weight in enumerate(self.weights) if weight > 0)
        self.spans = [member.inside for member in self.members]

    def mass(self, part: Outcomes) -> float:
        """Its probability of falling into a part."""
        assert isinstance(part, frozenset)
        return float(sum(self.weights[outcome] for outcome in sorted(part)) / self.total)

    def without(self, part: Outcomes) -> list[Outcomes]:
        """What is left of the present set."""
        assert isinstance(part, frozenset)
        return [rest] if (rest := self.inside - part) else []

    def drawn(self, part: Outcomes, rng: random.Random) -> int:
        """A random point of the part, each as likely and not the present one, so that what is read in secret is seen; the hardly possible ones apart."""
        assert isinstance(part, frozenset)
        likely = [outcome for outcome in sorted(part) if self.weights[outcome] > UNLIKELY * self.total]
        return rng.choice([outcome for outcome in likely if outcome != self.at] or likely or sorted(part))

    def told(self, part: Outcomes) -> str:
        """The part, in words."""
        assert isinstance(part, frozenset)
        return " or ".join(map(str, sorted(part)))

    def central(self, part: Outcomes) -> int:
        """A point of the part to stand on."""
        assert isinstance(part, frozenset)
        return max(sorted(part), key=lambda outcome: self.weights[outcome])


@dataclass(frozen=True)
class Box:
    """Where an execution starts.

    Attributes:
        mass: its probability.
        inside: by index of the variable, the set that is left of it; others are whole.
        points: by index, where the execution stands.
        labels: of the variables that the execution before had met, by index; this one must meet the same.
    """

    mass: float = 1.0
    inside: Mapping[int, Outcomes] = field(default_factory=dict)
    points: Mapping[int, int] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)


class Walk:
    """One execution, from a box to the part of it that was explored; it ends where less than `least` of all mass is left, or the clock passes `end`."""

    def __init__(self, start: Box, least: float = 0.0, end: float = math.inf) -> None:
        self.start, self.least, self.end = start, least, end
        self.mass = start.mass
        self.variables: dict[int, Grid | Finite] = {}
        self._draws = self._choices = 0
        self.inside: dict[int, Outcomes] = {}
        self.cut_off: list[Box] = []
        self.coarse = 0.0
        self.idealised = self.integrated = False
        self.notes: set[str] = set()

    def next_draw(self) -> int:
        """The index of the next draw: 0, 1, 2, …"""
        self._draws += 1
        return self._draws - 1

    def next_choice(self) -> int:
        """The index of the next choice among draws: -1, -2, … A replay makes none, and counts its draws alike."""
        self._choices += 1
        return -self._choices

    def meet(self, variable: Grid | Finite) -> None:
        """A new random choice: it stands where the box says, or somewhere in the middle."""
        index = variable.index
        if time.monotonic() > self.end:
            raise Unfinished("its time is over")
        if self.start.labels.get(index, variable.label) != variable.label:
            raise Hidden(f"it draws {variable.label} where it drew {self.start.labels[index]} before: something else than its draws decides what it does")
        self.variables[index] = variable
        if index in self.start.inside:
            variable.inside = self.inside[index] = self.start.inside[index]
        if isinstance(variable, Grid) or variable.place is None:
            variable.at = self.start.points[index] if index in self.start.points else variable.central(variable.inside)
        elif variable.at not in variable.inside:
            raise Stop(f"floating point does not separate the outcomes of {variable.label}")

    def narrow(self, variable: Grid | Finite, part: Outcomes) -> None:
        """Keep one part of what is left of a variable; the rest waits."""
        rest = variable.without(part)
        if not rest:
            return
        self.claim(variable)
        before = variable.mass(variable.inside)
        for other in rest:
            self._wait(variable, other, self.mass * variable.mass(other) / before)
        self.mass *= variable.mass(part) / before
        variable.inside = self.inside[variable.index] = part
        if self.mass < self.least:
            raise Unfinished("it goes on where hardly any mass is left")

    def choose(self, variable: Finite) -> int:
        """Keep the outcome that it has. Where there is no other it is kept in mind too, so that replays stand where a choice among draws is made."""
        self.narrow(variable, frozenset((variable.at,)))
        self.inside.setdefault(variable.index, variable.inside)
        return variable.at

    def _wait(self, variable: Grid | Finite, other: Outcomes, mass: float) -> None:
        points = {index: one.at for index, one in self.variables.items()}
        points[variable.index] = variable.central(other)
        if isinstance(variable, Finite) and variable.place is not None:
            points.update(variable.place(points[variable.index]))
        self.cut_off.append(Box(mass, {**self.inside, variable.index: other}, points, self.labels()))

    def labels(self) -> dict[int, str]:
        """What was drawn, by index."""
        return {index: one.label for index, one in self.variables.items()}

    def scattered(self, parts: Mapping[int, Outcomes], rng: random.Random) -> dict[int, int]:
        """A random point of the box cut to some parts; where draws were chosen among, one at which the same choice is made."""
        points = {index: one.drawn(parts.get(index, one.inside), rng) for index, one in self.variables.items()}
        for index in sorted(parts):
            variable = self.variables[index]
            if isinstance(variable, Finite) and variable.place is not None:
                points.update(variable.place(points[index]))
        return points

    def claim(self, variable: Grid | Finite) -> None:
        """Numbers that a choice was made among are independent no longer: nothing else may be read of them."""
        if isinstance(variable, Grid):
            if any(race.read for race in variable.races):
                raise Stop(f"it reads {variable.label} once more after a choice among it and other draws")
            for race in variable.races:
                race.spans = []
            return
        rivals = [race for member in variable.members for race in member.races if race is not variable]
        if [member.inside for member in variable.members] != variable.spans or any(race.read for race in rivals):
            raise Stop(f"it reads two things of the draws that {variable.label} chooses among")
        variable.read = True
