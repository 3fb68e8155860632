"""Whether two values are the same but for rounding: results of a helper, within what `specverify/contracts/helper.py` states; rows of probabilities."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from specverify.contracts import Array, Case
from specverify.contracts.arrays import EPS, FLOATS, SMALLEST_NORMAL

ROUNDINGS = 64
"""Steps of the last place that a right result may be off, relative to the largest magnitude: a sum over a few dozen entries stays below."""


def rounding(case: Case, *results: object) -> float:
    """How far floats of two results on a case may be apart: ROUNDINGS eps of the coarsest floating dtype, times the largest finite magnitude."""
    told = [*case.values(), *results]
    dtype = max(("float64", *(array.dtype for array in _arrays(told) if array.dtype in FLOATS)), key=EPS.__getitem__)
    magnitudes = [abs(x) for x in _floats(told) if abs(x) <= sys.float_info.max]
    return ROUNDINGS * EPS[dtype] * max(SMALLEST_NORMAL[dtype], *magnitudes, 0.0)


def same_row(row: Sequence[float], line: Sequence[float], dtype: str) -> bool:
    """Whether a row of a dtype is a line of probabilities but for being normalised once more: a naive sum of V terms, in single precision at best."""
    slack = 2 * (len(row) + 1) * max(EPS[dtype], EPS["float32"])
    return all(abs(a - b / math.fsum(line)) <= slack for a, b in zip(row, line, strict=True))


def difference(found: Any, right: Any, slack: float = 0.0, place: str = "") -> str | None:
    """Where two results differ first, in words, or none. Arrays equal the nested lists of their entries."""
    if isinstance(found, Array) and isinstance(right, Array) and found.shape != right.shape:
        return f"it has the shape {found.shape} instead of {right.shape}{_at(place)}"
    found, right = _nested(found), _nested(right)
    if isinstance(found, (list, tuple)) and isinstance(right, (list, tuple)):
        if len(found) != len(right):
            return f"it has {len(found)} entries instead of {len(right)}{_at(place)}"
        pairs = enumerate(zip(found, right, strict=True))
        return next((told for i, (a, b) in pairs if (told := difference(a, b, slack, f"{place}[{i}]")) is not None), None)
    same = _near(found, right, slack) if _is_number(found) and _is_number(right) else type(found) is type(right) and found == right
    return None if same else f"it is {found!r} instead of {right!r}{_at(place)}"


def _near(a: Any, b: Any, slack: float) -> bool:
    """Equal, both NaN, or finite floats within the slack; whole numbers and bools must be equal."""
    if a == b or (a != a and b != b):  # noqa: PLR0124  NaN
        return True
    finite = max(abs(a), abs(b)) <= sys.float_info.max
    return (isinstance(a, float) or isinstance(b, float)) and finite and abs(a - b) <= slack


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _nested(value: object) -> object:
    return value.nested() if isinstance(value, Array) else value


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _arrays(value: object) -> Iterator[Array]:
    if isinstance(value, Array):
        yield value
    for item in value if isinstance(value, (list, tuple)) else ():
        yield from _arrays(item)


def _floats(value: object) -> Iterator[float]:
    """Every floating-point number of nested lists and arrays."""
    if isinstance(value, float):
        yield value
    entries: Sequence[object] = ()
    if isinstance(value, Array) and value.dtype in FLOATS:
        entries = value.values
    elif isinstance(value, (list, tuple)):
        entries = value
    for item in entries:
        yield from _floats(item)
