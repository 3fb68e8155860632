"""`python -m benchmarks.false_alarms --keys 20`: audits of correct subjects under many run keys; any finding is a false alarm."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from specverify.audit.events import read_events
from specverify.audit.records import Finding, PropertyRecord

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = [str(ROOT / "reference"), str(ROOT / "tests" / "correct")]
"""A subject of each contract; give tests/twins too for the hundred tempting ones (three minutes an audit on two cores)."""


def audit(subjects: list[str], key: str, scope: str) -> tuple[int, list[Finding], Counter[str]]:
    """Exit code, findings that break a claim, and how properties ended."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "specverify", "audit", *subjects, "--run-key", key, "--scope", scope, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True)
        (run,) = Path(out).iterdir()
        found = read_events(run)
    broken = [record for record in found if isinstance(record, Finding) and record.severity == "finding"]
    return done.returncode, broken, Counter(record.status for record in found if isinstance(record, PropertyRecord))


def main() -> None:
    """Print a line per key and the sum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", default=DEFAULT)
    parser.add_argument("--keys", type=int, default=20)
    asked = parser.parse_args()
    alarms, total = 0, Counter[str]()
    for number in range(asked.keys):
        code, broken, statuses = audit(asked.subjects, f"key-{number}", "none" if number else "small")  # a scope is the same under every key
        alarms += len(broken)
        total += statuses
        named = "".join(f"\n    {finding.property} [{finding.subject}] {finding.message}" for finding in broken)
        print(f"key-{number:<4} exit {code}  {dict(statuses)}{named}", flush=True)
    print(f"{asked.keys} audits, {total.total()} properties judged, {alarms} false alarms: {dict(total)}")


if __name__ == "__main__":
    main()
