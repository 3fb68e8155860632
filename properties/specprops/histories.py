"""Histories of objects with a state as cases: drawn so that every operation is lawful, however many others are left out; and what was wrong first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.law import Outcome

Operation = list[Any]
Move = tuple[int, int, int]
"""Numbers that an operation is made of, whatever the state: which object, which operation, and how much. A history is a list of them, so that it shrinks by leaving moves out."""
SHORTEST, LONGEST = 3, 10
"""Moves of a history: from a round to two rounds of two objects, few enough to be read."""
LARGEST = 63
"""Of the numbers of a move."""


def moves(objects: int, longest: int = LONGEST) -> st.SearchStrategy[list[Move]]:
    """Lists of moves of up to so many objects."""
    number = st.integers(0, LARGEST)
    return st.lists(st.tuples(st.integers(0, objects - 1), number, number), min_size=SHORTEST, max_size=longest)


def operations(case: Case) -> list[Operation]:
    """Those of a case."""
    found: Any = case["operations"]
    return list(found)


def finished(of: Iterable[Operation]) -> list[Operation]:
    """The history, and every object of it read at the end."""
    given = list(of)
    return [*given, *(["read", which] for which in sorted({one[1] for one in given}))]


def shown(of: Sequence[Operation]) -> str:
    """A history in words."""
    objects = {one[1] for one in of}
    return ", ".join(" ".join([*([f"#{one[1]}"] if len(objects) > 1 else []), one[0], *map(str, one[2:])]) for one in of)


def judged(case: Case, outcome: Outcome, wrong: Callable[[int, Outcome], Sequence[Row]], reading: Sequence[str] = ("read",)) -> None:
    """Refuse the first operation that raises, or that `wrong` has rows of a table to show of: a function of the place of one of the `reading` operations and of what it gave."""
    given = operations(case)
    for place, (operation, told) in enumerate(zip(given, outcome, strict=True)):
        if told[0] == "raised":
            raise Violation(f"{shown(given[: place + 1])}: this last operation raises {sentence(told)}.", kind=f"raises {told[1]}")
        rows = tuple(wrong(place, told)) if operation[0] in reading else ()
        if rows:
            raise Violation(f"After {shown(given[:place])}, what is read is not what must be there.", rows, kind=f"after {_last(given[:place])}")


def _last(of: Sequence[Operation]) -> str:
    """The last operation that changed something: the class of a fault."""
    return next((str(one[0]) for one in reversed(of) if one[0] != "read"), "nothing")


def sentence(told: Outcome) -> str:
    """An exception as it came."""
    _, kind, message, place = told
    return f"{kind}: {message} ({place})" if message else f"{kind} ({place})"
