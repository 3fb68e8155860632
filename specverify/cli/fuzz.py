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
from specverify.audit.settings import ALPHA, CONFIRM_DRAWS, RUN_KEY, Settings
from specverify.cli import options
from specverify.cli.console import Console
from specverify.cli.durations import seconds
from specverify.cli.forms import PAGE, named, write_into


def fuzz(  # noqa: PLR0913, PLR0917  each is an option of the command
    subjects: options.Subjects,
    max_time: Annotated[str, typer.Option(metavar="TIME", envvar="SPECVERIFY_MAX_TIME", help="When to stop: 1h, 10m, 90s.")] = "1h",
    rounds: Annotated[int | None, typer.Option(min=1, help="Stop after so many rounds, if the time is not up before.")] = None,
    python: options.Python = None,
    checkout: options.Checkout = None,
    run_key: options.RunKey = RUN_KEY,
    alpha: options.Alpha = ALPHA,
    budget: options.Draws = CONFIRM_DRAWS,
    detect: options.Detect = None,
    fail_on: options.FailOn = None,
    call_seconds: options.CallSeconds = 10.0,
    memory: options.Memory = 2.0,
    scope: options.Scope = "small",
    workers: options.Workers = "auto",
    report: options.Report = None,
    out: options.Out = Path("reports"),
    quiet: options.Quiet = False,
    plain: options.Plain = False,
    debug: options.Debug = False,  # noqa: ARG001  read by main
) -> None:
    """Search on and on, in other cases each round. All rounds share alpha: a correct subject is accused with that chance at most, however long it goes on."""
    length, forms, config = seconds(max_time), named(report or [PAGE]), read_config(Path.cwd())
    given = Settings(
        run_key=run_key, draws=budget, fail_on=tuple(fail_on or ()), call_seconds=call_seconds, memory=int(memory * options.GIGABYTE), scope=scope, alpha=alpha,
        known=tuple(config.known),
    )  # fmt: skip
    for subject in subjects:  # what names nothing leaves no folder
        configured(subject, config, python, checkout)
    settings = options.checked(given.finding(options.wanted_tv(detect)), workers)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def one(own: Settings, folder: Path, watcher: Watcher) -> Finished:
        return run_audit(subjects, own, python=python, out=folder, workers=workers, watcher=watcher, config=config, checkout=checkout)

    told = (lambda _: None) if quiet else _told
    finished = run_fuzz(subjects, settings, one, out=out, seconds=length, most=rounds, told=told)
    Console(quiet=quiet, plain=plain).finished(finished, write_into(finished.folder, finished.records, forms))
    raise typer.Exit(finished.exit_code)


def _told(one: Told) -> None:
    """A line per round, and one for each finding that is new."""
    cases = sum(row.cases for verdict in one.finished.verdicts for row in verdict.properties)
    cut = "" if one.finished.complete else "  (cut short)"
    typer.echo(f"round {one.number:<4} {cases:>8,} cases  {one.finished.seconds:>7.1f} s  {len(one.new)} new{cut}")
    for finding in one.new:
        typer.echo(f"  {finding.severity:<9} {finding.property} [{finding.subject}]  {finding.id}")
