"""Properties of `accept_probability`: min(1, p/q) (2211.17192, section 2.3)."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.subjects.subject import Description

SECTION = "2211.17192, section 2.3; theory S1"
STEPS = 4


def _case(dtype: str, p: Sequence[float], q: Sequence[float]) -> Case:
    return {"p_x": array(dtype, (len(p),), p), "q_x": array(dtype, (len(q),), q)}


def first(subject: Description) -> list[Case]:
    """Below, at and above q, and a target probability of zero; several at once where a batch is declared."""
    return [
        _case(subject.dtypes[0], p, q)
        for p, q in (((0.25,), (0.5,)), ((0.5,), (0.25,)), ((0.0,), (0.5,)), ((0.5,), (0.5,)), ((0.25, 1.0), (0.75, 0.5)))
        if len(p) == 1 or subject.batch
    ]


@st.composite
def pairs(draw: st.DrawFn, subject: Description) -> Case:
    """Target probabilities from 0, draft probabilities above 0."""
    size, dtype = draw(st.integers(1, 4)) if subject.batch else 1, draw(st.sampled_from(subject.dtypes))
    p = draw(st.lists(st.integers(0, 64), min_size=size, max_size=size))
    q = draw(st.lists(st.integers(1, 64), min_size=size, max_size=size))
    return _case(dtype, [x / 64 for x in p], [x / 64 for x in q])


@prop("ACC-001", "Each entry is a number from 0 to 1, in the shape of p_x.", source=SECTION, guards="well-formed", first=first, cases=pairs, limit=40)
def test_well_formed(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    if not all(0 <= a <= 1 for a in found.values):
        raise Violation("An entry is no probability.", _table(case, found.values), kind="no probability")


@prop("ACC-002", "Each entry is min(1, p_x / q_x).", source=SECTION, guards="position", after=("ACC-001",), first=first, cases=pairs, limit=80)
def test_value(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    slack = STEPS * EPS[max((array_of(case, "p_x").dtype, found.dtype), key=EPS.__getitem__)]
    for p, q, a in zip(array_of(case, "p_x").values, array_of(case, "q_x").values, found.values, strict=True):
        right = min(1.0, p / q)
        if abs(a - right) > slack * right + SMALLEST_NORMAL["float16"] * slack + GRID:
            raise Violation("An entry is not min(1, p_x / q_x).", _table(case, found.values))


@prop(
    "ACC-003", "A target probability of zero is never accepted.", source="theory S12c", guards="support", after=("ACC-001",), first=first, cases=pairs, limit=40
)
def test_support(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    if any(p == 0 and a > 0 for p, a in zip(array_of(case, "p_x").values, found.values, strict=True)):
        raise Violation("A target probability of zero may be accepted.", _table(case, found.values), kind="support")


@prop(
    "ACC-010",
    "The call leaves its arguments as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("ACC-001",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop(
    "ACC-014",
    "The same arguments give the same result twice.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("ACC-001",),
    first=first,
)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def _table(case: Case, found: Sequence[float]) -> tuple[Row, ...]:
    dtype = array_of(case, "p_x").dtype
    entries = zip(array_of(case, "p_x").values, array_of(case, "q_x").values, found, strict=True)
    return tuple(
        Row(
            f"p = {show_probability(p, dtype)}, q = {show_probability(q, dtype)}",
            show_probability(a, dtype, min(1, p / q)),
            show_probability(min(1, p / q), dtype),
        )
        for p, q, a in entries
    )
