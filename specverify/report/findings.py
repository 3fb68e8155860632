"""Findings as the report tells them: gravest first, by severity; those with one root cause together; as cards while there is room, in a line each after that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.audit.verdict import KNOWN
from specverify.report.formulas import FORMULAS
from specverify.report.marks import STATUSES, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specverify.audit.records import Finding, Known
    from specverify.audit.verdict import Verdict

SEVERITIES = (
    ("finding", "Findings", Mark("✗", "FAILED", "bad"), "Each breaks the claim."),
    (
        KNOWN,
        "Known findings",
        Mark("✗", "known", "open"),
        "Each breaks the claim and is accepted by the project’s configuration for now; they do not decide the verdict.",
    ),
    (
        "grid",
        "Grid effects",
        STATUSES["grid"],
        "Only draws at the bound of the random generator’s range lead here; their probability is at most 2^-20. They do not decide the verdict unless asked to.",
    ),
    ("advisory", "Advisories", STATUSES["advisory"], "Manners and conventions; never part of the verdict unless asked to."),
)


@dataclass(frozen=True)
class Card:
    """Findings on one subject with one root cause, the most telling first; the properties that were not judged because of them; why they are accepted, if they are."""

    findings: tuple[Finding, ...]
    blocked: tuple[str, ...]
    known: Known | None = None

    @property
    def finding(self) -> Finding:
        """The one that is told in full."""
        return self.findings[0]

    @property
    def others(self) -> tuple[Finding, ...]:
        """Those that the same fault explains."""
        return self.findings[1:]

    @property
    def formula(self) -> str:
        """The law that is broken, or nothing."""
        return FORMULAS.get(self.finding.property, "")


@dataclass(frozen=True)
class Chapter:
    """The findings of one severity: the first as cards, those without room as lines."""

    severity: str
    title: str
    mark: Mark
    lead: str
    cards: list[Card]
    brief: list[Finding]

    @property
    def counts(self) -> str:
        """Such as "1 root cause, 3 findings"; nothing where each finding stands for itself."""
        findings = sum(len(card.findings) for card in self.cards) + len(self.brief)
        causes = findings - sum(len(card.others) for card in self.cards)
        return f"{causes} root cause{'s' * (causes > 1)}, {findings} findings." if causes < findings else ""


def chapters(verdicts: list[Verdict], room: int) -> Iterator[Chapter]:
    """Those that are not empty, gravest first, with room for so many findings in cards."""
    for severity, title, mark, lead in SEVERITIES:
        cards: list[Card] = []
        brief: list[Finding] = []
        for card in (card for verdict in verdicts for card in _cards(verdict, severity)):
            shown = len(card.findings) <= room
            room -= len(card.findings) if shown else room
            cards += [card] if shown else []
            brief += [] if shown else card.findings
        if cards or brief:
            yield Chapter(severity, title, mark, lead, cards, brief)


def _cards(verdict: Verdict, severity: str) -> Iterator[Card]:
    causes: dict[object, list[Finding]] = {}
    for finding in verdict.having(severity):
        causes.setdefault(_cause(finding), []).append(finding)
    for findings in causes.values():
        ordered = tuple(sorted(findings, key=lambda one: not one.parts))
        yield Card(ordered, _blocked(verdict, ordered), verdict.known.get(ordered[0].id))


def _cause(finding: Finding) -> object:
    """The known faults that explain a finding; one that none explains is a cause of its own."""
    return finding.likely[0].faults if finding.likely and finding.likely[0].fits else finding.id


def _blocked(verdict: Verdict, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    broken = {finding.property for finding in findings}
    return tuple(row.property for row in verdict.properties if row.status == "blocked" and row.reason in broken)
