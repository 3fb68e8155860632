"""Options that `audit` and `fuzz` share, the settings that they make, and a command that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from specverify.audit.settings import ALPHA, FAIL_ON, RUN_KEY, SCOPES, Settings
from specverify.errors import SpecverifyError, unknown
from specverify.report.forms import FORMS

GIGABYTE = 2**30


@dataclass(frozen=True)
class Asked:
    """The shared options, in the order of `--help`."""

    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="SUBJECT...",
            help="A checkout or file, py:MODULE:NAME@CONTRACT, exec:PROGRAM, fault:NAME, not-bug:NAME, gallery:NAME or gallery:NAME:SUBJECT.",
        ),
    ]
    python: Annotated[str | None, typer.Option(envvar="SPECVERIFY_PYTHON", help="Interpreter that has the subjects' dependencies (default: this one).")] = None
    checkout: Annotated[str | None, typer.Option(metavar="PATH", help="Folder of the repository that a gallery entry imports from.")] = None
    run_key: Annotated[str, typer.Option(envvar="SPECVERIFY_RUN_KEY", help="Key that all seeds are hashed from.")] = RUN_KEY
    alpha: Annotated[float, typer.Option(envvar="SPECVERIFY_ALPHA", help="Chance that a correct subject fails the whole run.")] = ALPHA
    detect: Annotated[
        float | None,
        typer.Option(
            envvar="SPECVERIFY_DETECT", help="Total variation that a sampled case is to show with a chance of 99 %, such as 0.01; it only raises the draws."
        ),
    ] = None
    fail_on: Annotated[list[str] | None, typer.Option(envvar="SPECVERIFY_FAIL_ON", help="grid or advisory: let these fail the run too.")] = None
    call_seconds: Annotated[float, typer.Option(min=0.1, help="Time limit of one call of a subject.")] = 10.0
    memory: Annotated[float, typer.Option(min=0, help="Address space of a worker beyond its imports, in GB; 0 is no limit.")] = 2.0
    scope: Annotated[
        str, typer.Option(envvar="SPECVERIFY_SCOPE", help="none, small or large: the tables on which every explored verify step is judged, all of them.")
    ] = "small"
    workers: Annotated[str, typer.Option("-n", help="Processes: a number, or auto.")] = "auto"
    report: Annotated[
        list[str] | None, typer.Option(metavar="FORMS", envvar="SPECVERIFY_REPORT", help=f"Forms of the report: {', '.join(FORMS)}; html by default.")
    ] = None
    out: Annotated[Path, typer.Option(help="Folder for the run's folder.")] = Path("reports")
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="SPECVERIFY_QUIET", help="Print the findings and the verdict alone.")] = False
    plain: Annotated[bool, typer.Option("--plain", envvar="SPECVERIFY_PLAIN", help="Plain lines, without colours and bars, on a terminal too.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of our own errors.")] = False
    """Read by main."""

    def settings(self, own: Settings) -> Settings:
        """Of the run: what is asked, beside a command's own.

        Raises:
            SpecverifyError: a word or a number means nothing.
        """
        given = msgspec.structs.replace(
            own, run_key=self.run_key, alpha=self.alpha, fail_on=tuple(self.fail_on or ()), call_seconds=self.call_seconds,
            memory=int(self.memory * GIGABYTE), scope=self.scope,
        )  # fmt: skip
        return _checked(given.finding(_wanted_tv(self.detect)), self.workers)


@dataclass(frozen=True)
class Behind:
    """Beside the annotation of a command's own option: the shared one that it stands behind in `--help`."""

    name: str


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function of `Asked` and a command's own options, as typer takes it: each option is a parameter."""
    shared = inspect.signature(Asked, eval_str=True).parameters
    _, *own = inspect.signature(function, eval_str=True).parameters.values()

    def run(**given: Any) -> None:
        function(Asked(**{name: given.pop(name) for name in shared}), **given)

    run.__signature__ = inspect.Signature(list(_ordered(list(shared.values()), own)))  # type: ignore[attr-defined]
    run.__doc__ = function.__doc__
    return run


def _ordered(shared: Sequence[inspect.Parameter], own: Sequence[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    for one in shared:
        yield one
        yield from (mine for mine in own if Behind(one.name) in mine.annotation.__metadata__)


def _checked(settings: Settings, workers: str) -> Settings:
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


def _wanted_tv(detect: float | None) -> float | None:
    """A total variation that can be looked for.

    Raises:
        SpecverifyError: it is none.
    """
    if detect is not None and not 0 < detect < 1:
        raise SpecverifyError(f"detect is a total variation between 0 and 1, not {detect:g}.", hint="Write it as 0.01, or leave it out.")
    return detect
