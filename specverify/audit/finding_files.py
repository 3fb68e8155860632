"""Finding files: each finding of a run whole in a file of its own, so that it can be explained and run again anywhere, and beside it a script that needs nothing of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from specverify.audit.arguments import source
from specverify.audit.events import EVENTS
from specverify.audit.records import Finding, Header, PropertyRecord, Record, SubjectRecord
from specverify.audit.standalone.script import script, why_not
from specverify.errors import SpecverifyError, unknown

FORMAT = 1
FOLDER = "findings"
SHORTEST = 4
"""Characters of an id that are enough to name it."""


class FindingFile(msgspec.Struct, frozen=True):
    """A finding with all that it rests on: the run, the subject, how the property ended, and which properties it blocked.

    `script` is the name of the stand-alone script in the run's folder, or why there is none.
    """

    format: int
    header: Header
    subject: SubjectRecord
    row: PropertyRecord
    blocked: tuple[str, ...]
    finding: Finding
    script: str = ""


def finding_files(found: Sequence[Record]) -> Iterator[FindingFile]:
    """A file for each finding of a run."""
    header = next(record for record in found if isinstance(record, Header))
    subjects = {record.subject: record for record in found if isinstance(record, SubjectRecord)}
    rows = [record for record in found if isinstance(record, PropertyRecord)]
    for finding in (record for record in found if isinstance(record, Finding)):
        mine = [row for row in rows if row.subject == finding.subject]
        row = next((row for row in mine if row.property == finding.property), None)
        if row is not None and finding.subject in subjects:
            blocked = tuple(row.property for row in mine if row.status == "blocked" and row.reason == finding.property)
            yield FindingFile(FORMAT, header, subjects[finding.subject], row, blocked, finding)


def write_findings(run: Path, found: Sequence[Record]) -> None:
    """Write each finding of a run into its folder, and the script that shows it alone, where there is one."""
    for file in finding_files(found):
        (run / FOLDER).mkdir(exist_ok=True)
        named = f"{file.finding.id}.py"
        text, reason = _script(file)
        if text:
            (run / named).write_text(text, encoding="utf-8")
        told = msgspec.structs.replace(file, script=named if text else f"none: {reason}")
        (run / FOLDER / f"{file.finding.id}.json").write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")


def _script(file: FindingFile) -> tuple[str | None, str]:
    try:
        where = source(file.subject.source, file.subject.python_path or None)
    except SpecverifyError as error:
        return None, f"where the subject is cannot be told any more ({error.message})"
    return script(file, where), why_not(file, where)


def read_finding(path: Path) -> FindingFile:
    """A finding file.

    Raises:
        SpecverifyError: no such file, no finding file, or one of a later version.
    """
    try:
        data = path.read_bytes()
        version = msgspec.json.decode(data, type=_Versioned).format
        if version > FORMAT:
            raise SpecverifyError(
                f"{path} has the format {version}, and this version reads up to {FORMAT}.", hint="Use the version that wrote it, or a later one."
            )
        return msgspec.json.decode(data, type=FindingFile)
    except FileNotFoundError:
        raise SpecverifyError(f"There is no finding file {path}.", hint="`specverify audit` writes them into RUN/findings.") from None
    except msgspec.DecodeError as error:
        raise SpecverifyError(f"{path} is no finding file: {error}.", hint="Give RUN/findings/ID.json, or the id.") from None


class _Versioned(msgspec.Struct):
    format: int


def located(name: str, reports: Path) -> Path:
    """The file of a finding: a path, or an id (its beginning is enough), then of the newest run that has it.

    Raises:
        SpecverifyError: nothing, or more than one finding, is called so.
    """
    if name.endswith(".json") or "/" in name:
        return Path(name)
    files = list(_all(reports))
    mine = [file for file in files if file.stem.startswith(name) and (len(name) >= SHORTEST or file.stem == name)]
    if not mine:
        raise unknown("finding", name, {file.stem for file in files} or {"(none in this folder's reports)"})
    if len({file.stem for file in mine}) > 1:
        raise SpecverifyError(f"{name} begins several findings: {', '.join(sorted({file.stem for file in mine}))}.", hint="Give more of the id.")
    return mine[0]


def newest(reports: Path) -> Path:
    """The folder of the newest run.

    Raises:
        SpecverifyError: there is no run.
    """
    runs = [folder for folder in reports.glob("*/") if (folder / EVENTS).exists()]
    if not runs:
        raise SpecverifyError(f"There is no run in {reports}.", hint="Audit first; --reports names another folder.")
    return max(runs, key=_age)


def latest(reports: Path) -> list[Path]:
    """The finding files of the newest run, where it has any."""
    return sorted((newest(reports) / FOLDER).glob("*.json"))


def _all(reports: Path) -> Iterator[Path]:
    """All finding files, those of the newest run first."""
    for folder in sorted(reports.glob(f"*/{FOLDER}"), key=lambda folder: _age(folder.parent), reverse=True):
        yield from sorted(folder.glob("*.json"))


def _age(run: Path) -> float:
    with contextlib.suppress(OSError):
        return (run / EVENTS).stat().st_mtime
    return 0.0
