"""Ranges of a helper's arguments, as the plain data that `sv.ints` and its like make: {"kind": "ints", "low": 0, "high": 8}. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from specverify.contracts.arrays import FLOATS, Array, array, round_to

Range = Mapping[str, Any]
"""One argument's range: its kind (ints, floats, lists, tensors) and its limits."""


def contains(told: Range, value: object, axes: dict[str, int]) -> bool:
    """Whether a value of a case lies within the range; `axes` holds the lengths of named axes met so far and takes in new ones."""
    match told:
        case {"kind": "ints", "low": low, "high": high}:
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        case {"kind": "floats", "low": low, "high": high}:
            return isinstance(value, float) and low <= value <= high
        case {"kind": "lists", "items": items, "min_size": least, "max_size": most}:
            return isinstance(value, list) and least <= len(value) <= most and all(contains(items, item, axes) for item in value)
        case _:
            return isinstance(value, Array) and _fits(told["shape"], value.shape, axes) and _entries_lie_in(told["items"], value)


def smallest(told: Range, dtype: str = "float64") -> object:
    """The dullest value of the range: the one nearest to 0, the shortest list, named axes of length 1."""
    match told:
        case {"kind": "ints" | "floats" as kind, "low": low, "high": high}:
            nearest = min(max(low, 0), high)
            return nearest if kind == "ints" else float(nearest)
        case {"kind": "lists", "items": items, "min_size": least}:
            return [smallest(items, dtype) for _ in range(least)]
        case _:
            shape = tuple(axis if isinstance(axis, int) else 1 for axis in told["shape"])
            return array(entry_dtype(told["items"], dtype), shape, [smallest(told["items"])] * math.prod(shape))  # type: ignore[list-item]


def entry_dtype(items: Range, dtype: str) -> str:
    """Of an array's entries: whole numbers are int64, others have the dtype that the subject declares."""
    return "int64" if items["kind"] == "ints" else dtype


def named_axes(told: Range) -> Iterator[str]:
    """The names of axes in a range."""
    if told["kind"] == "lists":
        yield from named_axes(told["items"])
    yield from (axis for axis in told.get("shape", ()) if isinstance(axis, str))


def _fits(wanted: tuple[str | int, ...], shape: tuple[int, ...], axes: dict[str, int]) -> bool:
    if len(wanted) != len(shape):
        return False
    return all((axes.setdefault(axis, n) if isinstance(axis, str) else axis) == n for axis, n in zip(wanted, shape, strict=True))


def _entries_lie_in(items: Range, value: Array) -> bool:
    """Rounding to the dtype keeps the order, so that the entries lie between the rounded limits."""
    if items["kind"] == "ints":
        return value.dtype == "int64" and all(items["low"] <= x <= items["high"] for x in value.values)
    if value.dtype not in FLOATS:
        return False
    low, high = round_to(value.dtype, (items["low"], items["high"]))
    return all(low <= x <= high for x in value.values)
