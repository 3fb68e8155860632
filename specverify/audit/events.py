"""A run's folder: shards while it runs, one event file after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from specverify.audit import records
from specverify.audit.records import Finding, Footer, Header, Record, SubjectRecord
from specverify.errors import SpecverifyError

EVENTS = "events.jsonl"


def shard_records(run: Path) -> list[Record]:
    """The records of all shards, shard by shard in the order of their names."""
    found: list[Record] = []
    for shard in sorted((run / "shards").glob("*.jsonl")):
        found += records.read(shard.read_bytes().splitlines())
    return found


def write_events(run: Path, header: Header, subjects: list[SubjectRecord], found: list[Record], footer: Footer) -> None:
    """Merge: header, subjects, then the records ordered by subject and property, footer. The shards are removed."""
    places = {record.subject: number for number, record in enumerate(subjects)}
    found = sorted(found, key=lambda record: (places.get(_subject(record), len(places)), _property(record)))
    write_records(run, [header, *subjects, *found, footer])
    for shard in (run / "shards").glob("*.jsonl"):
        shard.unlink()
    if (run / "shards").is_dir():
        (run / "shards").rmdir()


def write_records(run: Path, found: list[Record]) -> None:
    """Into the run's event file, at once."""
    whole = run / f"{EVENTS}.part"
    whole.write_bytes(b"".join(records.encode(record) + b"\n" for record in found))
    whole.replace(run / EVENTS)


def read_events(run: Path) -> list[Record]:
    """The records of a run, finished or cut short; `ending` tells which. Of one that was killed, those of its shards too.

    Raises:
        SpecverifyError: a file that does not begin with a header, or that is broken in the middle.
    """
    try:
        found = records.read((run / EVENTS).read_bytes().splitlines())
    except msgspec.DecodeError as error:
        raise SpecverifyError(f"{run / EVENTS} is damaged: {error}.", hint="Audit again; of a run that was killed the last line alone may be torn.") from None
    if not found or not isinstance(found[0], Header):
        raise SpecverifyError(f"{run / EVENTS} does not begin with a run's header.", hint="It is no file of a run, or it was cut off at its beginning.")
    return found if any(isinstance(record, Footer) for record in found) else found + shard_records(run)


def ending(found: Sequence[Record]) -> str:
    """Why the run is not whole, or nothing: a file of a whole run ends with a footer that says so."""
    footer = next((record for record in found if isinstance(record, Footer)), None)
    if footer is None:
        return "its file has no last record: the run still goes on, was killed, or the file was cut off"
    return "" if footer.complete else footer.reason or "it was cut short"


def findings(found: list[Record], *severities: str) -> list[Finding]:
    """The findings of these severities."""
    return [record for record in found if isinstance(record, Finding) and record.severity in severities]


def _subject(record: Record) -> str:
    return getattr(record, "subject", "")


def _property(record: Record) -> str:
    return getattr(record, "property", "")
