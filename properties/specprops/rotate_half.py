"""Properties of `rotate_half`: pairs turned by a right angle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged
from specprops.rotations import ROTARY, pairings, quarter, turned
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

LARGEST = 8


def first(subject: Description) -> list[Case]:
    """One pair, two, three; more axes."""
    dtype = subject.dtypes[0]
    return [{"x": array(dtype, shape, range(1, count + 1))} for shape, count in (((1, 1, 1, 2), 2), ((1, 1, 1, 4), 4), ((1, 1, 2, 6), 12), ((2, 2, 2, 4), 32))]


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """(1, H, T, D) of whole numbers, which every dtype holds."""
    shape = (1, draw(st.integers(1, 2)), draw(st.integers(1, 3)), 2 * draw(st.integers(1, 4)))
    count = shape[1] * shape[2] * shape[3]
    return {"x": array(subject.dtypes[0], shape, draw(st.lists(st.integers(-LARGEST, LARGEST), min_size=count, max_size=count)))}


@prop("ROT-001", "The result has the shape of x.", source=ROTARY, guards="well-formed", first=first, cases=cases, limit=20)
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("ROT-002", "Each pair (a, b) becomes (-b, a), in all rows by one pairing.", source=ROTARY, guards="position", after=("ROT-001",), first=first, cases=cases, limit=60)  # fmt: skip
def test_pairs(trial: Trial, case: Case) -> None:
    found, given = [list(row) for row in trial.value(case).outcome.rows()], list(array_of(case, "x").rows())
    right = {pairing: [turned(row, pairing, quarter) for row in given] for pairing in pairings(trial.subject)}
    if found not in right.values():
        rows = tuple(
            Row(f"{tuple(row)}, {pairing}", str(tuple(seen)), str(tuple(wanted[0])))
            for pairing, wanted in right.items()
            for row, seen in [(given[0], found[0])]
        )
        raise Violation("The pairs are not turned by a right angle.", rows, kind="pairs")


@prop("ROT-010", "The call leaves x as it was.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("ROT-001",), first=first)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
