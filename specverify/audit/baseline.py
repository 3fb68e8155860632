"""Known findings: which of a run's are accepted, which entries are out of date, and how a run's findings become entries."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import tomllib

from specverify.audit.config import FILE, expired, place
from specverify.audit.records import Finding, Header, Known, PropertyRecord, Record
from specverify.errors import SpecverifyError

WHY = "not said yet"
"""The reason of an entry that nobody has given one."""
JUDGED = ("ok", "failed", "grid", "advisory", "unconfirmed")
ENTRY = re.compile(r"^\[\[(?:tool\.specverify\.)?known\]\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*", re.MULTILINE)
"""A table of `[[known]]`, up to the next table."""


def accepted(header: Header) -> dict[str, Known]:
    """The known findings that were accepted on the day of the run, by id."""
    today = datetime.date.fromisoformat(header.started[:10]) if header.started else datetime.date.min
    return {one.finding: one for one in header.known if not expired(one, today)}


def out_of_date(header: Header, found: Sequence[Record]) -> list[str]:
    """What is to be mended in the baseline: entries that expired, and those whose property was judged and whose finding was not seen."""
    ids = {record.id for record in found if isinstance(record, Finding)}
    judged = {(record.subject, record.property) for record in found if isinstance(record, PropertyRecord) and record.status in JUDGED}
    current = accepted(header)
    told = [f"{one.finding} expired on {one.expires}" for one in header.known if one.finding not in current]
    gone = [one for one in current.values() if one.finding not in ids and (not one.subject or (one.subject, one.property) in judged)]
    return told + [f"{one.finding} was not found any more" for one in gone]


def updated(header: Header, found: Sequence[Record], old: Sequence[Known], *, reason: str | None, expires: datetime.date | None) -> list[Known]:
    """The entries after a run: those of its findings that fail it, old ones as they were, and old ones that it did not judge; what is fixed leaves."""
    kept = {one.finding: one for one in old}
    failed = {record.reason for record in found if isinstance(record, PropertyRecord) and record.status == "failed"}
    seen = {one.id: one for one in found if isinstance(one, Finding) and one.id in failed}
    gone = {line.partition(" ")[0] for line in out_of_date(msgspec.structs.replace(header, known=tuple(old)), found) if "any more" in line}
    fresh = [Known(one.id, reason or WHY, expires=expires, subject=one.subject, property=one.property) for one in seen.values() if one.id not in kept]
    return [*(one for one in old if one.finding not in gone), *fresh]


def write(folder: Path, known: Sequence[Known]) -> Path:
    """Put the entries into the project's configuration, in the place of those that are there; all else stays as it is written.

    Raises:
        SpecverifyError: the file is written in a way that hides its entries from us.
    """
    file = place(folder) or folder / FILE
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    prefix = "" if file.name == FILE else "tool.specverify."
    rest = ENTRY.sub("", text).rstrip()
    blocks = "".join(f"\n[[{prefix}known]]\n{_entry(one)}" for one in known)
    new = f"{rest}\n{blocks}" if rest else blocks.lstrip("\n")
    if _without(text) != _without(new):
        raise SpecverifyError(f"{file} cannot be updated without changing something else.", hint="Write its known findings as [[known]] tables at its end.")
    file.write_text(new, encoding="utf-8")
    return file


def _entry(one: Known) -> str:
    strings = {name: getattr(one, name) for name in ("finding", "reason", "subject", "property", "link")}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in strings.items() if value]
    return "".join(lines) + (f"expires = {one.expires.isoformat()}\n" if one.expires else "")


def _without(text: str) -> dict[str, object]:
    """A configuration without its known findings."""
    data = tomllib.loads(text)
    mine = data.get("tool", {}).get("specverify", {}) if "tool" in data else data
    mine.pop("known", None)
    return data
