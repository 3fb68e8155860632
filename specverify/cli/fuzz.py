"""`specverify fuzz SUBJECT… --max-time 1h`: audits round after round, each with other cases, and keeps what is found."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.arguments import configured
from specverify.audit.config import read as read_config
from specverify.audit.fuzz import Told
from specverify.audit.fuzz import fuzz as run_fuzz
from specverify.audit.run import Finished, Watcher
from specverify.audit.run import audit as run_audit
from specverify.audit.settings import CONFIRM_DRAWS, Settings
from specverify.cli.console import Console
from specverify.cli.durations import seconds
from specverify.cli.forms import PAGE, named, write_into
from specverify.cli.options import Asked, Behind, command


@command
def fuzz(
    asked: Asked,
    max_time: Annotated[str, typer.Option(metavar="TIME", envvar="SPECVERIFY_MAX_TIME", help="When to stop: 1h, 10m, 90s."), Behind("subjects")] = "1h",
    rounds: Annotated[int | None, typer.Option(min=1, help="Stop after so many rounds, if the time is not up before."), Behind("subjects")] = None,
    budget: Annotated[int, typer.Option(min=1, envvar="SPECVERIFY_BUDGET", help="Draws of a confirmation."), Behind("alpha")] = CONFIRM_DRAWS,
) -> None:
    """Search on and on, in other cases each round. All rounds share alpha: a correct subject is accused with that chance at most, however long it goes on."""
    length, forms, config = seconds(max_time), named(asked.report or [PAGE]), read_config(Path.cwd())
    for subject in asked.subjects:  # what names nothing leaves no folder
        configured(subject, config, asked.python, asked.checkout)
    settings = asked.settings(Settings(draws=budget, known=tuple(config.known)))
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def one(own: Settings, folder: Path, watcher: Watcher) -> Finished:
        return run_audit(asked.subjects, own, python=asked.python, out=folder, workers=asked.workers, watcher=watcher, config=config, checkout=asked.checkout)

    told = (lambda _: None) if asked.quiet else _told
    finished = run_fuzz(asked.subjects, settings, one, out=asked.out, seconds=length, most=rounds, told=told)
    Console(quiet=asked.quiet, plain=asked.plain).finished(finished, write_into(finished.folder, finished.records, forms))
    raise typer.Exit(finished.exit_code)


def _told(one: Told) -> None:
    """A line per round, and one for each finding that is new."""
    cases = sum(row.cases for verdict in one.finished.verdicts for row in verdict.properties)
    cut = "" if one.finished.complete else "  (cut short)"
    typer.echo(f"round {one.number:<4} {cases:>8,} cases  {one.finished.seconds:>7.1f} s  {len(one.new)} new{cut}")
    for finding in one.new:
        typer.echo(f"  {finding.severity:<9} {finding.property} [{finding.subject}]  {finding.id}")
