"""`specverify diff A B`: what differs between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.events import EVENTS, ending, read_events
from specverify.audit.verdict import BROKEN
from specverify.errors import SpecverifyError
from specverify.report.diff import difference


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="Folder of the earlier run.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Folder of the later run.")],
) -> None:
    """Say which findings are new, fixed or changed, and what is only known better or worse. Exit 1: there is a new one."""
    for run in (before, after):
        if not (run / EVENTS).exists():
            raise SpecverifyError(f"{run} has no {EVENTS}.", hint="Give the folder of a run; `specverify audit` prints it.")
    found = [read_events(run) for run in (before, after)]
    for run, records in zip((before, after), found, strict=True):
        if cut := ending(records):
            typer.echo(f"{run} is partial: {cut}.", err=True)
    told = difference(*found)
    for line in told.lines():
        typer.echo(line)
    raise typer.Exit(BROKEN if told.new else 0)
