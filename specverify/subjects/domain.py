"""Ranges as data: what a helper says of the arguments that it takes. The tool builds strategies from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specverify.errors import SpecverifyError

LARGEST = {"float64": 2.0**1023 * (2 - 2.0**-52), "float32": 2.0**127 * (2 - 2.0**-23), "float16": 65504.0, "bfloat16": 2.0**127 * (2 - 2.0**-7)}
"""The greatest finite number of each dtype."""
INT64 = 2**63 - 1


@dataclass(frozen=True)
class Range:
    """One argument's range; `data` holds its kind (ints, floats, lists, tensors) and its limits, as `describe()` sends them."""

    data: Mapping[str, Any]


def ints(low: int, high: int) -> Range:
    """Integers from low to high, both included."""
    if not all(isinstance(x, int) and not isinstance(x, bool) and abs(x) <= INT64 for x in (low, high)) or low > high:
        raise _bad(f"sv.ints({low!r}, {high!r}) is no range of integers", "Give two ints of 64 bits, the lower one first.")
    return Range({"kind": "ints", "low": low, "high": high})


def floats(low: float, high: float) -> Range:
    """Finite floats from low to high, both included."""
    if not all(isinstance(x, (int, float)) and math.isfinite(x) for x in (low, high)) or low > high:
        raise _bad(f"sv.floats({low!r}, {high!r}) is no range of finite floats", "Give two finite numbers, the lower one first.")
    return Range({"kind": "floats", "low": float(low), "high": float(high)})


def lists(items: Range, *, min_size: int = 0, max_size: int = 8) -> Range:
    """Lists of values of one range."""
    if not isinstance(items, Range) or not 0 <= min_size <= max_size:
        raise _bad("sv.lists takes a range of its items and two sizes", "Write sv.lists(sv.ints(0, 9), min_size=1, max_size=4).")
    return Range({"kind": "lists", "items": items.data, "min_size": min_size, "max_size": max_size})


def tensors(shape: Sequence[str | int], items: Range) -> Range:
    """Arrays whose entries lie in one range: int64 for ints, the declared dtypes for floats; axes are numbers or names, equal names are equal lengths."""
    axes = tuple(shape) if not isinstance(shape, str) else ("",)
    if not all((isinstance(axis, str) and axis) or (type(axis) is int and axis >= 0) for axis in axes):
        raise _bad(f"sv.tensors got the shape {shape!r}", 'Write a tuple of names and lengths, such as ("n", 3).')
    if not isinstance(items, Range) or items.data["kind"] not in ("ints", "floats"):
        raise _bad("The entries of sv.tensors must be ints or floats", 'Write sv.tensors(("n",), sv.floats(0, 1)).')
    return Range({"kind": "tensors", "shape": axes, "items": items.data})


def as_data(domain: Mapping[str, Range], dtypes: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
    """A declared domain as data, or SpecverifyError where it holds no ranges, or limits that a declared dtype cannot hold."""
    for name, told in domain.items():
        if not isinstance(told, Range):
            raise _bad(f"The domain of {name} is {told!r}, no range", "Use sv.ints, sv.floats, sv.lists or sv.tensors.")
        _check_dtypes(name, told.data, dtypes)
    return {name: told.data for name, told in domain.items()}


def _check_dtypes(name: str, told: Mapping[str, Any], dtypes: tuple[str, ...]) -> None:
    if told["kind"] == "lists":
        _check_dtypes(name, told["items"], dtypes)
    if told["kind"] == "tensors" and told["items"]["kind"] == "floats":
        for dtype in dtypes:
            if max(abs(told["items"]["low"]), abs(told["items"]["high"])) > LARGEST[dtype]:
                raise _bad(f"{dtype} cannot hold the limits of {name}", "Narrow its range, or declare other dtypes.")


def _bad(message: str, hint: str) -> SpecverifyError:
    return SpecverifyError(message + ".", hint=hint)
