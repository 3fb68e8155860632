"""A run that is interrupted or killed at whatever moment leaves a valid file that reports read, marked as partial (slow; the moments are drawn from recorded seeds)."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import pytest

from specverify.audit import __main__ as shipped
from specverify.audit.events import EVENTS, ending, read_events
from specverify.audit.records import Footer, Header, PropertyRecord, encode

LATEST = 12.0
"""Seconds after its first file; a whole run of the two subjects takes somewhat longer."""
SUBJECTS = """
import time
import specverify as sv

@sv.subject("pad_path")
def slowly(path, length, pad):
    time.sleep(0.05)
    return path + [pad] * (length - len(path))

@sv.subject("pad_path")
def wrong(path, length, pad):
    time.sleep(0.05)
    return [pad] * (length - len(path)) + path
"""
PAUSE = 0.02


def killed(folder: Path, out: Path, seed: int, how: signal.Signals) -> tuple[int, Path]:
    """Start a run, let it go on for a time that the seed decides, end it; the exit code and the run's folder."""
    command = [sys.executable, "-m", "specverify", "audit", str(folder), "-n", "1", "--scope", "none", "--out", str(out)]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would what it starts
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    signal.signal(signal.SIGINT, heard)
    while not list(out.glob(f"*/{EVENTS}")):
        assert process.poll() is None
        time.sleep(PAUSE)
    time.sleep(random.Random(seed).uniform(0, LATEST))
    process.send_signal(how)
    code = process.wait(120)
    (run,) = out.iterdir()
    return code, run


def report_of(run: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "specverify", "report", str(run)], capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_ends_at_a_random_moment_leaves_a_valid_partial_file(project: Callable, tmp_path: Path, seed: int) -> None:
    """The even seeds are interrupted, the odd ones killed; one that was done before is whole."""
    how = (signal.SIGINT, signal.SIGKILL)[seed % 2]
    code, run = killed(project(SUBJECTS), tmp_path / "out", seed, how)
    records = read_events(run)
    assert isinstance(records[0], Header)
    validator = jsonschema.Draft202012Validator(msgspec.json.decode(shipped.text("events")))
    for line in (run / EVENTS).read_bytes().splitlines():
        validator.validate(msgspec.json.decode(line))
    done = report_of(run)
    page = (run / "index.html").read_text()
    if not ending(records):
        assert (code, done.returncode) == (1, 0)
        return
    assert code == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert (done.returncode, "This run is partial" in done.stderr) == (4, True), done.stderr
    assert "PARTIAL" in page
    if how == signal.SIGINT:
        assert [(one.complete, one.reason) for one in records if isinstance(one, Footer)] == [(False, "interrupted")]
    else:
        assert "has no last record" in done.stderr


def test_what_a_killed_run_had_found_is_read_from_its_shards(tmp_path: Path) -> None:
    """Its last line may be torn."""
    (tmp_path / "shards").mkdir()
    header = Header(1, "0", "1", "run", ("a",), "key", 1e-6, 10, 1, (), "", "3", "linux")
    row = PropertyRecord("pad", "pad_path", "PAD-001", "It is right.", "joint", "ok", "pointwise")
    (tmp_path / EVENTS).write_bytes(encode(header) + b"\n")
    (tmp_path / "shards" / "main.jsonl").write_bytes(encode(row) + b"\n" + encode(row)[:9])
    assert read_events(tmp_path) == [header, row]
    assert "no last record" in ending(read_events(tmp_path))
    (tmp_path / EVENTS).write_bytes(b"".join(encode(one) + b"\n" for one in (header, Footer(True, 0, 1.0))))
    assert len(read_events(tmp_path)) == 2
