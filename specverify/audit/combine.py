"""Shards of one run added up: the records that the whole run would have left, as far as its verdict rests on them."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from specverify.audit.baseline import accepted
from specverify.audit.events import read_events
from specverify.audit.records import CaseRecord, Certificate, Finding, Footer, Header, PropertyRecord, Record, SubjectRecord, Together, finding_id
from specverify.audit.run import Finished
from specverify.audit.suite import properties
from specverify.audit.verdict import UNDECIDED, exit_code, verdicts
from specverify.errors import SpecverifyError
from specverify.law import Law
from specverify.stats import RunWide, tv_upper

T = TypeVar("T", bound=Record)
WORST = ("failed", "lost", "inconclusive", "grid", "advisory", "unconfirmed", "ok", "blocked", "not applicable")
"""Of the statuses of one property in several shards, the first of these that occurs."""
EVIDENCE = ("statistical", "near-exact", "exact", "pointwise", "none")
"""The weakest first."""


def combined(folders: Sequence[Path], folder: Path) -> Finished:
    """One run of several shards.

    Args:
        folders: of all shards, in any order.
        folder: of the result, as header and report name it.

    Raises:
        SpecverifyError: a shard is missing or comes twice, or they are of different runs.
    """
    runs = [read_events(one) for one in folders]
    header = _header([_of(Header, run)[0] for run in runs], folder.name)
    subjects = _of(SubjectRecord, runs[0])
    found = list(merged(header, runs))
    given = verdicts(subjects, found, accepted(header))
    footers = [footer for run in runs for footer in _of(Footer, run)]
    whole = len(footers) == len(runs) and all(footer.complete for footer in footers)
    code = exit_code(given) or (0 if whole else UNDECIDED)
    reason = "" if whole else "a shard was cut short"
    footer = Footer(complete=whole, exit_code=code, seconds=round(sum(one.seconds for one in footers), 3), reason=reason)
    return Finished(folder, header, tuple(given), (header, *subjects, *found, footer), code, footer.seconds, whole)


def _of(kind: type[T], run: Sequence[Record]) -> list[T]:
    return [record for record in run if isinstance(record, kind)]


def _header(given: Sequence[Header], name: str) -> Header:
    """Of the whole run: what its shards agree on."""
    first = given[0]
    for field in ("version", "suite", "arguments", "run_key", "alpha", "draws", "pairs", "fail_on", "shards", "known"):
        if any(getattr(one, field) != getattr(first, field) for one in given):
            raise SpecverifyError(f"The shards differ in {field.replace('_', ' ')}.", hint="Shards of one run differ in --shard alone.")
    missing = set(range(1, first.shards + 1)) - {one.shard for one in given}
    if missing or len(given) != first.shards:
        told = f"{', '.join(map(str, sorted(missing)))} of {first.shards} is missing" if missing else "one comes twice"
        raise SpecverifyError(f"These are not all shards of a run: {told}.", hint="Give the folder of each shard once.")
    return msgspec.structs.replace(first, run=name, shard=1, shards=1)


def merged(header: Header, runs: Sequence[Sequence[Record]], *, rounds: bool = False) -> Iterator[Record]:
    """The properties in the suite's order, each with its findings; what a prerequisite of another part blocks is blocked.

    Args:
        header: of the whole.
        runs: its parts.
        rounds: whether each part was judged in full with a share of alpha of its own, so that nothing is tested again over them together.
    """
    rows: dict[tuple[str, str], list[PropertyRecord]] = {}
    for run in runs:
        for row in _of(PropertyRecord, run):
            rows.setdefault((row.subject, row.property), []).append(row)
    statuses: dict[tuple[str, str], str] = {}
    for (subject, name), parts in rows.items():
        findings = _findings(runs, subject, name)
        alarm = None if rounds else _alarm(header, runs, subject, name)
        row = _row(parts, alarm)
        findings = findings if rounds else [one for one in findings if one.id == row.reason] or findings[:1]
        blocker = next((after for after in properties()[name].after if statuses.get((subject, after)) in {"failed", "lost", "inconclusive", "blocked"}), None)
        if blocker is not None:
            row, findings, alarm = msgspec.structs.replace(row, status="blocked", reason=blocker), [], None
        statuses[subject, name] = row.status
        yield from (one for run in runs for one in _of(CaseRecord, run) if (one.subject, one.property) == (subject, name))
        yield from (one for one in [*findings, alarm] if one is not None)
        yield row


def _findings(runs: Sequence[Sequence[Record]], subject: str, name: str) -> list[Finding]:
    """Each once, from the first part that has it."""
    found = [one for run in runs for one in _of(Finding, run) if (one.subject, one.property) == (subject, name)]
    firsts: dict[str, Finding] = {}
    for one in found:
        firsts.setdefault(one.id, one)
    return list(firsts.values())


def _row(parts: Sequence[PropertyRecord], alarm: Finding | None) -> PropertyRecord:
    worst = min(parts, key=lambda row: WORST.index(row.status))
    status, reason = (worst.status, worst.reason) if alarm is None or worst.status == "failed" else ("failed", alarm.id)
    certificates, speeds = [row.certificate for row in parts if row.certificate is not None], [row.speed for row in parts if row.speed is not None]
    return msgspec.structs.replace(
        worst, status=status, reason=reason, evidence=min((row.evidence for row in parts), key=EVIDENCE.index),
        cases=sum(row.cases for row in parts), draws=sum(row.draws for row in parts), seconds=round(sum(row.seconds for row in parts), 3),
        law=any(row.law for row in parts), certificate=_certificate(certificates) if certificates else None, signs=tuple(sign for row in parts for sign in row.signs),
        speed=functools.reduce(operator.add, speeds) if speeds else None,
    )  # fmt: skip


def _certificate(parts: Sequence[Certificate]) -> Certificate:
    """Of all draws, whose number was fixed before they were split up."""
    if len(parts) == 1:
        return parts[0]
    counts = [(sum(count for count, _ in cell), cell[0][1]) for cell in zip(*(part.counts for part in parts), strict=True)]
    right, seen = Law({i: mass for i, (_, mass) in enumerate(counts)}), {i: count for i, (count, _) in enumerate(counts)}
    seen[-1] = sum(part.draws for part in parts) - sum(seen.values())
    distance, risk = Law.empirical(seen).total_variation(right), parts[0].risk
    return Certificate(parts[0].space, parts[0].cells, sum(part.draws for part in parts), distance, tv_upper(seen, right, risk), risk)


def _alarm(header: Header, runs: Sequence[Sequence[Record]], subject: str, name: str) -> Finding | None:
    """What all cases of all shards show together, if a known fault explains them so much better than the right law."""
    parts = [one for run in runs for one in _of(Together, run) if (one.subject, one.property) == (subject, name)]
    if len(parts) < 2:  # noqa: PLR2004  one shard has judged itself
        return None
    whole = RunWide.of(parts[0].process)
    for part in parts[1:]:
        whole = whole.merge(RunWide.of(part.process))
    if whole.log_e < math.log(2 * header.pairs / header.alpha):
        return None
    loudest, row = max(parts, key=lambda part: part.log_e), properties()[name]
    subject_record = next(one for one in _of(SubjectRecord, runs[0]) if one.subject == subject)
    return Finding(
        id=finding_id(subject, name, "together"), subject=subject, contract=subject_record.contract, property=name, sentence=row.sentence, source=row.source, severity="finding",
        message=whole.told, case=loudest.case, table=loudest.table, evidence="statistical", smallest=False,
        steps=loudest.steps, file=subject_record.file, line=subject_record.line,
    )  # fmt: skip
