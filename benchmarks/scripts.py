"""How many findings of planted faults have a stand-alone script, and how many of these show it again in a fresh interpreter without specverify; and why the others have none.

python -m benchmarks.scripts [FAULT or CONTRACT…]      all faults by default, which takes an hour or two on two cores
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from specverify.audit.finding_files import FOLDER, read_finding
from specverify.audit.run import Watcher, audit
from specverify.audit.settings import Settings
from specverify.faults import FAULTS

SECONDS = 300
"""Of a script: the most draws take a minute or two."""
AGAIN = 1
"""What a script exits with where the finding shows again."""


def wanted(words: Sequence[str]) -> list[str]:
    """Names of faults: those that are named, and all of contracts that are."""
    return [name for name, fault in FAULTS.items() if not words or name in words or fault.contract in words]


def told(run: Path) -> Iterator[tuple[str, str, str]]:
    """(contract, subject and id, what became of it) of each finding of a run that fails it."""
    for path in sorted((run / FOLDER).glob("*.json")):
        file = read_finding(path)
        if file.finding.severity != "advisory":
            yield file.finding.contract, f"{file.finding.subject} {file.finding.property} {file.finding.id}", became(run, file.script)


def became(run: Path, script: str) -> str:
    """Why there is no script, or how it ended in an interpreter that has no specverify."""
    if script.startswith("none"):
        return script
    try:
        done = subprocess.run([sys.executable, "-P", run / script], env={"PATH": ""}, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "takes too long"
    return "reproduces" if done.returncode == AGAIN and "REPRODUCED" in done.stdout else f"does not: {(done.stdout + done.stderr).strip().splitlines()[-1]}"


def main() -> None:
    """Audit, run the scripts, print a table of contracts and the reasons."""
    names = wanted(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        done = audit([f"fault:{name}" for name in names], Settings(scope="none"), python=None, out=Path(folder), workers="auto", watcher=Watcher())
        found = list(told(done.folder))
    print(f"{'contract':<28} {'findings':>8} {'script':>8} {'shows it':>8}")
    for contract in [*dict.fromkeys(row[0] for row in found), ""]:
        mine = [row for row in found if contract in ("", row[0])]
        scripts = [row for row in mine if not row[2].startswith("none")]
        print(f"{contract or 'all':<28} {len(mine):>8} {len(scripts):>8} {sum(row[2] == 'reproduces' for row in scripts):>8}")
    for reason, count in Counter(row[2] for row in found if row[2] != "reproduces").most_common():
        print(f"{count:>4}  {reason}")
    for row in found:
        if row[2].startswith("does not"):
            print("     ", *row[:2])


if __name__ == "__main__":
    main()
