"""`python -m benchmarks.skeleton`: import time, worker round trip, audit of one correct step, beside their bars."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from specverify.contracts import CONTRACTS
from specverify.subjects.source import from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Worker

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3_000


def import_milliseconds() -> list[float]:
    """Of `import specverify` in fresh processes."""
    code = "import time; t = time.perf_counter(); import specverify; print(1e3 * (time.perf_counter() - t))"
    return [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(9)]


def round_trip_milliseconds() -> list[float]:
    """Of one call of a `positive_part` of three lines, tensors both ways."""
    worker = Worker(from_path(str(ROOT / "tests" / "correct")))
    description = next(d for d in load(worker)[0] if d.contract == "positive_part")
    subject, case = Subject("max_fn", description, worker), CONTRACTS["positive_part"].smoke
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subject.call(case)
        times.append(1e3 * (time.perf_counter() - start))
    worker.close()
    return times


def audit_seconds() -> list[float]:
    """Of the whole command on the reference's verify step alone."""
    with tempfile.TemporaryDirectory() as out:
        step = Path(out) / "specverify_subjects.py"
        step.write_text("import specref\nimport specverify as sv\nsv.subject('verify_chain', rule='standard', seed='generator')(specref.verify_chain)\n")
        times = []
        for _ in range(3):
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-m", "specverify", "audit", str(step), "--out", out], capture_output=True, text=True)
            times.append(time.perf_counter() - start)
            assert done.returncode == 0, done.stdout
    return times


def main() -> None:
    """Print the table."""
    print(f"{'what':<36} {'bar':>10} {'min':>10} {'median':>10} {'max':>10}")
    rows = [
        ("import specverify, ms", "50", import_milliseconds()),
        ("worker round trip, ms", "0.3", round_trip_milliseconds()),
        ("audit of one correct step, s", "20", audit_seconds()),
    ]
    for name, bar, times in rows:
        print(f"{name:<36} {bar:>10} {min(times):>10.3g} {statistics.median(times):>10.3g} {max(times):>10.3g}")


if __name__ == "__main__":
    main()
