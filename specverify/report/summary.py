"""The closing lines of a user's own pytest run, from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specverify.audit.health import health
from specverify.audit.records import Finding, PropertyRecord
from specverify.report.marks import STATUSES

if TYPE_CHECKING:
    from specverify.audit.records import Record


def summary(found: list[Record]) -> list[str]:
    """One line per subject, then advisories, grid effects, what was not decided, and health notes."""
    rows = [record for record in found if isinstance(record, PropertyRecord)]
    lines = []
    for subject in dict.fromkeys(row.subject for row in rows):
        mine = [row for row in rows if row.subject == subject]
        lines.append(f"{subject:<24} {mine[0].contract:<16} {counts_text(mine)}")
    lines += [
        f"{finding.severity} {finding.property} [{finding.subject}]  {finding.message}"
        for finding in found
        if isinstance(finding, Finding) and finding.severity != "finding"
    ]
    lines += [f"{row.status} {row.property} [{row.subject}]  {row.reason}" for row in rows if row.status in ("inconclusive", "lost", "unconfirmed")]
    for subject in dict.fromkeys(row.subject for row in rows):
        lines += [f"health [{subject}]  {note}" for note in health(row for row in rows if row.subject == subject)]
    return lines


def counts_text(rows: list[PropertyRecord]) -> str:
    """Such as "5 ok · 1 FAILED · 2 blocked": statuses in a fixed order, those that occur."""
    counts = {status: sum(row.status == status for row in rows) for status in STATUSES}
    return " · ".join(f"{count} {STATUSES[status].word}" for status, count in counts.items() if count)
