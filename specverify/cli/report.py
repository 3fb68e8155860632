"""`specverify report RUN…`: render a stored run again, or add up the shards of one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.combine import combined
from specverify.audit.events import EVENTS, read_events, write_records
from specverify.cli.audit import PAGE
from specverify.cli.console import Console
from specverify.errors import SpecverifyError
from specverify.report.html import write_html


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, as `specverify audit` leaves them.")],
    combine: Annotated[bool, typer.Option("--combine", help="The runs are the shards of one: add them up.")] = False,
    html: Annotated[Path | None, typer.Option(help="File for the page of one run (default: index.html in its folder).")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the folder of the whole, with --combine.")] = Path("reports"),
) -> None:
    """Write the page of a stored run; with --combine, the whole of its shards, with its verdict and exit code."""
    for run in runs:
        if not (run / EVENTS).exists():
            raise SpecverifyError(f"{run} has no {EVENTS}.", hint="Give the folder of a run; `specverify audit` prints it.")
    if combine:
        _combine(runs, out)
    if len(runs) > 1:
        raise SpecverifyError("The page of one run is written at a time.", hint="Add --combine if these are shards of one run.")
    page = html or runs[0] / PAGE
    write_html(read_events(runs[0]), page)
    typer.echo(page)


def _combine(runs: list[Path], out: Path) -> None:
    stamp = datetime.datetime.now(tz=datetime.UTC).strftime("%Y%m%d-%H%M%S")
    done = combined(runs, out / f"{stamp}-combined")
    done.folder.mkdir(parents=True)
    write_records(done.folder, list(done.records))
    write_html(list(done.records), done.folder / PAGE)
    Console().finished(done, done.folder / PAGE)
    raise typer.Exit(done.exit_code)
