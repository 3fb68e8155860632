"""The index of several runs: every subject by guarantee, with a link to the page of its run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from specverify.report.guarantees import Rung, Standing, rungs, standings
from specverify.report.marks import Mark, verdict_mark
from specverify.report.templates import template
from specverify.report.view import View, total, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specverify.audit.records import Record
    from specverify.audit.verdict import Verdict

TEMPLATE = "index.html.j2"


@dataclass(frozen=True)
class Row:
    """A subject of a run: its verdict, and how it stands on each rung."""

    verdict: Verdict
    mark: Mark
    standings: list[Standing]


@dataclass(frozen=True)
class Entry:
    """A run: its name, the place of its page as a link or nothing, and its subjects."""

    name: str
    link: str
    run: View
    rows: list[Row]


def render(runs: Mapping[Path, Sequence[Record]], place: Path) -> str:
    """The page's text.

    Args:
        runs: the records of each run, by its folder.
        place: where the page will stand; its links to the runs' pages are relative to that.
    """
    views = {folder: view(found) for folder, found in runs.items()}
    given = [verdict for run in views.values() for verdict in run.verdicts]
    ladder = rungs(given)
    entries = [Entry(folder.resolve().name, _link(folder, place), run, _rows(run, ladder)) for folder, run in views.items()]
    return template(TEMPLATE).render(entries=entries, rungs=ladder, total=total(given), subjects=len(given))


def _rows(run: View, ladder: tuple[Rung, ...]) -> list[Row]:
    return [Row(verdict, verdict_mark(verdict.exit_code), standings(verdict, ladder)) for verdict in run.verdicts]


def _link(folder: Path, place: Path) -> str:
    page = folder / "index.html"
    return quote(Path(os.path.relpath(page.resolve(), place.resolve().parent)).as_posix()) if page.exists() and page.resolve() != place.resolve() else ""
