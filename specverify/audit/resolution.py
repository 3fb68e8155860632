"""What draws resolve: the total variation that the screens of a law would have found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specverify.audit.records import CaseRecord, PropertyRecord, Record, Statistics
from specverify.stats import detectable_by

SCREEN = 1 / 2_000
"""A screen flags a case at E >= 1,000, and half of its wealth is on the laws of known faults."""
WIDEST = 63
"""Degrees of freedom where an older record tells none: those of 64 outcomes, the most that a sampled law has."""


@dataclass(frozen=True)
class Resolved:
    """The fewest draws of a case, and the total variation that is found on every case with probability 99 %; none if the draws are too few for any."""

    draws: int
    distance: float | None

    @property
    def rounded(self) -> str:
        """The total variation in two digits, upward, so that no more is promised than holds; "" for none."""
        if self.distance is None:
            return ""
        step = 10.0 ** (math.floor(math.log10(self.distance)) - 1)
        return f"{math.ceil(self.distance / step) * step:.2g}"

    @property
    def shown(self) -> str:
        """Such as "finds a total variation of 0.14 with probability 99 %"."""
        if self.distance is None:
            return f"{self.draws:,} draws, too few to find a total variation for sure"
        return f"finds a total variation of {self.rounded} with probability 99 %"


def resolved(found: Sequence[Record]) -> dict[tuple[str, str], Resolved]:
    """By subject and property, of the laws that were sampled and held; a certificate says more than a screen, so that its property is left out."""
    laws = {(row.subject, row.property) for row in found if isinstance(row, PropertyRecord) and _sampled(row)}
    cases: dict[tuple[str, str], list[Resolved]] = {key: [] for key in laws}
    for record in found:
        if isinstance(record, CaseRecord) and record.result == "ok" and record.statistics is not None and (record.subject, record.property) in laws:
            cases[record.subject, record.property].append(_of(record.statistics))
    return {key: one for key, looks in cases.items() if (one := coarsest(looks)) is not None}


def coarsest(given: Iterable[Resolved]) -> Resolved | None:
    """What holds for all of them; nothing for none."""
    looks = list(given)
    if not looks:
        return None
    distances = [one.distance for one in looks]
    return Resolved(min(one.draws for one in looks), None if None in distances else max(one for one in distances if one is not None))


def _sampled(row: PropertyRecord) -> bool:
    return row.law and row.status == "ok" and row.evidence == "statistical" and row.certificate is None


def _of(one: Statistics) -> Resolved:
    """Of one case: all outcomes count, since the screen does not pool."""
    dof = WIDEST if one.dof is None else one.dof + max((one.pooled or 0) - 1, 0)
    return Resolved(one.draws, detectable_by(dof if one.cells is None else max(one.cells - 1, 1), one.draws, alpha=SCREEN))
