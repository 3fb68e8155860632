"""Draws at the bounds of a uniform generator's range: probability 2^-24 in float32, never met by sampling, so put in by hand."""

from __future__ import annotations

from collections.abc import Callable

from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.law import Outcome
from specverify.subjects.replies import Value

WORDS = {"low": "0", "top": "the greatest value below 1"}
PLACES = 12
"""Uniform numbers of a call whose place is tried; the small cases draw fewer."""
KEYS = 3
"""Seeds of the other draws that are tried at each place: whether a place matters may depend on them."""


def at_the_bounds(trial: Trial, case: Case, wrong: Callable[[Outcome], str | None]) -> None:
    """One uniform number at a time is put at a bound, all others are drawn; no call may fail or be `wrong`."""
    for word in WORDS:
        for key in range(KEYS):
            _each_place(trial, case, wrong, word, key)


def _each_place(trial: Trial, case: Case, wrong: Callable[[Outcome], str | None], word: str, key: int) -> None:
    """The first call tells how many uniform numbers there are; a call that draws fewer than `place` proves nothing."""
    for place in range(PLACES):
        reply = trial.call(case, stage=f"{word}/{place}/{key}", boundary=(word, place))
        if reply.uniforms <= place:
            return
        told = wrong(reply.outcome) if isinstance(reply, Value) else f"the subject {reply}"
        if told is not None:
            message = f"With uniform number {place} of the call at {WORDS[word]}, {told}."
            raise Violation(message, (Row(f"{word} at {place}", told, "a token of the support"),), kind="boundary")
