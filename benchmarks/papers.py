"""`python -m benchmarks.papers [ENTRY…]`: what the gallery's entries for checkouts find on stand-ins of the repositories, symbol by symbol: each planted fault, and nothing where there is none."""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from specverify.audit.events import read_events
from specverify.audit.records import PropertyRecord, SubjectRecord
from specverify.audit.verdict import BROKEN
from specverify.gallery import CHECKOUTS

ROOT = Path(__file__).resolve().parents[1]
STANDINS = ROOT / "tests" / "standins"
SWITCH = "STANDIN_FAULT"


def planted(entries: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """(entry, subject, fault, shown) of each row of the table: a finding; an advisory, where the text stays the target's; or nothing, where the adapter does not see it."""
    with (STANDINS / "faults.tsv").open(encoding="utf-8") as file:
        yield from (tuple(row.values()) for row in csv.DictReader(file, delimiter="\t") if not entries or row["entry"] in entries)  # type: ignore[misc]


def audit(entry: str, subject: str = "", fault: str = "") -> tuple[int, list[PropertyRecord], list[SubjectRecord]]:
    """Exit code and records of an audit of a stand-in, whole or one subject of it."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"gallery:{entry}" + (f":{subject}" if subject else "")
        command = [sys.executable, "-m", "specverify", "audit", name, "--checkout", str(standin(entry)), "--scope", "none", "--out", folder]
        done = subprocess.run(command, env={**os.environ, SWITCH: fault}, capture_output=True, text=True)
        found = read_events(next(Path(folder).iterdir()))
    return done.returncode, [r for r in found if isinstance(r, PropertyRecord)], [r for r in found if isinstance(r, SubjectRecord)]


def standin(entry: str) -> Path:
    """Of its repository, which other entries may share: it bears the name of the first."""
    return STANDINS / next(one for one, told in CHECKOUTS.items() if told.repository == CHECKOUTS[entry].repository)


def failed(rows: list[PropertyRecord]) -> str:
    """The properties that failed, in order."""
    return " ".join(dict.fromkeys(row.property for row in rows if row.status == "failed"))


def shown(code: int, rows: list[PropertyRecord]) -> str:
    """What an audit came to, as the table has it."""
    return "finding" if code == BROKEN else "advisory" if any(row.status == "advisory" for row in rows) else "nothing"


def main() -> int:
    """Print the tables; 1 where a fault is missed or a right symbol accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="*")
    entries, wrong = parser.parse_args().entries, 0
    print("| entry | symbol | contract | planted fault | found by |\n| --- | --- | --- | --- | --- |", flush=True)
    for entry in dict.fromkeys(one for one, *_ in planted(entries)):
        code, rows, subjects = audit(entry)
        wrong += code != 0
        for one in subjects:
            told = failed([row for row in rows if row.subject == one.subject])
            print(f"| {entry} | {one.subject} | `{one.contract}` | none | {told or 'nothing'} |", flush=True)
    for entry, subject, fault, right in planted(entries):
        code, rows, subjects = audit(entry, subject, fault)
        told = shown(code, rows)
        wrong += told != right
        print(f"| {entry} | {subject} | `{subjects[0].contract}` | {fault} | {failed(rows) or told}{' **WRONG**' * (told != right)} |", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
