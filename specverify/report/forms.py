"""The forms that a report comes in, by name: what each file is called in a run's folder, and who writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.report import badge, html, junit, markdown, sarif

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from specverify.audit.records import Record


@dataclass(frozen=True)
class Form:
    """A kind of file: its usual name, and its text from the records of a run."""

    file: str
    render: Callable[[list[Record]], str]


FORMS = {
    "html": Form("index.html", html.render),
    "junit": Form("junit.xml", junit.render),
    "sarif": Form("results.sarif", sarif.render),
    "markdown": Form("summary.md", markdown.render),
    "badge": Form("badge.json", badge.render),
}


def write_forms(found: list[Record], places: Mapping[str, Path], against: Sequence[Record] = ()) -> None:
    """Write each form of a run to its place; the page tells what differs from an earlier run, if one is given."""
    for name, path in places.items():
        path.write_text(html.render(found, against) if name == "html" else FORMS[name].render(found), encoding="utf-8")
