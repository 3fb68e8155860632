"""Properties of `ratio`: a division of probabilities with a guard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.arrays import EPS, SMALLEST_NORMAL
from specverify.law import show_probability
from specverify.stats import GRID
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.subjects.subject import Description

SOURCE = "contracts, ratio"
STEPS = 4
"""Roundings of a guarded division: the guard's sum, the quotient, and two to spare for a reciprocal."""


def _case(dtype: str, num: Sequence[float], den: Sequence[float]) -> Case:
    return {"num": array(dtype, (len(num),), num), "den": array(dtype, (len(den),), den)}


def first(subject: Description) -> list[Case]:
    """Ratios below, at and above 1, and a numerator of zero; several at once where a batch is declared."""
    return [
        _case(subject.dtypes[0], num, den)
        for num, den in (((0.25,), (0.5,)), ((0.5,), (0.25,)), ((0.0,), (0.5,)), ((0.5, 1.0), (0.5, 0.25)))
        if len(num) == 1 or subject.batch
    ]


@st.composite
def fractions(draw: st.DrawFn, subject: Description) -> Case:
    """Probabilities over probabilities that are not zero."""
    size, dtype = draw(st.integers(1, 4)) if subject.batch else 1, draw(st.sampled_from(subject.dtypes))
    num = draw(st.lists(st.integers(0, 64), min_size=size, max_size=size))
    den = draw(st.lists(st.integers(1, 64), min_size=size, max_size=size))
    return _case(dtype, [x / 64 for x in num], [x / 64 for x in den])


@prop("RAT-001", "Probabilities over probabilities above zero give finite numbers, in the shape of num.", source=SOURCE, guards="well-formed",
      first=first, cases=fractions, limit=40)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    if not all(map(math.isfinite, found.values)):
        raise Violation("The result holds numbers that are not finite.", _table(case, found.values), kind="not finite")


@prop("RAT-002", "Each entry is num / den within the guard.", source=SOURCE, guards="position", after=("RAT-001",), first=first, cases=fractions, limit=80)
def test_value(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    guard = max(float(trial.subject.conventions.get("eps", 0.0)), GRID)
    slack = STEPS * EPS[max((array_of(case, "num").dtype, found.dtype), key=EPS.__getitem__)]
    for num, den, a in zip(array_of(case, "num").values, array_of(case, "den").values, found.values, strict=True):
        low, high = num / (den + guard) * (1 - slack), num / den * (1 + slack)
        if not low - SMALLEST_NORMAL["float16"] * slack <= a <= high + SMALLEST_NORMAL["float16"] * slack:
            raise Violation("An entry is not num / den.", _table(case, found.values))


def zero_denominators(subject: Description) -> list[Case]:
    """0 / 0 and 1 / 0: no lawful caller sends them, which is what the guard is for."""
    return [_case(subject.dtypes[0], (0.0,), (0.0,)), _case(subject.dtypes[0], (0.5,), (0.0,))]


def _zero_denominator(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Value) and not all(map(math.isfinite, reply.outcome.values)):
        raise Violation("A denominator of zero gives a number that is not finite.", _table(case, reply.outcome.values), kind="zero")


@prop("RAT-003", "With a declared guard a denominator of zero gives a finite number.", source=SOURCE, guards="position", after=("RAT-001",),
      first=zero_denominators, applies=lambda s: None if "eps" in s.conventions else "the subject declares no guard")  # fmt: skip
def test_declared_guard(trial: Trial, case: Case) -> None:
    _zero_denominator(trial, case)


@prop("RAT-011", "A denominator of zero gives a finite number or an exception.", source=SOURCE, guards="hygiene", severity="advisory", after=("RAT-001",),
      first=zero_denominators, applies=lambda s: "the subject declares a guard" if "eps" in s.conventions else None)  # fmt: skip
def test_zero_denominator(trial: Trial, case: Case) -> None:
    _zero_denominator(trial, case)


@prop(
    "RAT-010",
    "The call leaves its arguments as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("RAT-001",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop(
    "RAT-014",
    "The same arguments give the same result twice.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("RAT-001",),
    first=first,
)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def _table(case: Case, found: Sequence[float]) -> tuple[Row, ...]:
    entries = zip(array_of(case, "num").values, array_of(case, "den").values, found, strict=True)
    dtype = array_of(case, "num").dtype
    return tuple(
        Row(
            f"{show_probability(n, dtype)} / {show_probability(d, dtype)}",
            show_probability(a, dtype, n / d if d else None),
            show_probability(n / d, dtype) if d else "finite",
        )
        for n, d, a in entries
    )
