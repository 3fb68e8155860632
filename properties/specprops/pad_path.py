"""Properties of `pad_path`: the path, then pads, exactly as long as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.subjects.replies import Raised, Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

PADDING = "2311.08252, algorithm 2; theory A3, A4"


def _case(path: list[int], length: int, pad: int = -1) -> Case:
    return {"path": path, "length": length, "pad": pad}


def first(_: Description) -> list[Case]:
    """Empty, full, one short, real id 0 beside the pad; smallest first."""
    return [_case([], 1), _case([0], 1), _case([0], 2), _case([1], 3, -2), _case([0, 2], 4), _case([], 0)]


@st.composite
def paths(draw: st.DrawFn, _: Description) -> Case:
    """A path no longer than the length; node ids from 0, the pad below them."""
    path = draw(st.lists(st.integers(0, 40), max_size=8))
    return _case(path, len(path) + draw(st.integers(0, 6)), draw(st.integers(-5, -1)))


@st.composite
def overlong(draw: st.DrawFn, _: Description) -> Case:
    """A path longer than the length."""
    path = draw(st.lists(st.integers(0, 40), min_size=1, max_size=8))
    return _case(path, draw(st.integers(0, len(path) - 1)))


@prop("PAD-001", "The result is a flat list of ints, exactly as long as asked for.", source=PADDING, guards="well-formed",
      first=first, cases=paths, limit=60)  # fmt: skip
def test_length(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    if len(found) != case["length"]:
        raise Violation(f"The result is {len(found)} long instead of {case['length']}.", _table(found, _right(case)), kind="length")


@prop("PAD-002", "The result is the path, then pads.", source=PADDING, guards="position", after=("PAD-001",),
      first=first, cases=paths, limit=60)  # fmt: skip
def test_value(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    if found != _right(case):
        raise Violation("The result is not the path followed by pads.", _table(found, _right(case)))


def declares_overlong(subject: Description) -> str | None:
    """Why the declared convention is not judged."""
    return None if "overlong" in subject.conventions else "the subject declares no convention for a path that is too long"


@prop("PAD-003", "A path that is too long is treated as the subject declares: refused, cut or kept.", source="contracts, pad_path", guards="position",
      after=("PAD-001",), first=lambda _: [_case([0, 1], 1)], cases=overlong, limit=30, applies=declares_overlong)  # fmt: skip
def test_overlong_as_declared(trial: Trial, case: Case) -> None:
    declared, found = trial.subject.conventions["overlong"], _treatment(trial, case)
    if found != declared:
        raise Violation(
            f"It declares {declared!r} for a path that is too long; this one is {found}.", (Row("treatment", found, str(declared)),), kind="overlong"
        )


@prop("PAD-010", "The call leaves the path as it was.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("PAD-001",),
      first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("PAD-013", "The same arguments give the same result twice.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("PAD-001",),
      first=first)  # fmt: skip
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


@prop("PAD-011", "A path that is too long is refused or cut, not handed on longer than asked for.", source="contracts, pad_path", guards="hygiene",
      severity="advisory", after=("PAD-001",), first=lambda _: [_case([0, 1], 1)],
      applies=lambda subject: None if "overlong" not in subject.conventions else "the subject declares what it does")  # fmt: skip
def test_overlong(trial: Trial, case: Case) -> None:
    if _treatment(trial, case) == "keep":
        raise Violation(
            "A path longer than the length comes back as it is: whoever relies on the length gets more.",
            (Row("length", "2", "1 or an exception"),),
            kind="overlong",
        )


@prop("PAD-012", "A path that already holds the pad value is padded like any other.", source=PADDING, guards="hygiene", severity="advisory",
      after=("PAD-001",), first=lambda _: [_case([-1], 2), _case([0, -1, 1], 4)])  # fmt: skip
def test_path_holding_the_pad(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Value) and reply.outcome != _right(case):
        raise Violation("A path that holds the pad value comes back changed.", _table(reply.outcome, _right(case)), kind="pad in path")


def _right(case: Case) -> tuple[int, ...]:
    path, length, pad = case["path"], case["length"], case["pad"]
    assert isinstance(path, list)
    assert isinstance(length, int)
    assert isinstance(pad, int)
    return tuple(path + [pad] * (length - len(path)))


def _treatment(trial: Trial, case: Case) -> str:
    reply, right = trial.call(case), _right(case)
    if isinstance(reply, Raised):
        return "refuse"
    if isinstance(reply, Value):
        cut = right[: int(str(case["length"]))]
        return "keep" if reply.outcome == right else "cut" if reply.outcome == cut else "something else"
    return "malformed"


def _table(found: Sequence[int], right: tuple[int, ...]) -> tuple[Row, ...]:
    return (Row("result", str(list(found)), str(list(right))),)
