"""Draws at the bounds of a uniform generator's range: too rare for sampling (2^-24 in float32), so they are put in by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.law import Outcome, show_probability
from specverify.observe import Exactly
from specverify.stats import GRID
from specverify.subjects.replies import Value

BOUNDS = {"0": (0.0, GRID), "the greatest value below 1": (1.0, 1.0 - GRID)}
"""Each bound of the range, and the number that lies a mass of GRID away from it: what still goes wrong there is no grid effect."""
PLACES = 12
"""Uniform numbers of a call whose place is tried; the small cases draw fewer."""
KEYS = 3
"""Seeds of the other draws that are tried at each place: whether a place matters may depend on them."""
COARSE = ("float16", "bfloat16")
"""Uniform numbers of these take 1 for 0 with a mass of 2^-12 and 2^-9 (torch rounds its 24 bits): their bounds are no rare event."""

Wrong = Callable[[Outcome], str | None]


def at_the_bounds(trial: Trial, case: Case, wrong: Wrong, tokens: Callable[[Outcome], Outcome] = lambda outcome: outcome) -> None:
    """No call may fail or be `wrong`, whatever its uniform numbers are.

    Where the law is explored it knows; `tokens` takes what one call gives out of its outcomes. Else, and where draws count as ideal numbers in it,
    one uniform number at a time is put at a bound, and all others are drawn. What goes wrong at a bound alone is a grid effect, as the property
    declares; what goes wrong a mass of GRID away too, or with numbers of half precision, is a finding.
    """
    known = trial.impossible(case, lambda outcome: wrong(tokens(outcome)))
    if known is not None:
        _explored(*known)
        if not known[2].law.idealised:
            return
    for bound, (value, inner) in BOUNDS.items():
        for key in range(KEYS):
            for place in range(PLACES):
                told, dtype = _told(trial, case, wrong, (value, place), key)
                if dtype is None:
                    break
                if told is not None:
                    deeper, _ = _told(trial, case, wrong, (inner, place), key)
                    raise _violation(place, bound, told, rare=deeper is None and dtype not in COARSE)


def _explored(told: str, mass: float, seen: Exactly) -> None:
    if mass > 0:
        table = (Row(told, show_probability(mass), "0"),)
        message = f"With probability {show_power(mass)}, {told}."
        raise Violation(message, table, kind="boundary", observed=seen, severity=None if mass <= GRID else "finding")


def show_power(mass: float) -> str:
    """A probability, as a power of two where it is one."""
    fraction, exponent = math.frexp(mass)
    return f"2^{exponent - 1}" if fraction == 0.5 else f"{mass:.3g}"  # noqa: PLR2004


def _told(trial: Trial, case: Case, wrong: Wrong, put: tuple[float, int], key: int) -> tuple[str | None, str | None]:
    """What is wrong with a call, if anything, and the dtype of the number that was put; none if the call draws fewer."""
    reply = trial.call(case, stage=f"put/{put[1]}/{key}", put=put)
    if not reply.put:
        return None, None
    return wrong(reply.outcome) if isinstance(reply, Value) else f"the subject {reply}", reply.put


def _violation(place: int, bound: str, told: str, *, rare: bool) -> Violation:
    reach = "at" if rare else "at and near"
    table = (Row(f"number {place} {reach} {bound}", told, "a token of the support"),)
    return Violation(f"With uniform number {place} of the call {reach} {bound}, {told}.", table, kind="boundary", severity=None if rare else "finding")
