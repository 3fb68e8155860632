"""Properties of `positive_part`: x+ / sum x+, the residual's last step (2211.17192, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import rows
from specprops.hygiene import inputs_unchanged, memory_of_its_own, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.arrays import EPS, SMALLEST_NORMAL, round_to
from specverify.law import show_probability
from specverify.stats import GRID
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SECTION = "2211.17192, section 2.3"
LOOSE = 0.01
"""Of an advisory: whether a row is a distribution at all."""
Rows = list[tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]


def _case(dtype: str, shape: Sequence[int], values: Sequence[float]) -> Case:
    return {"x": array(dtype, shape, values)}


def first(subject: Description) -> list[Case]:
    """Small differences p - q, smallest first."""
    dtype = subject.dtypes[0]
    cases = [
        _case(dtype, (2,), (0.5, -0.5)),
        _case(dtype, (2,), (0.25, 0.25)),
        _case(dtype, (3,), (0.25, -0.5, 0.25)),
        _case(dtype, (3,), (-0.5, 0.375, 0.125)),
    ]
    wider = [_case(dtype, (2, 2), (0.5, -0.5, -0.25, 0.25)), _case(dtype, (2, 3), (0.25, 0.25, -0.5, -0.75, 0.5, 0.25))]
    return cases + (wider if subject.batch else [])


@st.composite
def differences(draw: st.DrawFn, subject: Description) -> Case:
    """P - q for related rows, every row with a positive entry; now and then over a large vocabulary."""
    if draw(st.integers(0, 11)) == 11 and rows.wide(subject):  # noqa: PLR2004  one case in twelve
        return {"x": draw(rows.large(subject, "difference", draw(rows.shapes(subject))))}
    dtype, v, shape = draw(st.sampled_from(subject.dtypes)), draw(st.integers(2, 8)), draw(rows.shapes(subject))
    lines = [draw(_difference(v, dtype)) for _ in range(shape[0] if shape else 1)]
    return _case(dtype, (*shape, v), [x for line in lines for x in line])


@st.composite
def _difference(draw: st.DrawFn, v: int, dtype: str) -> tuple[float, ...]:
    p, q = draw(rows.pair(v, dtype))
    x = round_to(dtype, (a - b for a, b in zip(p, q, strict=True)))
    return x if max(x) > 0 else p


def mass(x: Sequence[float]) -> float:
    """Sum of the positive part: the probability of the rejection that needs the row."""
    return math.fsum(max(a, 0.0) for a in x)


def right_row(x: Sequence[float]) -> tuple[float, ...]:
    """x+ / sum x+ in double precision."""
    total = mass(x)
    return tuple(max(a, 0.0) / total for a in x)


def tolerance(x: Sequence[float], dtype: str, eps: float = 0.0) -> tuple[float, float]:
    """Relative and absolute error that a correct implementation may show.

    A plain sum of V non-negative terms has relative error at most (V - 1) eps / 2 (Higham, Accuracy and Stability, section 4.2), the division
    eps / 2 more, and a result in a wider sum's dtype is rounded once again: (V + 4) eps covers them. Absolutely: what is below the smallest
    normal number may be flushed, and, as an error counts by the probability that the caller needs the row, the mass of x+, a guard in the denominator may move the answer by GRID, or the declared eps, over the mass of x+.
    """
    return (len(x) + 4) * EPS[dtype], (SMALLEST_NORMAL[dtype] + max(GRID, eps)) / mass(x)


def answers(trial: Trial, case: Case) -> Iterator[tuple[tuple[float, ...], tuple[float, ...], str]]:
    """(x, found) row by row, with the dtype of the coarser of the two; rows that a caller needs with probability GRID at most are left out."""
    x, found = array_of(case, "x"), trial.value(case).outcome
    dtype = max((x.dtype, found.dtype), key=EPS.__getitem__)
    return ((a, b, dtype) for a, b in zip(x.rows(), found.rows(), strict=True) if mass(a) > GRID)


@prop("POS-001", "A finite x with a positive entry gives finite numbers, in the shape of x.", source=SECTION, guards="well-formed",
      first=first, cases=differences, limit=40)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    for x, found, _ in answers(trial, case):
        if not all(map(math.isfinite, found)):
            raise Violation("The result holds numbers that are not finite.", _table(x, found, "float64"), kind="not finite")


@prop("POS-002", "Each row is its positive part over the sum of that.", source=SECTION, guards="position", after=("POS-001",),
      first=first, cases=differences, limit=80)  # fmt: skip
def test_value(trial: Trial, case: Case) -> None:
    for x, found, dtype in answers(trial, case):
        relative, absolute = tolerance(x, dtype, float(trial.subject.conventions.get("eps", 0.0)))
        right = right_row(x)
        if any(abs(a - b) > relative * b + absolute for a, b in zip(found, right, strict=True)):
            raise Violation("A row is not its positive part over the sum of that.", _table(x, found, dtype))


@prop("POS-003", "An entry of x that is not positive gets exactly zero: its token must never be emitted.", source="theory S12c", guards="support",
      after=("POS-001",), first=first, cases=differences, limit=60)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    for x, found, dtype in answers(trial, case):
        if any(a <= 0 and b > 0 for a, b in zip(x, found, strict=True)):
            raise Violation("A token without positive part gets a probability.", _table(x, found, dtype), kind="support")


@prop("POS-010", "The call leaves x as it was.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("POS-001",),
      first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


def without_positive_entry(subject: Description) -> list[Case]:
    """Two equal rows leave nothing; a caller reaches it with probability zero, through rounding."""
    dtype = subject.dtypes[0]
    return [_case(dtype, (2,), (0.0, 0.0)), _case(dtype, (2,), (-0.5, -0.25)), _case(dtype, (2,), (math.nan, 0.5))]


@prop("POS-011", "x without a positive entry, or with NaN, gives a distribution or an exception.", source="theory S12d; faults B066, B075",
      guards="hygiene", severity="advisory", after=("POS-001",), first=without_positive_entry)  # fmt: skip
def test_without_positive_entry(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Value) and not abs(math.fsum(reply.outcome.values) - 1) < LOOSE:
        x = array_of(case, "x")
        raise Violation("Such a row gives no distribution.", _table(x.values, reply.outcome.values, "float64", right=False), kind="no distribution")


@prop("POS-012", "The result is memory of its own.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("POS-001",), first=first)
def test_memory_of_its_own(trial: Trial, case: Case) -> None:
    memory_of_its_own(trial, case)


@prop("POS-013", "The result has the dtype of x.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("POS-001",),
      first=lambda subject: [_case(dtype, (2,), (0.5, -0.5)) for dtype in subject.dtypes])  # fmt: skip
def test_dtype_kept(trial: Trial, case: Case) -> None:
    given, found = array_of(case, "x").dtype, trial.value(case).outcome.dtype
    if trial.subject.arrays != "list" and given != found:
        raise Violation(f"x of {given} gives {found}.", (Row("dtype", found, given),), kind="dtype")


@prop("POS-014", "The same x gives the same result twice.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("POS-001",),
      first=first)  # fmt: skip
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def three_axes(subject: Description) -> list[Case]:
    """Two batches of two rows."""
    return [_case(subject.dtypes[0], (2, 2, 2), (0.5, -0.5, -0.25, 0.25, 0.25, 0.25, -0.5, 0.5))]


@prop("POS-015", "x with three axes is taken row by row, or refused.", source="contracts, positive_part", guards="hygiene", severity="advisory",
      after=("POS-001",), first=three_axes, applies=lambda subject: None if subject.batch else "the subject takes one row at a time")  # fmt: skip
def test_three_axes(trial: Trial, case: Case) -> None:
    reply, x = trial.call(case), array_of(case, "x")
    if isinstance(reply, Value):
        for row, found in zip(x.rows(), reply.outcome.rows(), strict=True):
            if any(not abs(a - b) < LOOSE for a, b in zip(found, right_row(row), strict=True)):
                raise Violation("A row of a three-dimensional x is mistaken.", _table(row, found, x.dtype), kind="three axes")


def _table(x: Sequence[float], found: Sequence[float], dtype: str, *, right: bool = True) -> tuple[Row, ...]:
    """Entry by entry, those that differ most first where there are many."""
    expected = right_row(x) if right else tuple(math.nan for _ in x)
    order = sorted(range(len(x)), key=lambda i: -abs(found[i] - expected[i]))[:8] if len(x) > 8 else range(len(x))  # noqa: PLR2004
    return tuple(
        Row(
            f"x = {show_probability(x[i], dtype)}",
            show_probability(found[i], dtype, expected[i]),
            show_probability(expected[i], dtype) if right else "a distribution",
        )
        for i in order
    )
