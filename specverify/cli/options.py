"""Options that `audit` and `fuzz` share, and the settings that they make."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.settings import ALPHA, CONFIRM_DRAWS, FAIL_ON, SCOPES, Settings
from specverify.cli.durations import seconds
from specverify.errors import SpecverifyError, unknown
from specverify.report.forms import FORMS

Subjects = Annotated[
    list[str],
    typer.Argument(
        metavar="SUBJECT...",
        help="A checkout or file, py:MODULE:NAME@CONTRACT, exec:PROGRAM, fault:NAME, not-bug:NAME, gallery:NAME or gallery:NAME:SUBJECT.",
    ),
]
Python = Annotated[str | None, typer.Option(envvar="SPECVERIFY_PYTHON", help="Interpreter that has the subjects' dependencies (default: this one).")]
Checkout = Annotated[str | None, typer.Option(metavar="PATH", help="Folder of the repository that a gallery entry imports from.")]
RunKey = Annotated[str, typer.Option(envvar="SPECVERIFY_RUN_KEY", help="Key that all seeds are hashed from.")]
Alpha = Annotated[float, typer.Option(envvar="SPECVERIFY_ALPHA", help="Chance that a correct subject fails the whole run.")]
Draws = Annotated[int, typer.Option("--budget", min=1, envvar="SPECVERIFY_BUDGET", help="Draws of a confirmation.")]
Budget = Annotated[
    str,
    typer.Option(
        metavar="DRAWS|TIME",
        envvar="SPECVERIFY_BUDGET",
        help="Draws of a confirmation, such as 20000; or a time, such as 60s: what was not reached by then is inconclusive.",
    ),
]
Detect = Annotated[
    float | None,
    typer.Option(
        envvar="SPECVERIFY_DETECT", help="Total variation that a sampled case is to show with a chance of 99 %, such as 0.01; it only raises the draws."
    ),
]
FailOn = Annotated[list[str] | None, typer.Option(envvar="SPECVERIFY_FAIL_ON", help="grid or advisory: let these fail the run too.")]
CallSeconds = Annotated[float, typer.Option(min=0.1, help="Time limit of one call of a subject.")]
Memory = Annotated[float, typer.Option(min=0, help="Address space of a worker beyond its imports, in GB; 0 is no limit.")]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run subjects without isolation, for a debugger.")]
Scope = Annotated[
    str, typer.Option(envvar="SPECVERIFY_SCOPE", help="none, small or large: the tables on which every explored verify step is judged, all of them.")
]
Workers = Annotated[str, typer.Option("-n", help="Processes: a number, or auto.")]
Report = Annotated[
    list[str] | None, typer.Option(metavar="FORMS", envvar="SPECVERIFY_REPORT", help=f"Forms of the report: {', '.join(FORMS)}; html by default.")
]
Out = Annotated[Path, typer.Option(help="Folder for the run's folder.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", envvar="SPECVERIFY_QUIET", help="Print the findings and the verdict alone.")]
Plain = Annotated[bool, typer.Option("--plain", envvar="SPECVERIFY_PLAIN", help="Plain lines, without colours and bars, on a terminal too.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of our own errors.")]
GIGABYTE = 2**30


def checked(settings: Settings, workers: str) -> Settings:
    """Settings whose words and numbers mean something.

    Raises:
        SpecverifyError: one does not.
    """
    for word in settings.fail_on:
        if word not in FAIL_ON:
            raise unknown("severity", word, FAIL_ON)
    if settings.scope not in SCOPES:
        raise unknown("scope", settings.scope, SCOPES)
    if workers != "auto" and not (workers.isdigit() and int(workers) > 0):
        raise SpecverifyError(f"-n takes a number of processes, or auto, not {workers!r}.", hint="Leave it out: auto is the default.")
    if not 0 < settings.alpha < 1:
        raise SpecverifyError(f"alpha is a chance between 0 and 1, not {settings.alpha:g}.", hint=f"Leave it out: {ALPHA:g} is the default.")
    return settings


def spent(budget: str) -> tuple[int, float]:
    """Draws of a confirmation and the seconds that a run may take, one of which a budget says.

    Raises:
        SpecverifyError: it says neither.
    """
    if not budget.isdigit():
        return CONFIRM_DRAWS, seconds(budget)
    if not int(budget):
        raise SpecverifyError("A budget of no draws confirms nothing.", hint="Write draws as 20000, or a time as 60s.")
    return int(budget), math.inf


def wanted_tv(detect: float | None) -> float | None:
    """A total variation that can be looked for.

    Raises:
        SpecverifyError: it is none.
    """
    if detect is not None and not 0 < detect < 1:
        raise SpecverifyError(f"detect is a total variation between 0 and 1, not {detect:g}.", hint="Write it as 0.01, or leave it out.")
    return detect
