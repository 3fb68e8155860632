"""From sources to a plan: load each in a worker, label what it declares, share out alpha."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec

from specverify.audit.bench import Pool
from specverify.audit.records import SubjectRecord
from specverify.audit.settings import Plan, Planned, Settings, labelled
from specverify.audit.suite import pairs
from specverify.contracts import CONTRACTS
from specverify.errors import SpecverifyError, Unloadable
from specverify.subjects.source import Source
from specverify.subjects.subject import Description, load

GIT_SECONDS = 5


def describe(sources: list[Source], settings: Settings, pool: Pool) -> Plan:
    """The plan for sources that must all load.

    Raises:
        SpecverifyError: one of them does not.
    """
    found = [(source, description) for source in sources for description in load(pool.worker(source))[0]]
    return _plan(found, settings)


def describe_each(sources: list[Source], settings: Settings, pool: Pool) -> tuple[Plan, list[SubjectRecord]]:
    """The plan of what loads, and a record for each subject or source, loaded or not."""
    found: list[tuple[Source, Description]] = []
    versions: dict[Source, dict[str, str]] = {}
    failed: list[SubjectRecord] = []
    for source in sources:
        try:
            descriptions, versions[source] = load(pool.worker(source))
        except SpecverifyError as error:
            failed.append(SubjectRecord(source.shown, source.shown, problem=error.message, hint=error.hint, usage=not isinstance(error, Unloadable)))
        else:
            found += [(source, replace(one, claim=source.claim or one.claim)) for one in descriptions]
    plan = _plan(found, settings)
    return plan, [_record(planned, versions[planned.source]) for planned in plan.subjects] + failed


def _plan(found: list[tuple[Source, Description]], settings: Settings) -> Plan:
    subjects = labelled(found)
    count = pairs([planned.description.contract for planned in subjects if planned.description.problem is None])
    return Plan(msgspec.structs.replace(settings, pairs=count), subjects)


def _record(planned: Planned, versions: dict[str, str]) -> SubjectRecord:
    d, told = planned.description, CONTRACTS[planned.description.contract]
    hint = "Bind it through an adapter of a few lines that takes the contract's arguments." if d.problem else None
    about = f"{told.name}{told.signature} -> {told.returns}. {told.sentence} Right: {told.right}."
    return SubjectRecord(
        subject=planned.label, source=planned.source.shown, contract=d.contract, claim=d.claim, rule=d.rule, file=d.file, line=d.line,
        versions=versions, about=about, commit=planned.source.commit or commit_of(d.file), checkout=bool(planned.source.commit), python_path=planned.source.python, problem=d.problem, hint=hint,
    )  # fmt: skip


def commit_of(file: str) -> str:
    """The commit of the checkout that a file lies in, with "+" where it has changes; "" outside of one."""
    if not file:
        return ""
    git = ["git", "-C", str(Path(file).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=GIT_SECONDS)  # noqa: S603
        changes = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, timeout=GIT_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return head.stdout.strip() + "+" * bool(changes.stdout.strip()) if head.returncode == 0 else ""
