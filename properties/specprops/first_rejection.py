"""Properties of `first_rejection`: the length of the leading run of accepted draft tokens."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import rows
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.subjects.subject import Description

SOURCE = "2211.17192, algorithm 1"


def _case(*lines: Sequence[bool]) -> Case:
    shape = (len(lines[0]),) if len(lines) == 1 else (len(lines), len(lines[0]))
    return {"accepted": array("bool", shape, [x for line in lines for x in line])}


def first(subject: Description) -> list[Case]:
    """Every pattern of up to three decisions, fewest first."""
    single = [_case(line) for gamma in (1, 2, 3) for line in itertools.product((True, False), repeat=gamma)]
    return single + ([_case((True, False), (False, True)), _case((True, True), (False, False), (True, False))] if subject.batch else [])


@st.composite
def decisions(draw: st.DrawFn, subject: Description) -> Case:
    """Longer runs, and batches."""
    gamma, shape = draw(st.integers(1, 12)), draw(rows.shapes(subject))
    lines = [draw(st.lists(st.booleans(), min_size=gamma, max_size=gamma)) for _ in range(shape[0] if shape else 1)]
    return {"accepted": array("bool", (*shape, gamma), [x for line in lines for x in line])}


@prop("FRJ-001", "The result is an integer for each row.", source=SOURCE, guards="well-formed", first=first, cases=decisions, limit=40)
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("FRJ-002", "It is the length of the leading run of True, gamma if all are.", source=SOURCE, guards="position", after=("FRJ-001",),
      first=first, cases=decisions, limit=60)  # fmt: skip
def test_value(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    for line, n in zip(array_of(case, "accepted").rows(), found.values, strict=True):
        right = sum(1 for _ in itertools.takewhile(bool, line))
        if n != right:
            shown = ", ".join(str(bool(x)) for x in line)
            raise Violation("The accepted length is wrong.", (Row(f"({shown})", str(n), str(right)),))


@prop(
    "FRJ-010",
    "The call leaves the decisions as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("FRJ-001",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop(
    "FRJ-014",
    "The same decisions give the same result twice.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("FRJ-001",),
    first=first,
)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)
