"""`specverify replay [ID or FILE]…`: recorded findings once more: fixed, failed, or no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.finding_files import FindingFile, latest, located, read_finding
from specverify.audit.replay import FAILED, Replayed, exit_code
from specverify.audit.replay import replay as run_again
from specverify.audit.settings import Settings


def replay(
    findings: Annotated[list[str] | None, typer.Argument(metavar="[ID or FILE]...", help="Findings; by default those of the newest run that fail it.")] = None,
    python: Annotated[str | None, typer.Option(help="Interpreter that has the subjects' dependencies (default: that of the run).")] = None,
    call_seconds: Annotated[float, typer.Option(min=0.1, help="Time limit of one call of a subject.")] = 10.0,
    memory: Annotated[float, typer.Option(min=0, help="Address space of a worker beyond its imports, in GB; 0 is no limit.")] = 2.0,
    in_process: Annotated[bool, typer.Option("--in-process", help="Run subjects without isolation, for a debugger.")] = False,
    reports: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("reports"),
) -> None:
    """Judge the recorded cases again. Exit 0: all fixed; 1: one fails still; 3: a subject does not load; 4: no answer."""
    files = [read_finding(located(name, reports)) for name in findings] if findings else _failing(reports)
    if not files:
        typer.echo("The newest run has no finding that fails it.")
        return
    settings = Settings(call_seconds=call_seconds, memory=int(memory * 2**30), in_process=in_process)
    done = run_again(files, python=python, settings=settings)
    for one in done:
        typer.echo(_line(one))
    raise typer.Exit(exit_code(done))


def _failing(reports: Path) -> list[FindingFile]:
    return [file for file in map(read_finding, latest(reports)) if file.row.status == "failed"]


def _line(one: Replayed) -> str:
    finding = one.file.finding
    changed = " (in another way than recorded)" if one.outcome == FAILED and one.now is not None and one.now.id != finding.id else ""
    return f"{one.outcome:<10} {finding.id} {finding.property} [{finding.subject}]{changed}{f'  {one.why}' if one.why else ''}"
