"""Which known faults explain best what was seen: laws or counts in, a ranking out. Faults of equal law on the cases seen are one class, and are named together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from specverify.faults.laws import fault_of
from specverify.law import Law, Outcome

EQUAL = 1e-6
"""Total variation below which two laws count as one: what float32 rounds away."""
FITS = 0.08
"""Share of the deviation that a fault may leave unexplained of explored laws, a total variation. `benchmarks.naming` measures it: what has a law there leaves
at most 0.05, but for one, and what has none 0.09 and more."""
FITS_DRAWN = 0.025
"""The same of draws, a divergence, which goes with the square of the deviation."""
SURE = 3.0
"""Standard deviations of the noise of draws that are not held against a fault."""
SLIP = 1e-4
"""Mass that a fault's law leaves to outcomes that it excludes, so that a second fault beside it, in a few draws, is no refutation."""
NAMED = 3
"""Classes that are told."""
PLACES = np.linspace(0, 1, 17)
"""Where between two laws a third is tried first."""
FINER = np.linspace(-1, 1, 17) / 16
"""Around the best of them, once more: to a part in a hundred and twenty-eight."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """One case: what was found on it, the right law, and each known fault's law.

    Attributes:
        found: the law, explored or as relative frequencies.
        right: what it should be.
        faults: by name, the parameter in brackets.
        draws: how many there were; 0 where the law was explored.
    """

    found: Law
    right: Law
    faults: Mapping[str, Law]
    draws: int = 0

    def through(self, project: Callable[[Outcome], Outcome]) -> Seen:
        """The same of a function of the outcome."""
        return Seen(self.found.project(project), self.right.project(project), {name: law.project(project) for name, law in self.faults.items()}, self.draws)


@dataclass(frozen=True)
class Named:
    """A class of faults that explain what was seen equally well.

    Attributes:
        faults: their names, without parameters.
        left: share of the deviation from the right law that stays unexplained: 0 is a perfect fit, 1 none.
        behind: what stays unexplained beyond the best class: of explored laws a total variation, of draws a log likelihood ratio.
        fits: whether it explains what was seen.
    """

    faults: tuple[str, ...]
    left: float
    behind: float
    fits: bool


@dataclass(frozen=True)
class _Table:
    """The laws of a case side by side, each over the same outcomes, (cells,)."""

    found: Vector
    right: Vector
    faults: Mapping[str, Vector]
    draws: int

    @classmethod
    def of(cls, seen: Seen) -> _Table:
        laws = (seen.found, seen.right, *seen.faults.values())
        cells = list(dict.fromkeys(outcome for law in laws for outcome in law.probabilities))
        found, right, *faults = (np.array([law[outcome] for outcome in cells]) for law in laws)
        return cls(found, right, dict(zip(seen.faults, faults, strict=True)), seen.draws)

    def left(self, laws: Vector) -> Vector:
        """What each of some laws leaves unexplained, (..., cells) to (...): a total variation, or draws times the divergence of their frequencies from it."""
        if not self.draws:
            return np.asarray(abs(laws - self.found).sum(-1) / 2)
        hit = self.found > 0
        found, cells = self.found[hit], len(self.found)
        return np.asarray(self.draws * (found * (np.log(found) - np.log((1 - SLIP) * laws[..., hit] + SLIP / cells))).sum(-1))


def ranked(cases: Sequence[Seen]) -> tuple[Named, ...]:
    """The classes that explain best what was seen on some cases of one subject, all explored or all drawn, best first; none where nothing is off.

    Of a fault every law counts that lies between the right one and one of its own, or between two of its own: it may come about now and then, or have
    another parameter.
    """
    tables = [_Table.of(seen) for seen in cases]
    noise, limit = _noise(tables), FITS_DRAWN if tables[0].draws else FITS
    wrong = float(sum(table.left(table.right) for table in tables)) - noise
    if wrong <= 0:
        return ()
    fits = {fault: _closest(tables, names) for fault, names in _families(cases[0].faults).items()}
    order = sorted(fits, key=lambda fault: fits[fault][0])
    best = fits[order[0]][0]

    def named(faults: tuple[str, ...]) -> Named:
        score = fits[faults[0]][0]
        left = min(1.0, max(0.0, score - noise) / wrong)
        return Named(faults, left, score - best, left <= limit)

    return tuple(map(named, _classes([(fault, fits[fault][1]) for fault in order])))


def _noise(tables: Sequence[_Table]) -> float:
    """What the right law would leave by chance: of draws half a chi-squared variable, its mean and some standard deviations."""
    if not tables[0].draws:
        return EQUAL
    mean = sum(np.count_nonzero(table.found) - 1 for table in tables) / 2
    return float(mean + SURE * np.sqrt(mean))


def _families(names: Mapping[str, Law]) -> dict[str, list[str]]:
    """The laws of each fault."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(fault_of(name), []).append(name)
    return families


def _closest(tables: Sequence[_Table], names: Sequence[str]) -> tuple[float, Vector]:
    """What a fault leaves unexplained at least, and its law there, over the outcomes of all tables."""
    return min((_between(tables, *ends) for ends in _segments(tables, names)), key=lambda found: found[0])


def _segments(tables: Sequence[_Table], names: Sequence[str]) -> Iterator[tuple[list[Vector], list[Vector]]]:
    right = [table.right for table in tables]
    laws = [[table.faults[name] for table in tables] for name in names]
    yield from ((right, law) for law in laws)
    yield from pairwise(laws)


def _between(tables: Sequence[_Table], start: list[Vector], end: list[Vector]) -> tuple[float, Vector]:
    """The best law on the way from one to another."""
    places = PLACES
    for _ in range(2):
        left = sum(table.left(a + places[:, None] * (b - a)) for table, a, b in zip(tables, start, end, strict=True))
        best = int(np.argmin(left))
        place, least = float(places[best]), float(np.asarray(left)[best])
        places = np.clip(place + FINER, 0, 1)
    return least, np.concatenate([a + place * (b - a) for a, b in zip(start, end, strict=True)])


def _classes(fits: Sequence[tuple[str, Vector]]) -> list[tuple[str, ...]]:
    """Faults in their order, those of equal law together."""
    classes: list[tuple[list[str], Vector]] = []
    for fault, law in fits:
        if classes and abs(law - classes[-1][1]).sum() / 2 <= EQUAL:
            classes[-1][0].append(fault)
        elif len(classes) == NAMED:
            break
        else:
            classes.append(([fault], law))
    return [tuple(names) for names, _ in classes]
