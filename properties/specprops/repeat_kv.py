"""Properties of `repeat_kv`: each head n times, behind each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "2305.13245, section 2.2; contracts, repeat_kv"


def _case(dtype: str, shape: tuple[int, ...], n: int) -> Case:
    return {"kv": array(dtype, shape, range(1, math.prod(shape) + 1)), "n": n}


def first(subject: Description) -> list[Case]:
    """One head; several, once and more often; several rows."""
    return [_case(subject.dtypes[0], shape, n) for shape, n in (((1, 1, 1, 1), 2), ((1, 2, 1, 1), 1), ((1, 2, 1, 1), 2), ((1, 3, 2, 2), 4), ((2, 2, 3, 2), 3))]


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """Small shapes, every entry another."""
    return _case(subject.dtypes[0], tuple(draw(st.integers(1, 3)) for _ in range(4)), draw(st.integers(1, 4)))


@prop("RKV-001", "The result has n heads for each of kv's.", source=SOURCE, guards="well-formed", first=first, cases=cases, limit=20)
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("RKV-002", "Head i of the result is head i // n of kv.", source=SOURCE, guards="position", after=("RKV-001",), first=first, cases=cases, limit=60)
def test_heads(trial: Trial, case: Case) -> None:
    given: Any = array_of(case, "kv").nested()
    found, n = trial.value(case).outcome.nested(), int(str(case["n"]))
    for kv, row in zip(given, found, strict=True):
        origins = [next((i for i, head in enumerate(kv) if head == seen), None) for seen in row]
        right = [i // n for i in range(len(row))]
        if origins != right:
            raise Violation("The heads are not repeated behind each other.", (Row("kv's head that each is", str(origins), str(right)),), kind="heads")


@prop("RKV-010", "The call leaves kv as it was.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("RKV-001",), first=first)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
