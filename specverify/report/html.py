"""The conformance report: one HTML file, no script, no network, readable in print, in the dark and on a phone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import jinja2
import msgspec

from specverify.audit.baseline import accepted
from specverify.audit.records import CaseRecord, Finding, Footer, Header, Record, SubjectRecord
from specverify.audit.verdict import RESOLUTION, Verdict, exit_code, verdicts
from specverify.report.evidence import Bar, p_values, strongest
from specverify.report.findings import Chapter, chapters
from specverify.report.gaps import ALWAYS_UNTESTED, Gap, answered, gaps
from specverify.report.guarantees import Rung, Standing, rungs, standings
from specverify.report.marks import Mark, verdict_mark
from specverify.report.matrix import Matrix, matrices
from specverify.report.summary import counts_text
from specverify.report.text import choice_text, evidence_text, likely_text, parts_text
from specverify.report.view import total

TEMPLATE = "report.html.j2"
FEW = 4
"""Subjects whose verdicts and ladders fit side by side at the top; more get an index there, and their verdicts further down."""
LARGEST = 490_000
"""Bytes of a page with its embedded data; what does not fit is left to events.jsonl."""
CARDS = (200, 100, 50, 20, 0)
"""Findings that are shown whole; the first number that keeps the page within `LARGEST`. The others have a line each."""
MISSING = '"see events.jsonl"'


@dataclass(frozen=True)
class Page:
    """What the template shows; every value is plain text, a record or a small table."""

    header: Header
    footer: Footer | None
    verdicts: list[Verdict]
    title: str
    mark: Mark
    total: str
    rungs: tuple[Rung, ...]
    standings: list[list[Standing]]
    chapters: list[Chapter]
    matrices: list[Matrix]
    gaps: list[Gap]
    answered: tuple[int, int]
    strongest: dict[tuple[str, str], str]
    p_values: list[Bar]
    data: str = MISSING

    @property
    def many(self) -> bool:
        """Whether the run gets an index."""
        return len(self.verdicts) > FEW

    @property
    def health(self) -> list[Verdict]:
        """Those with a health note."""
        return [verdict for verdict in self.verdicts if verdict.health]

    @property
    def places(self) -> dict[str, int]:
        """A subject's name to the number of its verdict."""
        return {verdict.subject.subject: number for number, verdict in enumerate(self.verdicts, 1)}


def render(found: list[Record]) -> str:
    """The page's text, with as much of the run's data in it as there is room for."""
    template, room = _environment().get_template(TEMPLATE), -1
    for cards in CARDS:
        page = _page(found, cards)
        room = LARGEST - len(template.render(page=page).encode())
        if room >= 0:
            break
    return template.render(page=replace(page, data=_embedded(found, room)))


def percent(text: str) -> float | None:
    """A probability as a bar's length, from the text that is shown: "3/8", "0.564"; none if it is no probability."""
    try:
        value = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None
    return round(100 * value, 1) if 0 <= value <= 1 else None


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specverify.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.tests["probability"] = lambda text: percent(text) is not None
    environment.globals.update(
        percent=percent,
        counts=counts_text,
        evidence=evidence_text,
        choice_text=choice_text,
        likely=likely_text,
        parts=parts_text,
        mark_of=verdict_mark,
        always=ALWAYS_UNTESTED,
        resolution=RESOLUTION,
    )
    return environment


def _page(found: list[Record], cards: int) -> Page:
    header = next(record for record in found if isinstance(record, Header))
    footer = next((record for record in found if isinstance(record, Footer)), None)
    given = verdicts([record for record in found if isinstance(record, SubjectRecord)], found, accepted(header))
    ladder = rungs(given)
    return Page(
        header, footer, given, _title(header), verdict_mark(exit_code(given)), total(given), ladder, [standings(verdict, ladder) for verdict in given],
        list(chapters(given, cards)), list(matrices(given)), gaps(given), answered(given), strongest(found), p_values(found),
    )  # fmt: skip


def _title(header: Header) -> str:
    shown, more = header.arguments[:FEW], len(header.arguments) - FEW
    return " ".join(shown) + (f" and {more} more" if more > 0 else "")


def _embedded(found: list[Record], room: int) -> str:
    """The records as JSON that is safe inside a script element: no "<" stands in it. Cases are left out, findings too where they do not fit."""
    kept: list[Any] = [record for record in found if not isinstance(record, CaseRecord)]
    for records in (kept, [record for record in kept if not isinstance(record, Finding)]):
        text = msgspec.json.encode(records).decode().replace("<", "\\u003c")
        if len(text.encode()) <= room:
            return text
    return MISSING
