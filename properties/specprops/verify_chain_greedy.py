"""Properties of `verify_chain_greedy`: the target's own greedy tokens come out (theory S10)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import logit_rows
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "theory S10; faults B037"


def _case(dtype: str, lines: Sequence[Sequence[float]], draft: Sequence[int]) -> Case:
    return {"logits": array(dtype, (len(lines), len(lines[0])), itertools.chain(*lines)), "draft": array("int64", (len(draft),), draft)}


def first(subject: Description) -> list[Case]:
    """Rows with argmaxes that differ from position to position, and every draft over two or three tokens."""
    dtype = subject.dtypes[0]
    one, two = [(0, 1, 0.5), (1, 0, 0.5)], [(0, 1, 0.5), (0.5, 0, 1), (1, 0, 0.5)]
    return [_case(dtype, one, (x,)) for x in range(3)] + [_case(dtype, two, draft) for draft in itertools.product(range(3), repeat=2)]


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """Drafts that follow the argmax for a while, ties included."""
    dtype, v, gamma = draw(st.sampled_from(subject.dtypes)), draw(st.integers(2, 8)), draw(st.integers(1, 5))
    lines = [draw(logit_rows.row(v)) for _ in range(gamma + 1)]
    agree = draw(st.integers(0, gamma))
    draft = [line.index(max(line)) if i < agree else draw(st.integers(0, v - 1)) for i, line in enumerate(lines[:gamma])]
    return _case(dtype, lines, draft)


@prop("GRD-001", "Every call gives 1 to gamma + 1 token ids, and no exception.", source=SOURCE, guards="well-formed", first=first, cases=cases, limit=60)
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("GRD-002", "Every emitted token is an argmax of its row, and all but the last are the draft's.", source=SOURCE, guards="greedy", after=("GRD-001",),
      first=first, cases=cases, limit=120)  # fmt: skip
def test_argmax(trial: Trial, case: Case) -> None:
    found, draft = trial.value(case).outcome, array_of(case, "draft").values
    lines = list(array_of(case, "logits").rows())
    wrong = [i for i, t in enumerate(found) if lines[i][t] != max(lines[i])]
    if wrong or found[:-1] != draft[: len(found) - 1]:
        raise Violation("A token is not the target's argmax, or not the draft's where it was accepted.", _table(found, lines, draft))


@prop("GRD-003", "A draft token that is the only argmax of its row is accepted.", source=SOURCE, guards="efficiency", severity="advisory", after=("GRD-002",),
      first=first, cases=cases, limit=60)  # fmt: skip
def test_longest_prefix(trial: Trial, case: Case) -> None:
    found, draft = trial.value(case).outcome, array_of(case, "draft").values
    lines, n = list(array_of(case, "logits").rows()), len(found) - 1
    if n < len(draft) and lines[n].count(max(lines[n])) == 1 and lines[n].index(max(lines[n])) == draft[n]:
        raise Violation(
            "A draft token that agrees with the target is not accepted: right, but slower than it could be.", _table(found, lines, draft), kind="shorter"
        )


@prop(
    "GRD-010",
    "The call leaves its arguments as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("GRD-001",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("GRD-014", "The same arguments give the same tokens twice.", source="faults, L11", guards="hygiene", severity="advisory", after=("GRD-001",), first=first)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def _table(found: Sequence[int], lines: Sequence[Sequence[float]], draft: Sequence[float]) -> tuple[Row, ...]:
    right = []
    for i, line in enumerate(lines):
        right.append(line.index(max(line)))
        if i < len(draft) and line[int(draft[i])] != max(line):
            break
    return (Row("tokens", str(list(found)), str(right)),)
