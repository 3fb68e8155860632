"""Rebuild all of `reports/` from the records in it: each page anew, no path of a machine in what is published, an index of all, and the table of verdicts in `reports/README.md`.

python -m benchmarks.reports [FOLDER]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from specverify.audit.events import EVENTS, read_events
from specverify.audit.records import Record
from specverify.report import index as index_page
from specverify.report.forms import FORMS
from specverify.report.view import view

REPORTS = Path(__file__).resolve().parent.parent / "reports"
BEGIN, END = "<!-- begin: python -m benchmarks.reports writes this table -->", "<!-- end -->"
OPAQUE = ("data", "gave")
"""Fields that hold bytes as base64, or what a subject gave: there a slash is no path."""
HERE = re.compile(r"/(?:[^\s/\"',:;()]+/)*(?=site-packages/|specverify/(?:gallery|faults)/)")
"""What stands before an installed package, or a file that ships with the tool: nothing that another machine has."""
ELSEWHERE = re.compile(r"(?<![\w.:/])/(?:tmp|home|root|work|usr|opt|var|mnt|srv|private|Users)/(?:[^\s/\"',:;()]+/)*")
"""Folders of a machine; the file's own name is kept."""


def published(value: Any) -> Any:
    """Plain data without the folders of the machine that it was made on."""
    if isinstance(value, str):
        return ELSEWHERE.sub("…/", HERE.sub("", value))
    if isinstance(value, list):
        return [published(item) for item in value]
    return {key: item if key in OPAQUE else published(item) for key, item in value.items()} if isinstance(value, dict) else value


def clean(events: Path) -> None:
    """An event file as it may be published; nothing is written where nothing changes."""
    old = events.read_bytes()
    new = b"".join(msgspec.json.encode(published(msgspec.json.decode(line))) + b"\n" for line in old.splitlines())
    if new != old:
        events.write_bytes(new)


def rows(name: str, found: Sequence[Record]) -> Iterator[str]:
    """A line of the table for each subject of a run."""
    for verdict in view(found).verdicts:
        one = verdict.subject
        versions = ", ".join(f"{package} {version}" for package, version in one.versions.items() if package not in {"python", "numpy"})
        page = f"[{name}]({name}/{FORMS['html'].file})"
        yield f"| `{one.subject}` ({one.contract}) | {versions} | {verdict.headline.lower()} | {len(verdict.having('finding'))} | {page} |"


def table(found: Mapping[Path, Sequence[Record]], reports: Path) -> str:
    """Of all runs that are published, by their folders."""
    head = ["| subject | versions | verdict | findings | report |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *(row for run, records in found.items() for row in rows(str(run.relative_to(reports)), records))])


def runs(reports: Path) -> list[Path]:
    """Folders that hold the records of a run, however deep; not those that an audit has left here, which begin with its date."""
    return sorted(events.parent for events in reports.rglob(EVENTS) if not events.relative_to(reports).parts[0][0].isdigit())


def read(reports: Path) -> dict[Path, list[Record]]:
    """The records of each run that is published."""
    return {run: read_events(run) for run in runs(reports)}


def main(reports: Path = REPORTS) -> None:
    """Clean, render, and put the table between its marks."""
    for run in runs(reports):
        clean(run / EVENTS)
    found, place = read(reports), reports / FORMS["html"].file
    for run, records in found.items():
        (run / FORMS["html"].file).write_text(FORMS["html"].render(records), encoding="utf-8")
        print(run)
    place.write_text(index_page.render(found, place), encoding="utf-8")
    index = reports / "README.md"
    text = index.read_text(encoding="utf-8")
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        sys.exit(f"{index} has no place for the table: write {BEGIN} and {END} on lines of their own.")
    index.write_text(f"{before}{BEGIN}\n\n{table(found, reports)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
