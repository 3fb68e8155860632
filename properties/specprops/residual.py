"""Properties of `residual`: norm((p - q)+), the law of a replacement (2211.17192, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import rows
from specprops.hygiene import inputs_unchanged, memory_of_its_own, twice_the_same
from specprops.positive_part import LOOSE, mass, right_row, tolerance
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.arrays import EPS
from specverify.law import show_probability
from specverify.stats import GRID
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SECTION = "2211.17192, section 2.3; theory S1"


class Answer(NamedTuple):
    """One row: the target's and the draft's, what was found, and the coarser dtype."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    found: tuple[float, ...]
    dtype: str

    @property
    def x(self) -> tuple[float, ...]:
        """P - q."""
        return tuple(a - b for a, b in zip(self.p, self.q, strict=True))


def _case(dtype: str, p: Sequence[Sequence[float]], q: Sequence[Sequence[float]]) -> Case:
    shape = (len(p[0]),) if len(p) == 1 else (len(p), len(p[0]))
    return {name: array(dtype, shape, [x for row in given for x in row]) for name, given in (("p", p), ("q", q))}


def first(subject: Description) -> list[Case]:
    """Point masses, partial and no overlap, the corpus's example; smallest first."""
    dtype = subject.dtypes[0]
    single = [_case(dtype, [(0.5, 0.5)], [(1, 0)]), _case(dtype, [(0, 1)], [(1, 0)]), _case(dtype, [(0.25, 0.5, 0.25)], [(0.5, 0.25, 0.25)]),
              _case(dtype, [(0, 0.5, 0.5)], [(1, 0, 0)])]  # fmt: skip
    return single + ([_case(dtype, [(0.5, 0.5), (0.25, 0.75)], [(1, 0), (0.75, 0.25)])] if subject.batch else [])


@st.composite
def pairs(draw: st.DrawFn, subject: Description) -> Case:
    """Related rows of target and draft, in every declared dtype and shape."""
    dtype, v, shape = draw(st.sampled_from(subject.dtypes)), draw(st.integers(2, 8)), draw(rows.shapes(subject))
    both = [draw(rows.pair(v, dtype)) for _ in range(shape[0] if shape else 1)]
    return {
        "p": array(dtype, (*shape, v), (x for p, _ in both for x in p)),
        "q": array(dtype, (*shape, v), (x for _, q in both for x in q)),
    }


def answers(trial: Trial, case: Case) -> Iterator[Answer]:
    """Row by row; rows that a caller needs with probability GRID at most are left out."""
    p, q, found = array_of(case, "p"), array_of(case, "q"), trial.value(case).outcome
    dtype = max((p.dtype, found.dtype), key=EPS.__getitem__)
    every = (Answer(a, b, c, dtype) for a, b, c in zip(p.rows(), q.rows(), found.rows(), strict=True))
    return (answer for answer in every if mass(answer.x) > GRID)


@prop("RES-001", "Rows that differ give finite numbers, in the shape of p.", source=SECTION, guards="well-formed", first=first, cases=pairs, limit=40)
def test_well_formed(trial: Trial, case: Case) -> None:
    for answer in answers(trial, case):
        if not all(map(math.isfinite, answer.found)):
            raise Violation("The result holds numbers that are not finite.", _table(answer), kind="not finite")


@prop("RES-002", "Each row is (p - q)+ over the sum of that.", source=SECTION, guards="position", after=("RES-001",), first=first, cases=pairs, limit=80)
def test_value(trial: Trial, case: Case) -> None:
    for answer in answers(trial, case):
        relative, absolute = tolerance(answer.x, answer.dtype, float(trial.subject.conventions.get("eps", 0.0)))
        absolute += (len(answer.p) + 4) * EPS[answer.dtype] / mass(answer.x)  # rows that are normalised once more move by their own rounding
        if any(abs(a - b) > relative * b + absolute for a, b in zip(answer.found, right_row(answer.x), strict=True)):
            raise Violation("A row is not (p - q)+ over the sum of that.", _table(answer))


@prop("RES-003", "A token of target probability zero gets exactly zero.", source="theory S12c", guards="support", after=("RES-001",), first=first,
      cases=pairs, limit=60)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    for answer in answers(trial, case):
        if any(a == 0 and b > 0 for a, b in zip(answer.p, answer.found, strict=True)):
            raise Violation("A token of target probability zero gets a probability.", _table(answer), kind="support")


@prop("RES-010", "The call leaves p and q as they were.", source="contracts, hygiene; faults B019", guards="hygiene", severity="advisory", after=("RES-001",),
      first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("RES-011", "Equal rows give a distribution or an exception.", source="theory S12d; faults B066, B075", guards="hygiene", severity="advisory",
      after=("RES-001",), first=lambda subject: [_case(subject.dtypes[0], [(0.5, 0.5)], [(0.5, 0.5)]), _case(subject.dtypes[0], [(1, 0)], [(1, 0)])])  # fmt: skip
def test_equal_rows(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Value) and not abs(math.fsum(reply.outcome.values) - 1) < LOOSE:
        shown = ", ".join(show_probability(x) for x in reply.outcome.values)
        raise Violation("Equal rows give no distribution.", (Row("residual", f"({shown})", "a distribution"),), kind="no distribution")


@prop("RES-012", "The result is memory of its own.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("RES-001",), first=first)
def test_memory_of_its_own(trial: Trial, case: Case) -> None:
    memory_of_its_own(trial, case)


@prop("RES-014", "The same rows give the same result twice.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("RES-001",),
      first=first)  # fmt: skip
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def _table(answer: Answer) -> tuple[Row, ...]:
    entries = zip(answer.p, answer.q, answer.found, right_row(answer.x), strict=True)
    dtype = answer.dtype
    return tuple(
        Row(f"p = {show_probability(p, dtype)}, q = {show_probability(q, dtype)}", show_probability(a, dtype, b), show_probability(b, dtype))
        for p, q, a, b in entries
    )
