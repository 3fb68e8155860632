"""`python -m benchmarks.faults`: what finds every planted fault, from one audit, then what is said of the correct twins; 1 if a fault is missed or a twin accused."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from specverify.audit.events import read_events
from specverify.audit.verdict import UPHELD, Verdict
from specverify.faults import FAULTS, Fault
from specverify.report.view import view

ROOT = Path(__file__).resolve().parents[1]
TWINS = (ROOT / "tests" / "twins", *sorted(path.parent for path in (ROOT / "tests" / "twins").glob("*/specverify_subjects.py")))


def audit(*arguments: str) -> tuple[Verdict, ...]:
    """The verdicts of one audit."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([sys.executable, "-m", "specverify", "audit", *arguments, "--out", out], capture_output=True, text=True)
        runs = list(Path(out).iterdir())
        if not runs:
            raise SystemExit(done.stdout + done.stderr)
        return view(read_events(runs[0])).verdicts


def fault_line(fault: Fault, verdict: Verdict) -> tuple[str, bool]:
    """One line of the table, and whether a property that should find the fault does; of those that fail, it stands first."""
    failed = [row for row in verdict.properties if row.status == "failed"]
    found = sorted(failed, key=lambda row: fault.found_by.index(row.property) if row.property in fault.found_by else len(fault.found_by))
    evidence = {finding.id: finding.evidence for finding in verdict.findings}
    hit = bool(found) and found[0].property in fault.found_by
    how = f"{evidence[found[0].reason]:<12} {found[0].seconds:>6.1f}" if found else f"{'-':<12} {'-':>6}"
    names = " ".join(row.property for row in found)
    return f"{fault.name:<30} {fault.kind:<11} {how}  {names}{'' if hit else '  MISSED, should be found by ' + ' or '.join(fault.found_by)}", hit


def twin_line(verdict: Verdict) -> str:
    """One line: the exit code that the twin would give alone, what that means, its advisories and grid effects."""
    beside = [f"{severity} {finding.property}" for severity in ("advisory", "grid") for finding in verdict.having(severity)]
    return f"{verdict.subject.subject:<34} {verdict.subject.contract:<27} {verdict.exit_code}  {verdict.headline}{'; ' if beside else ''}{', '.join(beside)}"


def twins() -> Iterator[Verdict]:
    """The verdict on every twin."""
    for folder in TWINS:
        yield from audit(str(folder))


def main() -> int:
    """Print both tables."""
    planted = {verdict.subject.source: verdict for verdict in audit(*(f"fault:{name}" for name in FAULTS), "--fail-on", "grid")}
    print(f"{'planted fault':<30} {'kind':<11} {'evidence':<12} {'s':>6}  found by")
    lines = [fault_line(fault, planted[f"fault:{fault.name}"]) for fault in FAULTS.values()]
    print("\n".join(line for line, _ in lines))
    missed = sum(not hit for _, hit in lines)
    print(f"{len(lines)} planted faults, {missed} missed\n", flush=True)
    print(f"{'twin':<34} {'contract':<27} exit, meaning, what else is told")
    judged = list(twins())
    print("\n".join(map(twin_line, judged)))
    accused = sum(verdict.exit_code != UPHELD for verdict in judged)
    print(f"{len(judged)} twins, {accused} not upheld")
    return int(missed > 0 or accused > 0)


if __name__ == "__main__":
    sys.exit(main())
