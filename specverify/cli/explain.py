"""`specverify explain ID`: one finding, in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.finding_files import located, read_finding
from specverify.report.explain import explanation


def explain(
    finding: Annotated[str, typer.Argument(metavar="ID", help="Of a finding (its beginning is enough), or its file RUN/findings/ID.json.")],
    reports: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("reports"),
) -> None:
    """Say which law is broken, what was found beside what is right, the smallest case, the way there, the likely fault, and what falls with it."""
    path = located(finding, reports)
    for line in explanation(read_finding(path), path.parent.parent):
        typer.echo(line)
