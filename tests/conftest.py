"""Shared fixtures: small subjects in workers, audits by the command."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from specverify.audit.events import read_events
from specverify.audit.records import Finding, PropertyRecord, Record, SubjectRecord
from specverify.subjects.source import from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Limits, Worker

pytest_plugins = ["pytester"]


@dataclass(frozen=True)
class Audited:
    """What `specverify audit` left: exit code, output, run folder, records."""

    code: int
    out: str
    run: Path | None
    records: list[Record]

    def failed(self, subject: str) -> list[str]:
        return [r.property for r in self.records if isinstance(r, PropertyRecord) and r.subject == subject and r.status == "failed"]

    def status(self, subject: str) -> dict[str, str]:
        return {r.property: r.status for r in self.records if isinstance(r, PropertyRecord) and r.subject == subject}

    def findings(self) -> list[Finding]:
        return [r for r in self.records if isinstance(r, Finding)]

    def subjects(self) -> list[SubjectRecord]:
        return [r for r in self.records if isinstance(r, SubjectRecord)]


@pytest.fixture
def audit(tmp_path: Path) -> Callable[..., Audited]:
    """Run `specverify audit` in a scratch folder; without a scope unless one is asked for, which takes 10 s a step."""

    def run(*arguments: str, cwd: Path = tmp_path) -> Audited:
        scope = [] if "--scope" in arguments else ["--scope", "none"]
        command = [sys.executable, "-m", "specverify", "audit", *arguments, *scope, "--out", str(tmp_path / "reports")]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
        done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=280, env=environment)
        runs = sorted((tmp_path / "reports").glob("*")) if (tmp_path / "reports").exists() else []
        records = read_events(runs[-1]) if runs else []
        return Audited(done.returncode, done.stdout + done.stderr, runs[-1] if runs else None, records)

    return run


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command `specverify` in this process, for verbs that start no audit: exit code, output, errors."""
    from specverify.cli import main

    def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            patch.chdir(cwd or Path.cwd())
            patch.setattr(sys, "argv", ["specverify", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                main()
        code = ended.value.code
        return subprocess.CompletedProcess(arguments, code if isinstance(code, int) else int(bool(code)), *capsys.readouterr())

    return run


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Path]:
    """A folder with a subjects file of the given text."""

    def make(text: str) -> Path:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "specverify_subjects.py").write_text(text)
        return folder

    return make


@pytest.fixture
def subjects(project: Callable[[str], Path]) -> Iterator[Callable[..., dict[str, Subject]]]:
    """Load a subjects file's text in a worker."""
    workers: list[Worker] = []

    def make(text: str, *, python: str = sys.executable, limits: Limits | None = None) -> dict[str, Subject]:
        worker = Worker(from_path(str(project(text)), python), limits or Limits(call_seconds=5))
        workers.append(worker)
        return {d.name: Subject(d.name, d, worker) for d in load(worker)[0]}

    yield make
    for worker in workers:
        worker.close()


@pytest.fixture
def as_json() -> Callable[[object], object]:
    return lambda value: json.loads(json.dumps(value))
