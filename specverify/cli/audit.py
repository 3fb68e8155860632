"""`specverify audit SUBJECT…`: run the suite, show progress, print the verdict, write reports/RUN/."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.config import read as read_config
from specverify.audit.run import Watcher
from specverify.audit.run import audit as run_audit
from specverify.audit.settings import ALPHA, CONFIRM_DRAWS, RUN_KEY, Settings
from specverify.cli import options
from specverify.cli.console import Console
from specverify.cli.forms import PAGE, named, write_into
from specverify.errors import SpecverifyError


def audit(  # noqa: PLR0913, PLR0917  each is an option of the command
    subjects: options.Subjects,
    python: options.Python = None,
    checkout: options.Checkout = None,
    run_key: options.RunKey = RUN_KEY,
    alpha: options.Alpha = ALPHA,
    budget: options.Budget = str(CONFIRM_DRAWS),
    detect: options.Detect = None,
    fail_on: options.FailOn = None,
    strict: Annotated[
        bool, typer.Option("--strict", envvar="SPECVERIFY_STRICT", help="Exit 5 where known findings of the configuration are out of date.")
    ] = False,
    call_seconds: options.CallSeconds = 10.0,
    memory: options.Memory = 2.0,
    in_process: options.InProcess = False,
    scope: options.Scope = "small",
    shard: Annotated[str, typer.Option(metavar="I/N", help="Judge one of N parts of the cases; `specverify report --combine` adds the parts up.")] = "1/1",
    workers: options.Workers = "auto",
    report: options.Report = None,
    out: options.Out = Path("reports"),
    quiet: options.Quiet = False,
    plain: options.Plain = False,
    debug: options.Debug = False,  # noqa: ARG001  read by main
) -> None:
    """Judge subjects and say whether they keep the target's law, how that is known, and where they do not."""
    (part, parts), (draws, length) = _shard(shard), options.spent(budget)
    config = read_config(Path.cwd())
    forms = named(report or [PAGE])
    settings = options.checked(
        Settings(
            run_key=run_key, draws=draws, fail_on=tuple(fail_on or ()), call_seconds=call_seconds, memory=int(memory * options.GIGABYTE), in_process=in_process,
            scope=scope, shard=part, shards=parts, alpha=alpha, known=tuple(config.known), strict=strict,
        ).finding(options.wanted_tv(detect)), workers,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run that is told to end leaves a marked report, like one that is interrupted
    console = Console(quiet=quiet, plain=plain)
    with console:
        watcher = Watcher(console.started, console.record, time.monotonic() + length)
        finished = run_audit(subjects, settings, python=python, out=out, workers=workers, watcher=watcher, config=config, checkout=checkout)
    console.finished(finished, write_into(finished.folder, finished.records, forms))
    raise typer.Exit(finished.exit_code)


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise SpecverifyError(f"--shard takes I/N with I from 1 to N, not {text!r}.", hint="The second of four machines: --shard 2/4.")
    return int(part), int(parts)
