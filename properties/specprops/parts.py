"""Where a step goes wrong, as an explanation of a finding: the parts of the standard rule, each held against its own law."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from specverify.audit import records
from specverify.contracts import Case, array_of
from specverify.law import GRID, Outcome
from specverify.observe import Exactly, Observed
from specverify.stats import Stratum, strata

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SURE = math.log(1e5)
"""Of a part that is called wrong: some ten parts of a case are looked at, so that a right one is called so once in ten thousand findings."""


def parts(subject: Description, case: Case, seen: Observed | Exactly | None) -> tuple[records.Part, ...]:
    """Each part of the step that was reached; nothing where another rule may be followed, or what was seen is no law of one call."""
    if seen is None or subject.contract != "verify_chain" or subject.rule != "standard" or "draft" in case:
        return ()
    outcomes = _of_one_call(seen.outcomes)
    rows = [list(array_of(case, name).rows()) for name in ("p", "q")]
    return tuple(_part(one, seen) for one in strata(outcomes, *rows))


def _of_one_call(outcomes: Mapping[Outcome, float]) -> dict[Outcome, float]:
    """(n, tokens) of what one call emitted, over drafts; without what failed."""
    found: dict[Outcome, float] = {}
    for outcome, weight in outcomes.items():
        match outcome:
            case (tuple(), int(n), tuple(tokens)):
                found[n, tokens] = found.get((n, tokens), 0.0) + weight
    return found


def _part(one: Stratum, seen: Observed | Exactly) -> records.Part:
    if isinstance(seen, Observed):
        return records.Part(one.part, one.position, round(one.weight), one.log_e, one.distance, wrong=one.log_e >= SURE)
    return records.Part(one.part, one.position, 0, None, one.distance, wrong=one.weight * one.distance > max(GRID, seen.law.tolerance))
