"""Properties by condition, a table per contract: rows are properties, columns are subjects. A run has no other conditions yet: records tell no dtype or device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.report.marks import STATUSES, UNREACHED, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specverify.audit.records import PropertyRecord
    from specverify.audit.verdict import Verdict

WIDEST = 6
"""Subjects per table: what fits a printed page."""


@dataclass(frozen=True)
class Cell:
    """How a property ended on a subject, a word on why, and the id of the finding behind it."""

    mark: Mark
    why: str = ""
    finding: str = ""


@dataclass(frozen=True)
class Line:
    """One property, and a cell per subject."""

    property: PropertyRecord
    cells: list[Cell]


@dataclass(frozen=True)
class Matrix:
    """One contract and at most `WIDEST` of its subjects."""

    contract: str
    part: str
    about: str
    subjects: list[Verdict]
    lines: list[Line]


def matrices(verdicts: list[Verdict]) -> Iterator[Matrix]:
    """The tables of a run, contracts in the order of their first subject."""
    judged = [verdict for verdict in verdicts if verdict.properties]
    for contract in dict.fromkeys(verdict.subject.contract for verdict in judged):
        mine = [verdict for verdict in judged if verdict.subject.contract == contract]
        for start in range(0, len(mine), WIDEST):
            part = f"subjects {start + 1} to {min(start + WIDEST, len(mine))} of {len(mine)}" if len(mine) > WIDEST else ""
            yield _matrix(contract, part, mine[start : start + WIDEST])


def _matrix(contract: str, part: str, subjects: list[Verdict]) -> Matrix:
    by_subject = [{row.property: row for row in verdict.properties} for verdict in subjects]
    properties = {row.property: row for rows in by_subject for row in rows.values()}
    lines = [Line(properties[id_], [_cell(rows.get(id_), verdict) for rows, verdict in zip(by_subject, subjects, strict=True)]) for id_ in sorted(properties)]
    return Matrix(contract, part, subjects[0].subject.about, subjects, lines)


def _cell(row: PropertyRecord | None, verdict: Verdict) -> Cell:
    if row is None:
        return Cell(UNREACHED)
    finding = next((each.id for each in verdict.findings if row.reason in (each.id, each.property)), "")
    return Cell(STATUSES[row.status], f"by {row.reason}" if row.status == "blocked" else "", finding)
