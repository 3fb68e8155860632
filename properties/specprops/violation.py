"""A property that does not hold on a case, with what to show of it."""

from __future__ import annotations

from dataclasses import dataclass

from specverify.observe import Exactly, Observed, Question


@dataclass(frozen=True)
class Row:
    """One line of a finding's table."""

    outcome: str
    found: str
    right: str


class Violation(AssertionError):
    """Raised by a property's body.

    Args:
        message: one sentence, about this case.
        table: found against right.
        kind: class of the fault; part of the finding's id, so that a better counterexample keeps the id.
        question: where the evidence is statistical, what a confirmation asks; none where one answer is enough.
        observed: the observation behind it.
        severity: where it differs from the property's own.
    """

    def __init__(
        self,
        message: str,
        table: tuple[Row, ...] = (),
        *,
        kind: str = "value",
        question: Question | None = None,
        observed: Observed | Exactly | None = None,
        severity: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.table, self.kind = message, table, kind
        self.question, self.observed, self.severity = question, observed, severity


class NoAnswer(Exception):
    """The subject gave no answer in time, or the one who should judge it failed: the property stays undecided."""


class NotJudged(Exception):
    """What comes back cannot be judged: the property does not apply to this subject; its text is the reason."""
