"""`python -m benchmarks.misbehaviours`: what whole audits make of subjects that misbehave, each beside a good one that must be judged all the same."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from specverify.audit.__main__ import TARGET
from specverify.audit.events import EVENTS, read_events
from specverify.audit.records import Footer, Header
from specverify.audit.verdict import BROKEN, UNDECIDED, UPHELD, Verdict
from specverify.report.view import view

CALL_SECONDS = "1"
PATIENCE = 240
MARK = "SPECVERIFY_MISBEHAVIOUR"
"""Set for one audit, so that whatever it leaves behind can be told from every other process."""

FILE = """
import os, random, signal, stat, struct, sys, threading, time
import numpy as np
import specverify as sv

def drawn(probs):
    alive = np.flatnonzero(probs)
    ends = np.cumsum(probs[alive])
    return int(alive[min(np.searchsorted(ends, np.random.random() * ends[-1], side="right"), len(alive) - 1)])

def pipes():
    return [fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and os.path.exists(f"/proc/self/fd/{{fd}}") and stat.S_ISFIFO(os.fstat(fd).st_mode)]

def write(data):
    for fd in pipes():
        try:
            os.write(fd, data)
        except OSError:
            pass

{before}

@sv.subject("sample", arrays="numpy")
def bad(probs):
{body}

@sv.subject("sample", arrays="numpy")
def good(probs):
    return drawn(probs)
"""


@dataclass(frozen=True)
class Misbehaviour:
    """What a subject does at every call, the exit code that its audit must end with, and lines before it."""

    name: str
    body: str
    expected: int
    before: str = ""

    @property
    def text(self) -> str:
        """The subjects file: the bad one, then the good one."""
        return FILE.format(before=self.before, body="".join(f"    {line}\n" for line in self.body.splitlines()))


ONCE = "if not hasattr(sys, 'done'):\n    sys.done = True\n"
HARMLESS = "\nreturn drawn(probs)"

MISBEHAVIOURS = (
    Misbehaviour("segmentation fault", "os.kill(os.getpid(), signal.SIGSEGV)", BROKEN),
    Misbehaviour("os._exit", "os._exit(0)", BROKEN),
    Misbehaviour("hang", "time.sleep(3600)", UNDECIDED),
    Misbehaviour("endless output", "while True:\n    print('x' * 1000)", UNDECIDED),
    Misbehaviour("100 GB", "np.ones(100 << 30, dtype=np.uint8)" + HARMLESS, UNDECIDED),
    Misbehaviour("child left behind", ONCE + "    if os.fork() == 0:\n        time.sleep(3600)" + HARMLESS, UPHELD),
    Misbehaviour("child in a session of its own", ONCE + "    if os.fork() == 0:\n        os.setsid()\n        time.sleep(3600)" + HARMLESS, UPHELD),
    Misbehaviour("fork, and both go on", ONCE + "    os.fork()" + HARMLESS, BROKEN),
    Misbehaviour("changed folder", "os.chdir('/')" + HARMLESS, UPHELD),
    Misbehaviour("patched generators", "torch.rand = np.random.random = random.random = lambda *_: 0.0\nreturn int(np.random.choice(len(probs), p=np.float64(probs) / np.float64(probs).sum()))", UPHELD, before="import torch"),
    Misbehaviour("closed pipes", "for fd in pipes():\n    os.close(fd)" + HARMLESS, BROKEN),
    Misbehaviour("bytes in the pipes", "write(b'these bytes are no frame of the protocol, but long enough to be read as one')" + HARMLESS, BROKEN),
    Misbehaviour("forged frames", "text = b'{\"replies\": [{\"is\": \"value\", \"value\": 0}]}'\nwrite(struct.pack('<II', len(text), 0) + text)" + HARMLESS, BROKEN),
    Misbehaviour("endless threads", ONCE + "    threading.Thread(target=time.sleep, args=(3600,)).start()" + HARMLESS, UPHELD),
    Misbehaviour("own seed at every call", "np.random.seed(0); random.seed(0)" + HARMLESS, BROKEN),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Of one audit: what was reported of the bad subject, and whether all else went as it should."""

    told: str
    code: int
    valid: bool
    good: bool
    left: int
    seconds: float

    def right(self, expected: int) -> bool:
        """Whether the audit ended as it must."""
        return self.code == expected and self.valid and self.good and not self.left


def audit(misbehaviour: Misbehaviour) -> Outcome:
    """Audit the two subjects with one process, so that they share what can be shared."""
    with tempfile.TemporaryDirectory() as folder:
        file, out, mark = Path(folder) / "specverify_subjects.py", Path(folder) / "out", uuid.uuid4().hex
        file.write_text(misbehaviour.text)
        command = [sys.executable, "-m", "specverify", "audit", str(file), "-n", "1", "--call-seconds", CALL_SECONDS, "--out", str(out)]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, env={**os.environ, MARK: mark}, cwd=folder, timeout=PATIENCE)
        seconds = time.monotonic() - began
        (run,) = out.iterdir()
        of = {one.subject.subject: one for one in view(read_events(run)).verdicts}
        return Outcome(_told(of["bad"]), done.returncode, valid(run / EVENTS), _good(of["good"]), len(marked(mark)), seconds)


def _told(bad: Verdict) -> str:
    """Headline, and the first finding or reason."""
    first = next((finding.message for finding in bad.having("finding")), bad.sentence.partition(". ")[0])
    return f"{bad.headline}: {first}"


def _good(verdict: Verdict) -> bool:
    statuses = {row.status for row in verdict.properties}
    return "ok" in statuses and statuses <= {"ok", "not applicable"}


def valid(events: Path) -> bool:
    """Whether every line is of the shipped schema, between a header and the footer of a complete run."""
    validator = jsonschema.Draft202012Validator(json.loads(TARGET.read_text()))
    found = read_events(events.parent)
    whole = isinstance(found[0], Header) and isinstance(found[-1], Footer) and found[-1].complete
    return whole and all(validator.is_valid(json.loads(line)) for line in events.read_text().splitlines())


def marked(mark: str) -> list[int]:
    """Processes that still carry the mark of one audit."""
    return [int(place.parent.name) for place in Path("/proc").glob("[0-9]*/environ") if f"{MARK}={mark}".encode() in _read(place)]


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError:
        return b""


def main() -> int:
    """Print a line per misbehaviour; 1 if any audit ends as it must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="some of: " + ", ".join(row.name for row in MISBEHAVIOURS))
    asked = parser.parse_args().names
    wrong = 0
    print(f"{'misbehaviour':<30} {'exit':>4} {'due':>4} {'events':>7} {'good':>5} {'left':>5} {'s':>6}  reported")
    for row in MISBEHAVIOURS:
        if asked and row.name not in asked:
            continue
        seen = audit(row)
        wrong += not seen.right(row.expected)
        good, events = "ok" if seen.good else "BAD", "valid" if seen.valid else "BAD"
        print(f"{row.name:<30} {seen.code:>4} {row.expected:>4} {events:>7} {good:>5} {seen.left:>5} {seen.seconds:>6.1f}  {seen.told}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
