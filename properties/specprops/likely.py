"""Naming the fault behind a finding: what the subject does on the finding's case, and on one that tells faults apart, beside the laws of known faults."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from specprops.violation import NoAnswer, Violation
from specverify.audit import records
from specverify.contracts import Case, array
from specverify.errors import SpecverifyError
from specverify.faults import FAULTS
from specverify.faults.laws import alternatives, right_law, rows_of
from specverify.faults.naming import Named, Seen, ranked
from specverify.law import Outcome
from specverify.observe import Exactly, Question

if TYPE_CHECKING:
    from specprops.trial import Trial

CLEAR = math.log(1e3)
"""How far ahead the best class must be for the first draws to suffice: a thousand times as likely as the next."""
P = tuple(x / 64 for x in (8, 20, 36, 36, 1, 27, 4, 32, 28))
Q = tuple(x / 16 for x in (8, 4, 4, 2, 12, 2))
"""Rows over three tokens, as many as can be explored, that differ from position to position; residuals of two unequal tokens, and a token that is hardly ever
accepted: no two known faults have equal laws on them."""


def likely(trial: Trial, case: Case) -> tuple[records.Likely, ...]:
    """The classes of known faults that explain the subject best, best first; nothing where no law is known, or none is off."""
    if rows_of(trial.subject.contract, case) is None:
        return ()
    try:
        found, drawn = _ranked(trial, case, trial.budgets[0])
        if drawn and not _clear(found):
            found, _ = _ranked(trial, case, trial.budgets[1])
    except (Violation, NoAnswer, SpecverifyError):
        return ()
    return tuple(_record(one, drawn) for one in found)


def telling(trial: Trial) -> Case:
    """A case of the subject's contract that tells faults apart."""
    dtype = next((name for name in trial.subject.dtypes if name in ("float32", "float64")), trial.subject.dtypes[0])
    p, q = array(dtype, (3, 3), P), array(dtype, (2, 3), Q)
    return {"verify_chain": {"p": p, "q": q}, "verify_deterministic_draft": {"p": p, "draft": array("int64", (2,), (1, 2))}}.get(
        trial.subject.contract, {"probs": array(dtype, (3,), (0.125, 0.25, 0.625))}
    )


def _clear(found: tuple[Named, ...]) -> bool:
    return len(found) > 1 and found[0].fits and found[1].behind >= CLEAR


def _ranked(trial: Trial, case: Case, draws: int) -> tuple[tuple[Named, ...], bool]:
    """The classes, and whether laws were drawn; where one could be explored, that one decides."""
    both = [_seen(trial, one, draws) for one in (case, telling(trial))]
    seen = [one for one in both if not one.draws] or both
    return explained(seen), bool(seen[0].draws)


def explained(seen: list[Seen]) -> tuple[Named, ...]:
    """By accepted length and tokens; by tokens alone where that fits nothing, as under another rule."""
    found = ranked(seen)
    return found if found and found[0].fits else ranked([one.through(_emitted) for one in seen]) or found


def _seen(trial: Trial, case: Case, draws: int) -> Seen:
    contract = trial.subject.contract
    rows = rows_of(contract, case)
    assert rows is not None
    right = right_law(contract, *rows)
    seen = trial.beheld(case, Question(right, _tokens if contract == "sample" else _length_and_tokens), draws)
    return Seen(seen.found, right, alternatives(contract, case), 0 if isinstance(seen, Exactly) else seen.drawn)


def _length_and_tokens(outcome: Outcome) -> Outcome:
    return outcome[1:]


def _tokens(outcome: Outcome) -> Outcome:
    return outcome if isinstance(outcome, tuple) else (outcome,)


def _emitted(outcome: Outcome) -> Outcome:
    """The tokens of (n, tokens); anything else as it is."""
    return outcome[1] if isinstance(outcome[-1], tuple) else outcome


def _record(one: Named, drawn: bool) -> records.Likely:  # noqa: FBT001
    fault = FAULTS[one.faults[0]]
    return records.Likely(one.faults, fault.sentence, fault.corpus, fits=one.fits, left=one.left, behind=one.behind, drawn=drawn)
