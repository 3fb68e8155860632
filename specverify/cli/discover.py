"""`specverify discover PATH`: candidates in a checkout with their contract and why; which of them behave like it; a subjects file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from specverify.discover import Candidate, candidates, symbols
from specverify.discover.trying import OTHER, RIGHT, Tried, tried
from specverify.discover.writing import subjects_file, write
from specverify.errors import SpecverifyError
from specverify.subjects.source import SUBJECTS_FILE

UNDECIDED = 4
NAME_WIDTH = 44
DOUBT = "Gives another value than its contract on a dull case: a fault, or a convention that this adapter mistakes. Look before you audit."


def discover(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A checkout, a package's folder or a file.")],
    try_: Annotated[bool, typer.Option("--try", help="Call the candidates in a worker, and say which behave like their contract.")] = False,
    write_: Annotated[bool, typer.Option("--write", help=f"Write {SUBJECTS_FILE} with those that fit; tries them first.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    python: Annotated[str | None, typer.Option(help="Interpreter that has the checkout's dependencies (default: this one).")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of our own errors.")] = False,  # noqa: ARG001  read by main
) -> None:
    """Find what can be audited in a checkout: nothing of it is imported, unless --try or --write asks for it."""
    _check_writable(path, asked=write_, force=force)
    found = candidates(symbols(path))
    if not found:
        typer.echo(f"nothing in {path} looks like a part of a speculative decoder")
        raise typer.Exit(UNDECIDED)
    outcomes = tried(found, path, python or sys.executable) if try_ or write_ else [None] * len(found)
    for line in table(found, outcomes):
        typer.echo(line)
    typer.echo(summary(found, outcomes))
    if write_:
        _write([one for one in outcomes if one is not None], path, force=force)


def _check_writable(path: Path, *, asked: bool, force: bool) -> None:
    """Before anything is called: a file that somebody wrote is not to be written over."""
    target = (path if path.is_dir() else path.parent) / SUBJECTS_FILE
    if asked and target.exists() and not force:
        raise SpecverifyError(f"{target} is there already.", hint="--force writes over it.")


def table(found: Sequence[Candidate], outcomes: Sequence[Tried | None]) -> list[str]:
    """A line for each candidate, its reasons below it."""
    lines = [f"{'contract':<27} score  {'symbol':<{NAME_WIDTH}} file:line"]
    for one, outcome in zip(found, outcomes, strict=True):
        lines.append(f"{one.contract:<27} {one.score:>5g}  {one.symbol.name:<{NAME_WIDTH}} {one.symbol.file}:{one.symbol.line}")
        lines.append(f"{'':<34} {'; '.join(one.reasons)}")
        if outcome is not None:
            lines.append(f"{'':<34} {told(outcome)}")
    return lines


def told(outcome: Tried) -> str:
    """What came of a candidate, in words."""
    if outcome.verdict in {RIGHT, OTHER}:
        return outcome.verdict + (f", called with: {outcome.why}" if outcome.why else "")
    return f"{outcome.verdict}: {outcome.why}"


def summary(found: Sequence[Candidate], outcomes: Sequence[Tried | None]) -> str:
    """The last line."""
    tally = [one.verdict for one in outcomes if one is not None]
    counts = "; ".join(f"{tally.count(verdict)} {verdict}" for verdict in dict.fromkeys(tally))
    return f"{len(found)} candidate{'s' * (len(found) != 1)}" + (f": {counts}" if counts else ", none of them called; --try calls them in a worker")


def _write(outcomes: Sequence[Tried], path: Path, *, force: bool) -> None:
    bindings = [one.binding for one in outcomes if one.binding is not None]
    remarks = [DOUBT if one.verdict == OTHER else "" for one in outcomes if one.binding is not None]
    if not bindings:
        typer.echo(f"no candidate fits under a known convention, so no {SUBJECTS_FILE} is written")
        raise typer.Exit(UNDECIDED)
    left = [
        f"{one.candidate.contract} {one.candidate.symbol.file}:{one.candidate.symbol.line} {one.candidate.symbol.name}: {told(one)}"
        for one in outcomes
        if one.binding is None
    ]
    where = write(subjects_file(bindings, remarks, left, path), path, force=force)
    typer.echo(f"{len(bindings)} subject{'s' * (len(bindings) != 1)} in {where}; look them over, then: specverify audit {path}")
