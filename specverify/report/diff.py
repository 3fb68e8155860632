"""What differs between two runs: new findings, fixed ones, changed answers, and answers that changed only in how they are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.audit.records import Finding, PropertyRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specverify.audit.records import Record

JUDGED = ("ok", "failed", "grid", "advisory", "unconfirmed")


@dataclass(frozen=True)
class Difference:
    """Lines by kind, each about one finding or one property of one subject."""

    new: tuple[str, ...]
    fixed: tuple[str, ...]
    changed: tuple[str, ...]
    power: tuple[str, ...]

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """Lines by the name of their kind, in the order of their weight."""
        return {"new": self.new, "fixed": self.fixed, "changed": self.changed, "changed only in power": self.power}

    def lines(self) -> list[str]:
        """As text, kind by kind."""
        told = [f"{kind:<22} {line}" for kind, lines in self.kinds.items() for line in lines]
        return told or ["no difference"]


def difference(before: Sequence[Record], after: Sequence[Record]) -> Difference:
    """From one run to another. A finding is fixed where its property was judged again and it was not seen."""
    old, new = _failing(before), _failing(after)
    mine, theirs = _rows(before), _rows(after)
    rows = {key: (mine.get(key), theirs.get(key)) for key in {**mine, **theirs}}
    alone = {subject for subject, _ in mine} ^ {subject for subject, _ in theirs}
    told = {(one.subject, one.property) for one in (*old.values(), *new.values())}
    gone = [one for id_, one in old.items() if id_ not in new]
    fixed = [one for one in gone if (row := rows[one.subject, one.property][1]) is not None and row.status in JUDGED]
    lost = [_finding(one, "is not judged any more") for one in gone if one not in fixed]
    both = [_finding(new[id_], _changes(one, new[id_])) for id_, one in old.items() if id_ in new and _changes(one, new[id_])]
    others = {key: pair for key, pair in rows.items() if key not in told and key[0] not in alone}
    return Difference(
        tuple(_finding(one, one.message) for id_, one in new.items() if id_ not in old),
        tuple(_finding(one, "") for one in fixed),
        (*both, *lost, *(_appears(subject, mine) for subject in sorted(alone)), *(line for pair in others.values() if (line := _answer(*pair)))),
        tuple(line for pair in others.values() if (line := _power(*pair))),
    )


def _failing(found: Sequence[Record]) -> dict[str, Finding]:
    """The findings of a run, by id, but for advisories and grid effects that did not fail it."""
    failed = {row.reason for row in found if isinstance(row, PropertyRecord) and row.status == "failed"}
    return {one.id: one for one in found if isinstance(one, Finding) and (one.id in failed or one.severity == "finding")}


def _rows(found: Sequence[Record]) -> dict[tuple[str, str], PropertyRecord]:
    return {(row.subject, row.property): row for row in found if isinstance(row, PropertyRecord)}


def _finding(one: Finding, told: str) -> str:
    return f"{one.id} {one.property} [{one.subject}]{f'  {told}' if told else ''}"


def _appears(subject: str, before: Mapping[tuple[str, str], PropertyRecord]) -> str:
    """A subject that is there in one of the runs alone."""
    was = any(name == subject for name, _ in before)
    return f"[{subject}]  {'judged' if was else 'not there'} -> {'not there' if was else 'judged'}"


def _changes(old: Finding, new: Finding) -> str:
    """What of a finding is another now: its case, or what was found there."""
    parts = [
        name for name, differs in (("case", old.case != new.case), ("law found", old.table != new.table), ("evidence", old.evidence != new.evidence)) if differs
    ]
    return f"another {', '.join(parts)}" if parts else ""


def _answer(old: PropertyRecord | None, new: PropertyRecord | None) -> str:
    """A property that ended in another way, or is there in one of the runs alone."""
    row, was, now = old or new, old.status if old else "not there", new.status if new else "not there"
    assert row is not None
    return f"{row.property} [{row.subject}]  {was} -> {now}" if was != now else ""


def _power(old: PropertyRecord | None, new: PropertyRecord | None) -> str:
    """A property that ended in the same way, known better or worse."""
    if old is None or new is None or old.status != new.status or old.status not in JUDGED:
        return ""
    was, now = _known(old), _known(new)
    return f"{new.property} [{new.subject}]  {was} -> {now}" if was != now else ""


def _known(row: PropertyRecord) -> str:
    bound = f", within {row.certificate.bound:.2g}" if row.certificate is not None else ""
    return f"{row.evidence}, {row.cases:,} cases, {row.draws:,} draws{bound}"
