"""The conformance report: one HTML file, no script, no network, readable in print, in the dark and on a phone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specverify.audit.records import Footer, Header
from specverify.audit.verdict import Verdict, exit_code
from specverify.report.diff import difference
from specverify.report.embedded import MISSING, embedded
from specverify.report.evidence import Bar, p_values, strongest
from specverify.report.findings import Chapter, chapters
from specverify.report.gaps import Gap, answered, gaps
from specverify.report.guarantees import Rung, Standing, rungs, standings
from specverify.report.marks import Mark, verdict_mark
from specverify.report.matrix import Matrix, matrices
from specverify.report.plots import MISSING as NO_PLOTS
from specverify.report.plots import Plot, available, plots
from specverify.report.speed import Pace, paces
from specverify.report.templates import template
from specverify.report.view import total, view

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specverify.audit.records import Record

TEMPLATE = "report.html.j2"
FEW = 4
"""Subjects whose verdicts and ladders fit side by side at the top; more get an index there, and their verdicts further down."""
LARGEST = 490_000
"""Bytes of a page with its embedded data; what does not fit is left to events.jsonl."""
CARDS = (200, 100, 50, 20, 0)
"""Findings that are shown whole; the first number that keeps the page within `LARGEST`. The others have a line each."""

SHOWN = 12
"""Differences of one kind that are in sight; the others unfold."""


@dataclass(frozen=True)
class Earlier:
    """A run before, and what is another since, by kind; so many lines of a kind are in sight."""

    header: Header
    kinds: tuple[tuple[str, tuple[str, ...]], ...]
    shown: int = SHOWN


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
    earlier: Earlier | None
    chapters: list[Chapter]
    matrices: list[Matrix]
    gaps: list[Gap]
    answered: tuple[int, int]
    strongest: dict[tuple[str, str], str]
    p_values: list[Bar]
    plots: list[Plot]
    no_plots: str
    paces: list[Pace]
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

    @property
    def contents(self) -> Iterator[tuple[str, str]]:
        """The sections that there are, by place and title, in order."""
        mine = {chapter.severity: chapter.title for chapter in self.chapters}
        advisories = mine.pop("advisory", "")
        yield from (("verdict", "Verdict"), ("guarantees", "Guarantees"))
        yield from [("difference", "Difference")] if self.earlier else []
        yield from mine.items()
        yield from (("properties", "Properties"), ("untested", "Not tested"))
        yield from [("advisory", advisories)] if advisories else []
        yield from [("health", "Health")] if self.health else []
        yield ("evidence", "Evidence")
        yield from [("speed", "Speed")] if self.paces else []


def render(found: list[Record], against: Sequence[Record] = ()) -> str:
    """The page's text, with as much of the run's data in it as there is room for; with what differs from another run, if one is given."""
    page = _page(found, against)
    frame, room = template(TEMPLATE), -1
    for cards in CARDS:
        page = replace(page, chapters=list(chapters(page.verdicts, cards)))
        room = LARGEST - len(frame.render(page=page).encode())
        if room >= 0:
            break
    return frame.render(page=replace(page, data=embedded(found, room)))


def _page(found: list[Record], against: Sequence[Record]) -> Page:
    footer = next((record for record in found if isinstance(record, Footer)), None)
    run = view(found)
    given, bars = list(run.verdicts), p_values(found)
    ladder = rungs(given)
    return Page(
        run.header, footer, given, _title(run.header), verdict_mark(exit_code(given)), total(given), ladder, [standings(verdict, ladder) for verdict in given],
        _earlier(against, found) if against else None, [], list(matrices(given)), gaps(given), answered(given), strongest(found), bars, plots(found),
        NO_PLOTS if bars and not available() else "", list(paces(given)),
    )  # fmt: skip


def _earlier(against: Sequence[Record], found: Sequence[Record]) -> Earlier:
    told = difference(against, found).kinds.items()
    return Earlier(view(against).header, tuple((kind.capitalize(), lines) for kind, lines in told))


def _title(header: Header) -> str:
    shown, more = header.arguments[:FEW], len(header.arguments) - FEW
    return " ".join(shown) + (f" and {more} more" if more > 0 else "")
