"""What every form of a report begins with: a run's header, its end, its verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.audit.baseline import accepted
from specverify.audit.events import ending
from specverify.audit.records import Finding, Footer, Header, Known, Record, SubjectRecord
from specverify.audit.verdict import Verdict, exit_code, verdicts
from specverify.report.marks import verdict_mark

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class View:
    """A run: its first record, its verdicts, the exit code, and why it is not whole, or nothing."""

    header: Header
    verdicts: tuple[Verdict, ...]
    exit_code: int
    cut: str

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all subjects, in order."""
        return tuple(finding for verdict in self.verdicts for finding in verdict.findings)

    def breaks(self, finding: Finding) -> bool:
        """Whether a finding fails the run: by itself, or since the run was asked to."""
        return finding.id not in self.known and (finding.severity == "finding" or finding.severity in self.header.fail_on)

    @property
    def known(self) -> dict[str, Known]:
        """The findings that are accepted, by id."""
        return {id_: one for verdict in self.verdicts for id_, one in verdict.known.items()}


def view(found: Sequence[Record]) -> View:
    """What the records of a run, finished or cut short, say."""
    header = next(record for record in found if isinstance(record, Header))
    footer = next((record for record in found if isinstance(record, Footer)), None)
    given = verdicts([record for record in found if isinstance(record, SubjectRecord)], list(found), accepted(header))
    return View(header, tuple(given), exit_code(given) if footer is None else footer.exit_code, ending(found))


def total(given: Sequence[Verdict]) -> str:
    """Such as "2 broken · 30 upheld", of the run's subjects."""
    counts = Counter(verdict_mark(verdict.exit_code).word for verdict in given)
    return " · ".join(f"{counts[word]} {word}" for word in ("broken", "not decided", "upheld") if counts[word])


def judged(verdict: Verdict) -> str:
    """A subject, with the contract and the claim that it was held to."""
    subject = verdict.subject
    return f"{subject.subject} as {subject.contract}, claim {subject.claim}" if subject.contract else subject.subject
