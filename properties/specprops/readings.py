"""What a contract leaves free may be read in several ways: one reading must explain all rows of a case; what that tells of the subject is remarked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specprops.trial import Trial
from specprops.violation import Row, Violation

Line = tuple[float, ...]


@dataclass(frozen=True)
class Reading:
    """One way to read the contract: what it says of what is free, and the rows that are right by it."""

    facts: frozenset[str]
    rows: Sequence[Line]


@dataclass(frozen=True)
class Judge:
    """How rows are compared and shown.

    Attributes:
        near: whether a found row is a right one, up to rounding.
        shown: a row in a line.
        kind: of the violation, from the numbers of the rows that are off.
    """

    near: Callable[[Line, Line], bool]
    shown: Callable[[Line], str]
    kind: Callable[[Sequence[int]], str]


def explained(trial: Trial, found: Sequence[Line], readings: Sequence[Reading], judge: Judge, message: str) -> None:
    """One of the readings must explain every row; else the one that explains most of them is shown."""
    off = [_off(found, reading.rows, judge) for reading in readings]
    lawful = [reading for reading, rows in zip(readings, off, strict=True) if not rows]
    if not lawful:
        best = min(range(len(readings)), key=lambda i: len(off[i]))
        table = tuple(Row(f"row {i}", judge.shown(found[i]), judge.shown(readings[best].rows[i])) for i in off[best])
        raise Violation(message, table, kind=judge.kind(off[best]))
    learned = frozenset.intersection(*(one.facts for one in lawful)) - frozenset.intersection(*(one.facts for one in readings))
    trial.remark = "; ".join(sorted(learned.union(filter(None, trial.remark.split("; ")))))


def _off(found: Sequence[Line], right: Sequence[Line], judge: Judge) -> list[int]:
    return [i for i, (row, wanted) in enumerate(zip(found, right, strict=True)) if not judge.near(row, wanted)]
