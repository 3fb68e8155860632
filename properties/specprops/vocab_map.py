"""Properties of `vocab_map`: every draft id becomes the target's id that the table tells, once."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged, leaves_nothing_behind, same_objects_again, writes_into_nothing
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array
from specverify.contracts.nodes import numbers
from specverify.contracts.vocab_map import DIRECTIONS, targets
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "faults L22, B180, B183"
LARGE = (32_000, 128_256)
"""Entries of a draft vocabulary, and of the target's: more than 16 bits hold, as published heads have."""

SMALL = ((1, 3), (0, 2, 3), (0, 1, 2), (2, 3, 5), (1, 2, 4, 7))
"""Targets in ascending order: none, some, and all of them at their own place; every id mapped twice would be another, or none."""


def _offsets(subject: Description) -> bool:
    return subject.conventions.get("table") == "offsets"


def _backwards(subject: Description) -> bool:
    return subject.conventions.get("direction") == DIRECTIONS[1]


def _case(subject: Description, table: Sequence[int], ids: Sequence[int], shape: tuple[int, ...] | None = None, dtype: str = "int64") -> Case:
    """A case with the table in the declared form; `ids` are those of the draft vocabulary, turned into the target's where these are mapped back."""
    given = [table[i] for i in ids] if _backwards(subject) else ids
    held = [x - i for i, x in enumerate(table)] if _offsets(subject) else table
    return {"ids": array(dtype, shape or (len(ids),), given), "table": array("int64", (len(table),), held)}


def right(subject: Description, case: Case) -> list[int]:
    """The ids that must come out, by the table."""
    table = targets(case, str(subject.conventions.get("table", "direct")))
    if not _backwards(subject):
        return [table[i] for i in numbers(case, "ids")]
    place = {target: i for i, target in enumerate(table)}
    return [place.get(target, int(str(subject.conventions.get("missing", -1)))) for target in numbers(case, "ids")]


def first(subject: Description) -> list[Case]:
    """The first id, the last one, all of them, in small tables; an id twice."""
    found = []
    for table in SMALL:
        n = len(table)
        found += [_case(subject, table, ids) for ids in ((0,), (n - 1,), range(n), (n - 1, 0, n - 1))]
    return found


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """Any ascending table into at most twelve ids; shapes and dtypes as declared."""
    table = sorted(draw(st.sets(st.integers(0, 11), min_size=1, max_size=6)))
    shape = draw(st.sampled_from(((1,), (3,), (2, 2), (2, 1, 2)) if subject.batch else ((1,), (3,), (4,))))
    ids = draw(st.lists(st.integers(0, len(table) - 1), min_size=math.prod(shape), max_size=math.prod(shape)))
    dtype = draw(st.sampled_from(("int64", "int32") if "int32" in subject.supports else ("int64",)))
    return _case(subject, table, ids, shape, dtype)


@prop("VOC-001", "The result holds one integer for each id, in the shape of the ids.", source=SOURCE, guards="well-formed", first=first, cases=cases, limit=30)
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("VOC-002", "Every id that comes out is one of the vocabulary that is mapped into.", source="faults L22, B183", guards="support", after=("VOC-001",), first=first,
      cases=cases, limit=30)  # fmt: skip
def test_in_range(trial: Trial, case: Case) -> None:
    table = targets(case, str(trial.subject.conventions.get("table", "direct")))
    known = set(range(len(table))) | {trial.subject.conventions.get("missing")} if _backwards(trial.subject) else set(table)
    foreign = sorted(set(trial.value(case).outcome.values) - known)
    if foreign:
        raise Violation(f"The id {foreign[0]} is none that the table maps to.", _table(trial, case), kind="range")


@prop("VOC-003", "Each id becomes the one that the table tells.", source=SOURCE, guards="position", after=("VOC-002",), first=first, cases=cases, limit=60)
def test_value(trial: Trial, case: Case) -> None:
    _judge(trial, case)


def _judge(trial: Trial, case: Case) -> None:
    if list(trial.value(case).outcome.values) != right(trial.subject, case):
        raise Violation("An id is mapped to another than the table tells.", _table(trial, case))


def _table(trial: Trial, case: Case) -> tuple[Row, ...]:
    found, wanted = trial.value(case).outcome.values, right(trial.subject, case)
    return tuple(Row(f"id {i}", str(a), str(b)) for i, a, b in zip(numbers(case, "ids"), found, wanted, strict=True) if a != b)[:6]


def large(subject: Description) -> list[Case]:
    """A draft vocabulary of 32,000 ids into one of 128,256: the first, the last, and those around 16 bits."""
    rng = random.Random("a large vocabulary")
    table = sorted([*rng.sample(range(LARGE[1] - 1), LARGE[0] - 1), LARGE[1] - 1])
    wide = next(i for i, x in enumerate(table) if x >= 2**16)
    return [_case(subject, table, ids) for ids in ((0, LARGE[0] - 1), (wide - 1, wide, wide + 1), rng.sample(range(LARGE[0]), 20))]


@prop(
    "VOC-004",
    "In a large vocabulary too, each id becomes the one that the table tells.",
    source="faults B228, L22",
    guards="position",
    after=("VOC-003",),
    first=large,
)
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    _judge(trial, case)


def none(subject: Description) -> list[Case]:
    """A request without drafts."""
    return [_case(subject, SMALL[0], ())]


@prop("VOC-005", "Without any id nothing comes out.", source="contracts, B", guards="well-formed", after=("VOC-003",), first=none)
def test_empty(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Raised):
        raise Violation(f"Without any id, the subject {reply}.", kind="refused", severity="advisory")
    trial.value(case)


def lacking(subject: Description) -> list[Case]:
    """Ids of the target that the draft vocabulary lacks: below its first, between two, above its last."""
    ids = ((0,), (2,), (3, 0, 1), (4,))
    return [{"ids": array("int64", (len(row),), row), "table": _case(subject, (1, 3), ())["table"]} for row in ids]


def _maps_what_is_missing(subject: Description) -> str | None:
    return None if _backwards(subject) and "missing" in subject.conventions else "only ids that the draft vocabulary has are mapped back, as declared"


@prop("VOC-006", "An id that the draft vocabulary lacks gets the declared number, and no other id.", source="faults L22, B183", guards="support", after=("VOC-003",),
      first=lacking, applies=_maps_what_is_missing)  # fmt: skip
def test_missing(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("VOC-007", "Another table in between changes nothing.", source="faults B179", guards="position", after=("VOC-003",), first=first)
def test_nothing_left_behind(trial: Trial, case: Case) -> None:
    table = targets(case, str(trial.subject.conventions.get("table", "direct")))
    other = tuple(x + 1 for x in table)
    leaves_nothing_behind(trial, case, _case(trial.subject, other, range(len(other))))


@prop("VOC-008", "A second call with the same objects gives the same: ids are not mapped where they stand.", source="contracts, F; faults L17", guards="position",
      after=("VOC-003",), first=first, applies=writes_into_nothing)  # fmt: skip
def test_same_objects_again(trial: Trial, case: Case) -> None:
    same_objects_again(trial, case)


@prop(
    "VOC-010",
    "The call leaves ids and table as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("VOC-001",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
