"""One run: load the subjects, let pytest judge them, merge what it wrote, decide."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import specverify
from specverify.audit import records
from specverify.audit.arguments import configured
from specverify.audit.baseline import accepted, out_of_date
from specverify.audit.bench import Pool
from specverify.audit.config import Config
from specverify.audit.events import EVENTS, shard_records, write_events
from specverify.audit.finding_files import write_findings
from specverify.audit.plan import describe_each
from specverify.audit.records import Footer, Header, PropertyRecord, Record, SubjectRecord
from specverify.audit.settings import SUITE, Plan, Settings
from specverify.audit.suite import modules, of_contract
from specverify.audit.verdict import INTERRUPTED, OUTDATED, UNDECIDED, Verdict, exit_code, verdicts
from specverify.subjects.source import Source

PLAN = "plan.json"
LOG = "pytest.log"
INI = Path(__file__).with_name("pytest.ini")
POLL_SECONDS = 0.1
GRACE_SECONDS = 10
INTERRUPTION = "interrupted"
TIME_UP = "the time was up"
PYTEST_ENDED = (0, 1, 5)
"""All passed, some failed, none collected: the suite did its work. Anything else is ours to explain."""


@dataclass(frozen=True)
class Finished:
    """A run's end: where its files are, the verdicts, the exit code."""

    folder: Path
    header: Header
    verdicts: tuple[Verdict, ...]
    records: tuple[Record, ...]
    exit_code: int
    seconds: float
    complete: bool


@dataclass(frozen=True)
class Watcher:
    """What a console does while a run goes on, and until when, on the clock of `time.monotonic`, it may."""

    started: Callable[[Header, list[SubjectRecord]], None] = lambda _header, _subjects: None
    record: Callable[[Record], None] = lambda _: None
    until: float = math.inf


def audit(
    arguments: list[str],
    settings: Settings,
    *,
    python: str | None,
    out: Path,
    workers: str,
    watcher: Watcher,
    config: Config | None = None,
    checkout: str | None = None,
) -> Finished:
    """Audit what the arguments name.

    Args:
        arguments: SUBJECT arguments.
        settings: of the run; alpha is shared out here.
        python: interpreter of the subjects, the tool's own if none.
        out: folder under which RUN is made.
        workers: pytest's -n: a number, or "auto".
        watcher: told what happens.
        checkout: folder of the repository that a gallery entry imports from, if any.
        config: of the project, which may name subjects.

    Raises:
        SpecverifyError: an argument that names nothing.
    """
    began = time.monotonic()
    sources = list(dict.fromkeys(configured(argument, config or Config(), python, checkout) for argument in arguments))
    folder = run_folder(out, arguments)
    plan, subjects, reason = Plan(settings, ()), list[SubjectRecord](), INTERRUPTION
    _write_open(folder, header_of(folder.name, arguments, settings), subjects)
    with contextlib.suppress(KeyboardInterrupt):
        plan, subjects = _described(sources, settings)
        header = header_of(folder.name, arguments, plan.settings)
        _write_open(folder, header, subjects)
        watcher.started(header, subjects)
        reason = judge(plan, folder, workers, watcher)
    return _finish(folder, header_of(folder.name, arguments, plan.settings), subjects, plan, reason, began)


def _described(sources: list[Source], settings: Settings) -> tuple[Plan, list[SubjectRecord]]:
    pool = Pool(settings)
    try:
        return describe_each(sources, settings, pool)
    finally:
        pool.close()


def _write_open(folder: Path, header: Header, subjects: list[SubjectRecord]) -> None:
    """A file without a footer: until the run is over, that is what marks it as partial."""
    (folder / EVENTS).write_bytes(b"".join(records.encode(record) + b"\n" for record in (header, *subjects)))


def judge(plan: Plan, folder: Path, workers: str, watcher: Watcher) -> str:
    """Run pytest on the plan and tell its records as they come; why it ended early, or nothing."""
    ready = [planned for planned in plan.subjects if planned.description.problem is None]
    if not ready:
        return ""
    plan.write(folder / PLAN)
    command = _command(folder, modules(planned.description.contract for planned in ready), _processes(workers, len(ready)))
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=_environment())  # noqa: S603
        try:
            for record in _follow(process, folder, watcher.until):
                watcher.record(record)
        except TimeoutError:
            _stop(process)
            return TIME_UP
        except KeyboardInterrupt:
            _stop(process)
            raise
    return "" if process.returncode in PYTEST_ENDED else f"pytest ended with code {process.returncode}; {folder / LOG} tells why"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Let pytest close its workers; after a while, end it. Subjects' processes end with their parents in any case."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _command(folder: Path, suite: list[str], processes: int) -> list[str]:
    spread = ["-n", str(processes)] if processes > 1 else ["-p", "no:xdist"]
    where = [
        "-c",
        str(INI),
        "--rootdir",
        str(Path.cwd()),
        "--specverify-plan",
        str(folder / PLAN),
        "--specverify-run",
        str(folder),
    ]
    return [sys.executable, "-m", "pytest", "--noconftest", *where, *spread, "-q", "--pyargs", *suite]


def _environment() -> dict[str, str]:
    """Ours without what steers a user's own tests, and with the audited project's folder off the path: its code runs in workers alone."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")} | {"PYTHONSAFEPATH": "1"}


def _processes(workers: str, subjects: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = cores if workers == "auto" else int(workers)
    return max(1, min(wanted, subjects))


def _follow(process: subprocess.Popen[bytes], folder: Path, until: float) -> Iterator[Record]:
    """Records as the shards grow, until the process ends.

    Raises:
        TimeoutError: the time is up before.
    """
    places: dict[Path, int] = {}
    ended = False
    while not ended:
        ended = process.poll() is not None
        for shard in sorted((folder / "shards").glob("*.jsonl")):
            with shard.open("rb") as file:
                file.seek(places.get(shard, 0))
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            places[shard] = places.get(shard, 0) + len(whole)
            for line in whole.splitlines():
                yield records.decode(line)
        if not ended and time.monotonic() > until:
            raise TimeoutError
        if not ended:
            time.sleep(POLL_SECONDS)


def _finish(folder: Path, header: Header, subjects: list[SubjectRecord], plan: Plan, reason: str, began: float) -> Finished:
    seconds = time.monotonic() - began
    found = shard_records(folder)
    found += _unreached(plan, found, reason or "the run ended before it")
    given = verdicts(subjects, found, accepted(header))
    code = INTERRUPTED if reason == INTERRUPTION else exit_code(given)
    if reason and code == 0:
        code = UNDECIDED
    if code == 0 and plan.settings.strict and out_of_date(header, found):
        code = OUTDATED
    footer = Footer(complete=not reason, exit_code=code, seconds=round(seconds, 3), reason=reason)
    write_events(folder, header, subjects, found, footer)
    write_findings(folder, [header, *subjects, *found, footer])
    with contextlib.suppress(FileNotFoundError):
        (folder / PLAN).unlink()
    return Finished(folder, header, tuple(given), (header, *subjects, *found, footer), code, seconds, not reason)


def _unreached(plan: Plan, found: list[Record], reason: str) -> list[Record]:
    """An inconclusive record for every planned property that left none."""
    done = {(record.subject, record.property) for record in found if isinstance(record, PropertyRecord)}
    return [
        PropertyRecord(planned.label, row.contract, row.id, row.sentence, row.guards, "inconclusive", "none", reason)
        for planned in plan.subjects
        if planned.description.problem is None
        for row in of_contract(planned.description.contract)
        if (planned.label, row.id) not in done
    ]


def run_folder(out: Path, arguments: list[str]) -> Path:
    """OUT/DATE-TIME-SUBJECT, made anew; a number is added where two runs start within a second."""
    stamp = datetime.datetime.now(tz=datetime.UTC).strftime("%Y%m%d-%H%M%S")
    subject = re.sub(r"[^A-Za-z0-9.]+", "-", arguments[0]).strip("-.")[:40] or "here"
    names = [f"{stamp}-{subject}", *(f"{stamp}-{subject}-{number}" for number in range(2, 100))]
    for name in names:
        with contextlib.suppress(FileExistsError):
            (out / name).mkdir(parents=True)
            return out / name
    raise FileExistsError(out / names[0])


def header_of(run: str, arguments: list[str], settings: Settings) -> Header:
    """First record of a run."""
    return Header(
        format=records.FORMAT, version=specverify.__version__, suite=SUITE, run=run, arguments=tuple(arguments), run_key=settings.run_key,
        alpha=settings.alpha, draws=settings.draws, pairs=settings.pairs, fail_on=settings.fail_on,
        started=datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"), python=platform.python_version(), platform=platform.platform(), command=shlex.join(["specverify", *sys.argv[1:]]),
        shard=settings.shard, shards=settings.shards, known=settings.known,
    )  # fmt: skip
