"""`python -m benchmarks.papers [ENTRY…]`: the papers' repositories symbol by symbol: the contract that judges it, the properties that gave an answer, and what they found.

A repository that is no package stands as a stand-in: nothing may be found on the right one, and each planted fault must be. A package was audited itself, and its rows are read from the published run.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from specverify.audit.events import read_events
from specverify.audit.verdict import BROKEN, Verdict
from specverify.gallery import CHECKOUTS
from specverify.report.view import View, view

ROOT = Path(__file__).resolve().parents[1]
STANDINS = ROOT / "tests" / "standins"
SWITCH = "STANDIN_FAULT"
PACKAGES = ("lucidrains", "whisper")
"""Entries of the papers' repositories that pip installs: lucidrains/speculative-decoding itself, and what huggingface/distil-whisper decodes by."""
SILENT = {"not applicable", "blocked", "inconclusive", "lost"}
"""Statuses of a property that gave no answer."""


def planted(entries: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """(entry, subject, fault, shown) of each row of the table: a finding; an advisory, where the text stays the target's; or nothing, where the adapter does not see it."""
    with (STANDINS / "faults.tsv").open(encoding="utf-8") as file:
        yield from (tuple(row.values()) for row in csv.DictReader(file, delimiter="\t") if not entries or row["entry"] in entries)  # type: ignore[misc]


def audit(entry: str, subject: str = "", fault: str = "") -> View:
    """An audit of a stand-in, whole or one subject of it."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"gallery:{entry}" + (f":{subject}" if subject else "")
        command = [sys.executable, "-m", "specverify", "audit", name, "--checkout", str(standin(entry)), "--scope", "none", "--out", folder]
        subprocess.run(command, env={**os.environ, SWITCH: fault}, capture_output=True, text=True)
        return view(read_events(next(Path(folder).iterdir())))


def standin(entry: str) -> Path:
    """Of its repository, which other entries may share: it bears the name of the first."""
    return STANDINS / next(one for one, told in CHECKOUTS.items() if told.repository == CHECKOUTS[entry].repository)


def published(entry: str) -> View:
    """The run of a package that `reports/` has."""
    return view(read_events(ROOT / "reports" / entry))


def answered(verdict: Verdict) -> str:
    """The properties that gave an answer."""
    return ranges(row.property for row in verdict.properties if row.status not in SILENT) or "none"


def ranges(ids: Iterable[str]) -> str:
    """Those that follow each other together, such as "GEN-001…004 GEN-030"."""
    numbered = enumerate(sorted((prefix, int(number)) for prefix, number in (one.split("-") for one in set(ids))))
    runs = [[one for _, one in run] for _, run in itertools.groupby(numbered, key=lambda told: (told[1][0], told[1][1] - told[0]))]
    return " ".join(f"{run[0][0]}-{run[0][1]:03}" + (f"…{run[-1][1]:03}" if len(run) > 1 else "") for run in runs)


def broken(verdict: Verdict) -> str:
    """What was found, by property: findings, and what is told beside them with its name; or nothing."""
    beside = {f"{verdict.severity(one)}: {one.property}": None for one in verdict.findings if verdict.severity(one) != "finding"}
    return " ".join(dict.fromkeys([*(one.property for one in verdict.having("finding")), *beside])) or "nothing"


def shown(entry: str, subject: str, seen: View) -> str:
    """What an audit of a planted fault came to, as the table has it, beside what the right stand-in shows too."""
    if seen.exit_code == BROKEN:
        return "finding"
    told = {one.property for one in seen.findings}
    return "advisory" if told and told - {one.property for one in audit(entry, subject).findings} else "nothing"


def symbols(entry: str) -> int:
    """A line for each symbol; 1 where a right stand-in is accused."""
    seen = published(entry) if entry in PACKAGES else audit(entry)
    for verdict in seen.verdicts:
        print(f"| {entry} | {verdict.subject.subject} | `{verdict.subject.contract}` | {answered(verdict)} | {broken(verdict)} |", flush=True)
    return int(entry not in PACKAGES and seen.exit_code != 0)


def faults(entries: list[str]) -> Iterator[int]:
    """A line for each planted fault; 1 where it is missed."""
    for entry, subject, fault, right in planted(entries):
        seen = audit(entry, subject, fault)
        told, (verdict,) = shown(entry, subject, seen), seen.verdicts
        print(f"| {entry} | {subject} | {fault} | {broken(verdict)}{' **WRONG**' * (told != right)} |", flush=True)
        yield int(told != right)


def main() -> int:
    """Print both tables; 1 where a fault is missed or a right symbol accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="*")
    parser.add_argument("--symbols", action="store_true", help="The first table alone.")
    asked = parser.parse_args()
    entries = asked.entries or [*CHECKOUTS, *PACKAGES]
    print("| entry | symbol | contract | properties that gave an answer | found |\n| --- | --- | --- | --- | --- |", flush=True)
    wrong = sum(symbols(entry) for entry in entries)
    if asked.symbols:
        return min(wrong, 1)
    print("\n| entry | symbol | planted fault | found by |\n| --- | --- | --- | --- |", flush=True)
    return min(wrong + sum(faults(entries)), 1)


if __name__ == "__main__":
    sys.exit(main())
