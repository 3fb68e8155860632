"""`specverify audit SUBJECT…`: run the suite, show progress, print the verdict, write reports/RUN/."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.config import read as read_config
from specverify.audit.run import Watcher
from specverify.audit.run import audit as run_audit
from specverify.audit.settings import ALPHA, CONFIRM_DRAWS, FAIL_ON, RUN_KEY, SCOPES, Settings
from specverify.cli.console import Console
from specverify.cli.forms import PAGE, named, write_into
from specverify.errors import SpecverifyError, unknown
from specverify.report.forms import FORMS

SUBJECT_HELP = "A checkout or file, py:MODULE:NAME@CONTRACT, exec:PROGRAM, fault:NAME, not-bug:NAME, gallery:NAME or gallery:NAME:SUBJECT."


def audit(  # noqa: PLR0913, PLR0917  each is an option of the command
    subjects: Annotated[list[str], typer.Argument(metavar="SUBJECT...", help=SUBJECT_HELP)],
    python: Annotated[str | None, typer.Option(envvar="SPECVERIFY_PYTHON", help="Interpreter that has the subjects' dependencies (default: this one).")] = None,
    checkout: Annotated[str | None, typer.Option(metavar="PATH", help="Folder of the repository that a gallery entry imports from.")] = None,
    run_key: Annotated[str, typer.Option(envvar="SPECVERIFY_RUN_KEY", help="Key that all seeds are hashed from.")] = RUN_KEY,
    alpha: Annotated[float, typer.Option(envvar="SPECVERIFY_ALPHA", help="Chance that a correct subject fails the whole run.")] = ALPHA,
    budget: Annotated[int, typer.Option(min=1, envvar="SPECVERIFY_BUDGET", help="Draws of a confirmation.")] = CONFIRM_DRAWS,
    fail_on: Annotated[list[str] | None, typer.Option(envvar="SPECVERIFY_FAIL_ON", help="grid or advisory: let these fail the run too.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", envvar="SPECVERIFY_STRICT", help="Exit 5 where known findings of the configuration are out of date.")
    ] = False,
    call_seconds: Annotated[float, typer.Option(min=0.1, help="Time limit of one call of a subject.")] = 10.0,
    memory: Annotated[float, typer.Option(min=0, help="Address space of a worker beyond its imports, in GB; 0 is no limit.")] = 2.0,
    in_process: Annotated[bool, typer.Option("--in-process", help="Run subjects without isolation, for a debugger.")] = False,
    scope: Annotated[
        str, typer.Option(envvar="SPECVERIFY_SCOPE", help="none, small or large: the tables on which every explored verify step is judged, all of them.")
    ] = "small",
    shard: Annotated[str, typer.Option(metavar="I/N", help="Judge one of N parts of the cases; `specverify report --combine` adds the parts up.")] = "1/1",
    workers: Annotated[str, typer.Option("-n", help="Processes: a number, or auto.")] = "auto",
    report: Annotated[
        list[str] | None, typer.Option(metavar="FORMS", envvar="SPECVERIFY_REPORT", help=f"Forms of the report: {', '.join(FORMS)}; html by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the run's folder.")] = Path("reports"),
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of our own errors.")] = False,  # noqa: ARG001  read by main
) -> None:
    """Judge subjects and say whether they keep the target's law, how that is known, and where they do not."""
    for word in fail_on or []:
        if word not in FAIL_ON:
            raise unknown("severity", word, FAIL_ON)
    if scope not in SCOPES:
        raise unknown("scope", scope, SCOPES)
    if workers != "auto" and not (workers.isdigit() and int(workers) > 0):
        raise SpecverifyError(f"-n takes a number of processes, or auto, not {workers!r}.", hint="Leave it out: auto is the default.")
    if not 0 < alpha < 1:
        raise SpecverifyError(f"alpha is a chance between 0 and 1, not {alpha:g}.", hint=f"Leave it out: {ALPHA:g} is the default.")
    part, parts = _shard(shard)
    config = read_config(Path.cwd())
    forms = named(report or [PAGE])
    settings = Settings(
        run_key=run_key, draws=budget, fail_on=tuple(fail_on or ()), call_seconds=call_seconds, memory=int(memory * 2**30), in_process=in_process, scope=scope,
        shard=part, shards=parts, alpha=alpha, known=tuple(config.known), strict=strict,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run that is told to end leaves a marked report, like one that is interrupted
    console = Console()
    with console:
        watcher = Watcher(console.started, console.record)
        finished = run_audit(subjects, settings, python=python, out=out, workers=workers, watcher=watcher, config=config, checkout=checkout)
    console.finished(finished, write_into(finished.folder, finished.records, forms))
    raise typer.Exit(finished.exit_code)


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise SpecverifyError(f"--shard takes I/N with I from 1 to N, not {text!r}.", hint="The second of four machines: --shard 2/4.")
    return int(part), int(parts)
