"""The conformance report: one HTML file, no script, no network, readable in print, in the dark and on a phone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import jinja2
import msgspec

from specverify.audit.records import CaseRecord, Finding, Footer, Header, PropertyRecord, Record, SubjectRecord
from specverify.audit.verdict import Verdict, verdicts
from specverify.report.summary import counts_text
from specverify.report.text import evidence_text, power_of_ten

TEMPLATE = "report.html.j2"
UNTESTED = ("not applicable", "blocked", "inconclusive", "lost", "unconfirmed")
TONE = {0: "good", 1: "bad"}
ALWAYS_UNTESTED = (
    "exact laws: every law here is judged by sampling; a fault whose total variation is far below the draws' resolution is not seen",
    "whole generation loops, caches, trees, batches and servers: this version judges pieces, filters and steps of one chain",
)
LARGEST_EMBEDDED = 200_000
"""Bytes of embedded data; beyond it the page points to events.jsonl, so that the file stays under 500 kB."""


@dataclass(frozen=True)
class Page:
    """What the template shows; every value is plain text or a record."""

    header: Header
    verdicts: list[Verdict]
    footer: Footer | None
    strongest: dict[str, str]
    data: str

    def has(self, severity: str) -> bool:
        """Whether there is a finding of that severity."""
        return any(verdict.having(severity) for verdict in self.verdicts)


def write_html(found: list[Record], path: Path) -> None:
    """Render the records of a run, finished or cut short, into one file."""
    path.write_text(render(found), encoding="utf-8")


def render(found: list[Record]) -> str:
    """The page's text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specverify.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.globals.update(
        percent=percent, counts=counts_text, evidence=evidence_text, tone=lambda v: TONE.get(v.exit_code, "open"), untested=untested, always=ALWAYS_UNTESTED
    )
    return environment.get_template(TEMPLATE).render(page=_page(found))


def percent(text: str) -> float | None:
    """A probability as a bar's length, from the text that is shown: "3/8", "0.564"; none if it is no probability."""
    try:
        value = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None
    return round(100 * value, 1) if 0 <= value <= 1 else None


def untested(verdict: Verdict) -> list[PropertyRecord]:
    """The properties that give no answer about a subject."""
    return [row for row in verdict.properties if row.status in UNTESTED]


def _page(found: list[Record]) -> Page:
    header = next(record for record in found if isinstance(record, Header))
    subjects = [record for record in found if isinstance(record, SubjectRecord)]
    footer = next((record for record in found if isinstance(record, Footer)), None)
    kept = [record for record in found if not isinstance(record, CaseRecord)]
    return Page(header, verdicts(subjects, found), footer, _strongest(found), _embedded(kept))


def _strongest(found: list[Record]) -> dict[str, str]:
    """Subject and property to the largest e-value among its screens: how near a pass came to being suspect."""
    largest: dict[str, float] = {}
    for record in found:
        if isinstance(record, CaseRecord) and record.statistics is not None:
            key = f"{record.subject} {record.property}"
            largest[key] = max(largest.get(key, record.statistics.log_e), record.statistics.log_e)
    return {key: power_of_ten(value) for key, value in largest.items()}


def _embedded(kept: list[Any]) -> str:
    """The records as JSON that is safe inside a script element: no "<" stands in it."""
    for records in (kept, [record for record in kept if not isinstance(record, Finding)]):
        text = msgspec.json.encode(records).decode().replace("<", "\\u003c")
        if len(text) <= LARGEST_EMBEDDED:
            return text
    return '"see events.jsonl"'
