"""`specverify audit SUBJECT…`: run the suite, show progress, print the verdict, write reports/RUN/."""

from __future__ import annotations

import math
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.config import read as read_config
from specverify.audit.run import Watcher
from specverify.audit.run import audit as run_audit
from specverify.audit.settings import CONFIRM_DRAWS, Settings
from specverify.cli.console import Console
from specverify.cli.durations import seconds
from specverify.cli.forms import PAGE, named, write_into
from specverify.cli.options import Asked, Behind, command
from specverify.errors import SpecverifyError


@command
def audit(
    asked: Asked,
    budget: Annotated[
        str,
        typer.Option(
            metavar="DRAWS|TIME",
            envvar="SPECVERIFY_BUDGET",
            help="Draws of a confirmation, such as 20000; or a time, such as 60s: what was not reached by then is inconclusive.",
        ),
        Behind("alpha"),
    ] = str(CONFIRM_DRAWS),
    strict: Annotated[
        bool, typer.Option("--strict", envvar="SPECVERIFY_STRICT", help="Exit 5 where known findings of the configuration are out of date."), Behind("fail_on")
    ] = False,
    in_process: Annotated[bool, typer.Option("--in-process", help="Run subjects without isolation, for a debugger."), Behind("memory")] = False,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Judge one of N parts of the cases; `specverify report --combine` adds the parts up."), Behind("scope")
    ] = "1/1",
) -> None:
    """Judge subjects and say whether they keep the target's law, how that is known, and where they do not."""
    (part, parts), (draws, length) = _shard(shard), _spent(budget)
    config = read_config(Path.cwd())
    forms = named(asked.report or [PAGE])
    settings = asked.settings(Settings(draws=draws, in_process=in_process, shard=part, shards=parts, known=tuple(config.known), strict=strict))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run that is told to end leaves a marked report, like one that is interrupted
    console = Console(quiet=asked.quiet, plain=asked.plain)
    with console:
        watcher = Watcher(console.started, console.record, time.monotonic() + length)
        finished = run_audit(
            asked.subjects, settings, python=asked.python, out=asked.out, workers=asked.workers, watcher=watcher, config=config, checkout=asked.checkout
        )
    console.finished(finished, write_into(finished.folder, finished.records, forms))
    raise typer.Exit(finished.exit_code)


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise SpecverifyError(f"--shard takes I/N with I from 1 to N, not {text!r}.", hint="The second of four machines: --shard 2/4.")
    return int(part), int(parts)


def _spent(budget: str) -> tuple[int, float]:
    """Draws of a confirmation and the seconds that a run may take, one of which a budget says.

    Raises:
        SpecverifyError: it says neither.
    """
    if not budget.isdigit():
        return CONFIRM_DRAWS, seconds(budget)
    if not int(budget):
        raise SpecverifyError("A budget of no draws confirms nothing.", hint="Write draws as 20000, or a time as 60s.")
    return int(budget), math.inf
