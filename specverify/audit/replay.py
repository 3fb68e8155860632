"""Running recorded findings again: the property judges the recorded case alone, as it did then, with the run's own settings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from specverify.audit.arguments import source
from specverify.audit.bench import Pool
from specverify.audit.events import shard_records
from specverify.audit.finding_files import FindingFile
from specverify.audit.records import Finding, PropertyRecord
from specverify.audit.run import Watcher, judge
from specverify.audit.settings import Plan, Planned, Replay, Settings
from specverify.audit.verdict import BROKEN, UNDECIDED, UNLOADABLE, UPHELD
from specverify.errors import SpecverifyError
from specverify.subjects.source import Source
from specverify.subjects.subject import load

FAILED, FIXED, ERROR, NOT_LOADED = "failed", "fixed", "error", "not loaded"
CODES = {FAILED: BROKEN, NOT_LOADED: UNLOADABLE, ERROR: UNDECIDED, FIXED: UPHELD}
"""Exit codes, in order of priority."""
OF_ALL_CASES = "together"
"""The class of fault that no case shows alone: its property is judged in full."""


@dataclass(frozen=True)
class Replayed:
    """What became of a finding: failed, fixed, error or not loaded; why, and the finding that is there now, if one is."""

    file: FindingFile
    outcome: str
    why: str = ""
    now: Finding | None = None


def exit_code(done: Iterable[Replayed]) -> int:
    """Of all of them: 1 if one fails still, 3 if a subject does not load, 4 if one has no answer, else 0."""
    outcomes = {one.outcome for one in done}
    return next((code for outcome, code in CODES.items() if outcome in outcomes), UNDECIDED)


def replay(files: Sequence[FindingFile], *, python: str | None, settings: Settings) -> list[Replayed]:
    """Judge each finding's case again.

    Args:
        files: the findings, of any runs.
        python: interpreter of the subjects; that of the run if none.
        settings: time and memory limits; keys, levels and draws are those of each run.
    """
    runs = list(dict.fromkeys(file.header for file in files))
    return [one for header in runs for one in _of_one_run([file for file in files if file.header == header], python, settings)]


def _of_one_run(files: Sequence[FindingFile], python: str | None, settings: Settings) -> list[Replayed]:
    header = files[0].header
    pool = Pool(settings)
    planned = {}
    try:
        for file in files:
            planned[file.finding.id] = _planned(file, python, pool)
    finally:
        pool.close()
    ready = [(file, one) for file in files if isinstance(one := planned[file.finding.id], Planned)]
    subjects = tuple({one.label: one for _, one in ready}.values())
    settings = Settings(
        header.run_key, header.alpha, header.draws, fail_on=("grid", "advisory"), pairs=header.pairs, call_seconds=settings.call_seconds, memory=settings.memory,
        in_process=settings.in_process,
    )  # fmt: skip
    found = _judged(Plan(settings, subjects, tuple(_replay(file) for file, _ in ready))) if ready else []
    return [Replayed(file, NOT_LOADED, one) if isinstance(one := planned[file.finding.id], str) else _told(file, found) for file in files]


def _planned(file: FindingFile, python: str | None, pool: Pool) -> Planned | str:
    """The finding's subject as it loads now, or why it does not."""
    label = file.subject.subject
    try:
        where = source(file.subject.source, python or file.subject.python_path or None)
        known = {name: one for one in load(pool.worker(where))[0] for name in _labels(where, one.name)}
    except SpecverifyError as error:
        return f"{error.message} {error.hint}"
    if label not in known:
        return f"{where.shown} declares no subject {label} any more."
    if known[label].problem is not None:
        return str(known[label].problem)
    return (
        Planned(label, where, replace(known[label], claim=file.subject.claim))
        if known[label].contract == file.finding.contract
        else f"{label} is a {known[label].contract} now."
    )


def _labels(where: Source, name: str) -> tuple[str, str]:
    """Both ways in which a run may have called a subject."""
    return (name, f"{where.shown}::{name}")


def _replay(file: FindingFile) -> Replay:
    whole = file.finding.fault == OF_ALL_CASES
    return Replay(file.subject.subject, file.finding.property, None if whole else file.finding.case)


def _judged(plan: Plan) -> list[Finding | PropertyRecord]:
    with tempfile.TemporaryDirectory(prefix="specverify-replay-") as folder:
        ended = judge(plan, Path(folder), "1", Watcher())
        log = (Path(folder) / "pytest.log").read_text(encoding="utf-8", errors="replace") if ended else ""
        if ended:
            raise SpecverifyError(f"The replay did not end well: {log.strip().splitlines()[-1] if log.strip() else ended}", hint="Audit the subject again.")
        return [record for record in shard_records(Path(folder)) if isinstance(record, (Finding, PropertyRecord))]


def _told(file: FindingFile, found: Sequence[Finding | PropertyRecord]) -> Replayed:
    """By how the property ended on the recorded case."""
    mine = [one for one in found if (one.subject, one.property) == (file.subject.subject, file.finding.property)]
    row = next((one for one in mine if isinstance(one, PropertyRecord)), None)
    now = next((one for one in mine if isinstance(one, Finding)), None)
    if row is None:
        return Replayed(file, ERROR, f"{file.finding.property} is not in this version of the suite")
    if row.status == "failed" and now is not None:
        return Replayed(file, FAILED, now.message, now)
    return Replayed(file, FIXED) if row.status == "ok" else Replayed(file, ERROR, f"{row.status}: {row.reason}")
