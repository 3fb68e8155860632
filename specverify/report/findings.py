"""The cards of a report: findings, grid effects, advisories; whole while there is room, in a line each after that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.audit.verdict import KNOWN
from specverify.report.marks import STATUSES, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specverify.audit.records import Finding
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
    """A finding, and the properties that were not judged because of it."""

    finding: Finding
    blocked: tuple[str, ...]


@dataclass(frozen=True)
class Chapter:
    """The findings of one severity: the first as cards, those without room as lines."""

    severity: str
    title: str
    mark: Mark
    lead: str
    cards: list[Card]
    brief: list[Finding]


def chapters(verdicts: list[Verdict], room: int) -> Iterator[Chapter]:
    """Those that are not empty, gravest first, with room for so many cards."""
    for severity, title, mark, lead in SEVERITIES:
        cards = [Card(finding, _blocked(verdict, finding)) for verdict in verdicts for finding in verdict.having(severity)]
        if cards:
            yield Chapter(severity, title, mark, lead, cards[:room], [card.finding for card in cards[room:]])
        room -= min(room, len(cards))


def _blocked(verdict: Verdict, finding: Finding) -> tuple[str, ...]:
    return tuple(row.property for row in verdict.properties if row.status == "blocked" and row.reason == finding.property)
