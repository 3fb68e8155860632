"""How much was looked at: cases, draws and e-values per property, and how the p-values of the run are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.audit.records import CaseRecord, PropertyRecord
from specverify.report.text import power_of_ten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specverify.audit.records import Record, Statistics

BINS = 10
FIRST_LOOK = ("ok", "suspect")
"""Results of screens; a confirmation looks again at a case that was chosen for looking wrong."""


@dataclass(frozen=True)
class Bar:
    """One tenth of the p-values: its bounds, how many fell there, and its length beside the longest, in percent."""

    bounds: str
    count: int
    length: float


def strongest(found: list[Record]) -> dict[tuple[str, str], str]:
    """Subject and property to the largest e-value among its screens: how near a pass came to being suspect."""
    largest: dict[tuple[str, str], float] = {}
    for record in found:
        if isinstance(record, CaseRecord) and record.statistics is not None:
            key = (record.subject, record.property)
            largest[key] = max(largest.get(key, record.statistics.log_e), record.statistics.log_e)
    return {key: power_of_ten(value) for key, value in largest.items()}


def first_looks(found: Sequence[Record], *, laws: bool = False) -> Iterator[Statistics]:
    """The statistics of cases at their first look; of laws alone, if asked for those."""
    judged = {(row.subject, row.property) for row in found if isinstance(row, PropertyRecord) and (row.law or not laws)}
    for record in found:
        if isinstance(record, CaseRecord) and record.result in FIRST_LOOK and (record.subject, record.property) in judged and record.statistics is not None:
            yield record.statistics


def p_values(found: Sequence[Record]) -> list[Bar]:
    """The chi-squared p-values of laws at their first look, in tenths; nothing if no law was judged."""
    values = [one.p_value for one in first_looks(found, laws=True) if one.p_value is not None]
    counts = [sum(min(int(BINS * value), BINS - 1) == place for value in values) for place in range(BINS)]
    return [Bar(f"{place / BINS:g} to {(place + 1) / BINS:g}", count, round(100 * count / max(counts), 1)) for place, count in enumerate(counts) if values]
