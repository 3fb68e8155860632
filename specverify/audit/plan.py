"""From sources to a plan: load each in a worker, label what it declares, share out alpha."""

from __future__ import annotations

import msgspec

from specverify.audit.bench import Pool
from specverify.audit.records import SubjectRecord
from specverify.audit.settings import Plan, Planned, Settings, labelled
from specverify.audit.suite import pairs
from specverify.errors import SpecverifyError, Unloadable
from specverify.subjects.source import Source
from specverify.subjects.subject import Description, load


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
            found += [(source, description) for description in descriptions]
    plan = _plan(found, settings)
    return plan, [_record(planned, versions[planned.source]) for planned in plan.subjects] + failed


def _plan(found: list[tuple[Source, Description]], settings: Settings) -> Plan:
    subjects = labelled(found)
    count = pairs([planned.description.contract for planned in subjects if planned.description.problem is None])
    return Plan(msgspec.structs.replace(settings, pairs=count), subjects)


def _record(planned: Planned, versions: dict[str, str]) -> SubjectRecord:
    d = planned.description
    hint = "Bind it through an adapter of a few lines that takes the contract's arguments." if d.problem else None
    return SubjectRecord(planned.label, planned.source.shown, d.contract, d.claim, d.rule, d.file, d.line, versions, d.problem, hint)
