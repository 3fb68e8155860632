"""Histories: operations on objects that keep a state, one after another, and what each of them gave.

A whole history travels as one case and is run in the worker: the objects never leave it, a round trip serves all operations, and a case that is a list of operations can be recorded, repeated and
shrunk like any other. An operation is [name, number of the object, …]; an object is made when its number is first used.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from specverify.contracts.base import Case, Malformed, kind_of, outside
from specverify.contracts.nodes import is_int
from specverify.law import Outcome

LARGEST_OBJECTS = 8
"""Objects of one history at most: sharing shows with two."""
OUT_OF_MEMORY = "can't allocate memory"
"""What torch says when it meets the limit of ours."""


class Objects:
    """What a subject makes, by number; every object comes from a call of its own."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, dict[int, Any]()

    def __getitem__(self, number: int) -> Any:
        if number not in self._made:
            self._made[number] = self._make()
        return self._made[number]


def attempt(function: Callable[..., list[Any]], *given: Any) -> list[Any]:
    """What an operation gave, or ["raised", type, first line of the message, file and line]; what ends a process passes, and want of memory."""
    try:
        return function(*given)
    except Exception as error:
        line = (str(error).splitlines() or [""])[0]
        if isinstance(error, MemoryError) or OUT_OF_MEMORY in line:
            raise
        frames = traceback.extract_tb(error.__traceback__)
        return ["raised", type(error).__name__, line, f"{frames[-1].filename}:{frames[-1].lineno}"]


def as_now(value: Any) -> Any:
    """A copy that no later operation reaches; of tensors that carry gradients, which torch copies only where they are leaves, the numbers."""
    if isinstance(value, (list, tuple)):
        return [as_now(one) for one in value]
    return deepcopy(value.detach() if hasattr(value, "detach") else value)


def check_operations(contract: str, case: Case, known: Mapping[str, Callable[[Sequence[object]], bool]]) -> None:
    """Refuse operations that the contract has not; `known` tells of each name whether what stands behind the object's number is right."""
    operations = case["operations"]
    if not isinstance(operations, list) or not all(isinstance(one, list) and len(one) > 1 for one in operations):
        raise outside(contract, "operations must be a list of lists [name, number of the object, …]")
    for name, number, *rest in operations:
        if name not in known or not is_int(number) or number not in range(LARGEST_OBJECTS) or not known[name](rest):
            raise outside(contract, f"{[name, number, *rest]} is no operation; there are {', '.join(known)}")


def nothing(rest: Sequence[object]) -> bool:
    """Of an operation without arguments."""
    return not rest


def number(rest: Sequence[object]) -> bool:
    """Of an operation with one whole number."""
    return len(rest) == 1 and is_int(rest[0])


def count(rest: Sequence[object]) -> bool:
    """Of an operation with a number of at least 1."""
    return number(rest) and isinstance(rest[0], int) and rest[0] > 0


def step(told: object, read: Callable[[list[Any]], Outcome]) -> Outcome:
    """One operation's part of an outcome: ("done",), ("raised", type, message, place), or what `read` makes of what was read."""
    if not isinstance(told, list) or not told:
        raise Malformed(f"an operation gave {kind_of(told)}")
    return read(told[1:]) if told[0] == "read" else tuple(map(str, told))
