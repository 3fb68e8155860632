"""`specverify report RUN…`: render a stored run in any form, make an index of several, or add up the shards of one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.combine import combined
from specverify.audit.events import EVENTS, ending, read_events, write_records
from specverify.audit.finding_files import write_findings
from specverify.audit.records import Record
from specverify.audit.verdict import UNDECIDED
from specverify.cli.console import Console
from specverify.cli.forms import PAGE, named, write_into
from specverify.errors import SpecverifyError
from specverify.report import index
from specverify.report.forms import FORMS, write_forms


def report(  # noqa: PLR0913, PLR0917  each is an option of the command
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, as `specverify audit` leaves them.")],
    combine: Annotated[bool, typer.Option("--combine", help="The runs are the shards of one: add them up.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="File for the page of one run, or the index of several (default, where no form is asked for: index.html in its folder).")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="File for JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="File for SARIF 2.1.0, which code hosts show beside the code.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="File for markdown, such as $GITHUB_STEP_SUMMARY.")] = None,
    badge: Annotated[Path | None, typer.Option(help="File for a badge as JSON, for shields.io's endpoint.")] = None,
    forms: Annotated[list[str] | None, typer.Option("--report", metavar="FORMS", help=f"Forms to write into the run's folder: {', '.join(FORMS)}.")] = None,
    against: Annotated[Path | None, typer.Option(metavar="OTHER", help="Folder of an earlier run: the page tells what differs from it.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the whole, with --combine, or for the index of several runs.")] = Path("reports"),
) -> None:
    """Write the forms of a stored run; of several an index; with --combine, the whole of its shards, with its verdict and exit code. Exit 4: a run is partial."""
    given = {"html": html, "junit": junit, "sarif": sarif, "markdown": markdown, "badge": badge}
    places = {name: path for name, path in given.items() if path is not None}
    names = named(forms or ([] if places else [PAGE]))
    for run in [*runs, *([against] if against else [])]:
        if not (run / EVENTS).exists():
            raise SpecverifyError(f"{run} has no {EVENTS}.", hint="Give the folder of a run; `specverify audit` prints it.")
    if against is not None and (combine or len(runs) > 1 or PAGE not in {*names, *places}):
        raise SpecverifyError("--against is for the page of one run.", hint="Give one RUN, and --html FILE where other forms are asked for.")
    if combine:
        raise typer.Exit(_combine(runs, out, places, names))
    if len(runs) > 1:
        raise typer.Exit(_index(runs, out, places, forms))
    raise typer.Exit(_render(runs[0], places, names, read_events(against) if against else []))


def _render(run: Path, places: dict[str, Path], names: tuple[str, ...], against: list[Record]) -> int:
    """Write what was asked for; say so if the run is not whole."""
    found = read_events(run)
    all_places = {**{name: run / FORMS[name].file for name in names}, **places}
    write_forms(found, all_places, against)
    for path in all_places.values():
        typer.echo(path)
    return _partial(found, "This run")


def _partial(found: list[Record], name: str) -> int:
    """Say so if a run is not whole; the exit code."""
    if cut := ending(found):
        typer.echo(f"{name} is partial: {cut}. What it found stands, the rest is not tested.", err=True)
    return UNDECIDED if cut else 0


def _index(runs: list[Path], out: Path, places: dict[str, Path], forms: list[str] | None) -> int:
    """Write the index of several runs, whose pages it links to."""
    if forms or places.keys() - {PAGE}:
        raise SpecverifyError("Of several runs there is an index alone.", hint="Give one RUN for its other forms, or --combine if these are shards of one run.")
    place = places.get(PAGE, out / FORMS[PAGE].file)
    found = {run: read_events(run) for run in runs}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(index.render(found, place), encoding="utf-8")
    typer.echo(place)
    return max(_partial(records, str(run)) for run, records in found.items())


def _combine(runs: list[Path], out: Path, places: dict[str, Path], names: tuple[str, ...]) -> int:
    stamp = datetime.datetime.now(tz=datetime.UTC).strftime("%Y%m%d-%H%M%S")
    done = combined(runs, out / f"{stamp}-combined")
    done.folder.mkdir(parents=True)
    write_records(done.folder, list(done.records))
    write_findings(done.folder, done.records)
    page = write_into(done.folder, done.records, names)
    write_forms(list(done.records), places)
    Console().finished(done, places.get(PAGE, page))
    return done.exit_code
