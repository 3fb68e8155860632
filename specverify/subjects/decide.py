"""The decisions of a subject with a counter-based generator, checked by the numbers that its own `peek` tells. Runs in the subject's interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specverify.contracts import Case, array_of, expand
from specverify.contracts.arrays import EPS
from specverify.law import Outcome
from specverify.subjects import adapt
from specverify.subjects.trial import as_outcome, guarded

if TYPE_CHECKING:
    from specverify.exact.decisions import Decision
    from specverify.subjects.trial import Bound


def decisions(bound: Bound, case: Case) -> dict[str, object]:
    """What the seeds show on one case of a step with its draft: {"findings", "notes": sentences, "unread": why nothing is said or "", "calls", "open": mass between brackets}."""
    from specverify.exact.pointwise import pointwise

    case = {name: expand(value) for name, value in case.items()}
    p = array_of(case, "p")
    fresh = adapt.copier(bound.settle().arguments(case))

    def call(seed: int) -> Outcome:
        reply, _ = guarded(bound, case, lambda: bound.declaration.function(*fresh(), seed=seed))
        return as_outcome(reply, {})

    seen = pointwise(call, bound.declaration.later["peek"], _first(case), positions=2 * p.shape[0], eps=EPS[p.dtype])  # type: ignore[arg-type]
    left = seen.law.open_mass if seen.law is not None else 1.0
    return {"findings": seen.findings, "notes": seen.notes, "unread": seen.unread, "calls": seen.calls, "open": left}


def _first(case: Case) -> Decision:
    from specverify.exact.decisions import chain, deterministic

    p, draft = list(array_of(case, "p").rows()), [int(token) for token in array_of(case, "draft").values]
    return chain(p, list(array_of(case, "q").rows()), draft) if "q" in case else deterministic(p, draft)
