"""A run's records as JSON inside its page, as many as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from specverify.audit.records import CaseRecord, Finding, Together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specverify.audit.records import Record

MISSING = '"see events.jsonl"'


def embedded(found: Sequence[Record], room: int) -> str:
    """The most that fits so many bytes, safe inside a script element: no "<" stands in it."""
    for records in _trimmed(found):
        text = msgspec.json.encode(records).decode().replace("<", "\\u003c")
        if len(text.encode()) <= room:
            return text
    return MISSING


def _trimmed(found: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Without what only adds up shards, then without what scripts are made of, then without findings."""
    kept = [record for record in found if not isinstance(record, CaseRecord | Together)]
    yield kept
    yield [msgspec.structs.replace(record, alone=None, output="") if isinstance(record, Finding) else record for record in kept]
    yield [record for record in kept if not isinstance(record, Finding)]
