"""Acceptance and accepted length of verify steps beside those of the standard rule: information about speed, never about correctness."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specverify.audit.records import Speed
    from specverify.audit.verdict import Verdict


@dataclass(frozen=True)
class Pace:
    """What one subject accepted of its drafts on the tested cases."""

    subject: str
    speed: Speed

    @property
    def acceptance(self) -> tuple[float, float]:
        """Share of judged draft tokens that are accepted: found, and by the standard rule."""
        return _share(self.speed.accepted, self.speed.judged), _share(self.speed.standard_accepted, self.speed.standard_judged)

    @property
    def length(self) -> tuple[float, float]:
        """Mean accepted length of a step: found, and by the standard rule."""
        return _share(self.speed.accepted, self.speed.steps), _share(self.speed.standard_accepted, self.speed.steps)


def paces(verdicts: Sequence[Verdict]) -> Iterator[Pace]:
    """Of the subjects whose steps were seen to judge a draft token."""
    for verdict in verdicts:
        seen = [row.speed for row in verdict.properties if row.speed is not None and row.speed.judged]
        if seen:
            yield Pace(verdict.subject.subject, functools.reduce(operator.add, seen))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
