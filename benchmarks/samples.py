"""`python -m benchmarks.samples`: write reports/papers/index.md, the 28 code samples that the papers' pages list, from recorded runs; `--run FOLDER` records a run on a checkout first.

`paper_samples.tsv` has the facts as they were given (Code with Papers / Syntology, CC BY-SA 4.0); `paper_subjects.tsv` has what of the gallery judges each, and what is known beside a run. A verdict
comes from a run's records alone.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from specverify.audit.checkouts import UNKNOWN
from specverify.audit.events import read_events
from specverify.audit.records import PropertyRecord, SubjectRecord
from specverify.audit.verdict import Verdict
from specverify.errors import SpecverifyError
from specverify.gallery import CHECKOUTS
from specverify.report.view import view

HERE = Path(__file__).resolve().parent
REPORTS = HERE.parent / "reports"
PAGE = REPORTS / "papers" / "index.md"
Row = Mapping[str, str]
KEY = ("repository", "path", "entry")
OUTSIDE = "not audited: by its path a helper of a server's code execution, which has no part in speculative decoding"
HEAD = """# Code samples of the papers

The 28 code samples that the pages of the two papers list, each with what an automatic check said of it and what an audit says. Written by `python -m benchmarks.samples` from
`benchmarks/paper_samples.tsv`, `benchmarks/paper_subjects.tsv` and the records of runs; no source is printed. Facts on the samples are from Code with Papers / Syntology (CC BY-SA 4.0; archive
material modified by Syntology).

The check's words: `ran`, it was called and nothing compared; `ran_violates` (VIOLATES), it broke the contract that was drafted for it; `ran_draft_wrong` (MISDECLARED), that contract did not describe the
code; `ran_fixture` (RAISES), the fixture raised; `unverified`, it was not run. Each is a question to an audit and no answer.

A row that needs a checkout is filled by the command that it shows, and then `python -m benchmarks.samples --run FOLDER`, FOLDER being that run's; a checkout whose commit is unknown fills nothing.

| sample | repository, path | hash | licence | check said | our contract | verdict and evidence | what the check got wrong | reachable from its caller |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def table(name: str) -> list[Row]:
    """Rows of a table beside this file."""
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def kept(entry: str) -> Path:
    """Where the runs of an entry are recorded: a package's beside its page, a checkout's below this page, a folder each."""
    return PAGE.parent / entry if entry in CHECKOUTS else REPORTS / entry


def judged(entry: str) -> dict[str, Verdict]:
    """The verdict of each subject of an entry that a recorded run judged; a later run's, where there are several."""
    runs = sorted(one.parent for one in kept(entry).rglob("events.jsonl"))
    return {one.subject.subject: one for run in runs for one in view(read_events(run)).verdicts}


def evidence(verdict: Verdict) -> str:
    """How its properties were judged."""
    rows = [one for one in verdict.properties if isinstance(one, PropertyRecord) and one.status not in {"not applicable", "blocked"}]
    return f"{', '.join(dict.fromkeys(one.evidence for one in rows))}; {sum(one.cases for one in rows)} cases, {sum(one.draws for one in rows):,} draws"


def told(verdict: Verdict) -> str:
    """Headline, findings and advisories, evidence."""
    found = "".join(f"; {verdict.severity(one)} {one.property}: {one.message.rstrip('.')}" for one in verdict.findings)
    return f"`{verdict.subject.subject}`: {verdict.headline.lower()}{found} ({evidence(verdict)})"


def answer(ours: Row) -> str:
    """What is known of a sample: its verdicts; or what would tell."""
    if not ours["gallery"]:
        return OUTSIDE
    known = judged(ours["gallery"])
    return "; ".join(told(known[name]) if name in known else missing(ours["gallery"], name) for name in ours["subjects"].split("; "))


def missing(entry: str, name: str) -> str:
    """Of a subject without a recorded run."""
    need = " --checkout PATH" if entry in CHECKOUTS else ""
    return f"not audited: needs {'a checkout' if need else 'a run'}: `specverify audit 'gallery:{entry}:{name}'{need}`"


def line(sample: Row, ours: Row) -> str:
    """A row of the page."""
    check = sample["status"] if sample["contract_check"] == "-" else f"{sample['status']} ({sample['contract_check']})"
    licence = "none: run only" if sample["licence"] == "NONE" else sample["licence"]
    where = f"{sample['repository']}, {sample['path']}"
    cells = (f"`{sample['entry']}`", where, f"`{sample['code_sha256_prefix']}`", licence, check, f"`{sample['contract']}`", answer(ours))
    return f"| {' | '.join((*cells, ours['check_wrong'] or 'not known', ours['reachable'] or 'not known'))} |"


def page() -> str:
    """The whole page."""
    ours = {tuple(row[name] for name in KEY): row for row in table("paper_subjects.tsv")}
    return HEAD + "\n".join(line(sample, ours[tuple(sample[name] for name in KEY)]) for sample in table("paper_samples.tsv")) + "\n"


def record(run: Path) -> None:
    """Keep the records of a run on a checkout.

    Raises:
        SpecverifyError: it is no run on a checkout, or on one of which nobody knows what it is.
    """
    subjects = [one for one in read_events(run) if isinstance(one, SubjectRecord)]
    entries = {one.source.split(":")[1] for one in subjects if one.source.startswith("gallery:")}
    if len(entries) != 1 or not entries <= set(CHECKOUTS) or any(not one.checkout or one.commit.startswith(UNKNOWN) for one in subjects):
        raise SpecverifyError(
            f"{run} is no run on a checkout with a commit.", hint="Clone the repository, check the entry's commit out, and audit it with --checkout."
        )
    place = kept(entries.pop()) / run.name
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(run / "events.jsonl", place)


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, action="append", default=[], help="a run's folder, to be recorded first")
    for run in parser.parse_args().run:
        record(run)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
