"""A case as a record carries it, shown and whole, and back."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

from specverify.audit.records import Argument
from specverify.contracts import Array, Case, Family
from specverify.contracts.arrays import FLOATS
from specverify.law import show_probability

SHOWN_ENTRIES = 64
"""Entries of an array or a list that are shown as text; the data beside it is whole."""


def arguments(case: Case) -> tuple[Argument, ...]:
    """A case as it is recorded."""
    return tuple(Argument(name, show_value(value), _data(value)) for name, value in case.items())


def case_of(given: Sequence[Argument]) -> dict[str, object]:
    """The case that `arguments` recorded."""
    return {argument.name: _value(argument.data) for argument in given}


def show_value(value: object) -> str:
    """An argument in one line; small fractions where the entries are such."""
    match value:
        case Array(dtype, shape, _):
            if len(value.values) > SHOWN_ENTRIES:
                return f"{dtype} of shape {shape}"
            return _show_nested(value.nested(), dtype)
        case Family(name, seed, dtype, shape):
            return f"{name} rows (seed {seed}), {dtype} of shape {shape}"
        case list() if len(value) > SHOWN_ENTRIES:
            return f"{len(value):,} entries"
        case _:
            return repr(value)


def _show_nested(value: object, dtype: str) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(_show_nested(item, dtype) for item in value) + ")"
    return show_probability(float(value), dtype) if dtype in FLOATS else str(value)  # type: ignore[arg-type]


def _data(value: object) -> Any:
    match value:
        case Array(dtype, shape, data):
            return {"dtype": dtype, "shape": shape, "data": base64.b64encode(data).decode()}
        case Family(name, seed, dtype, shape):
            return {"family": name, "seed": seed, "dtype": dtype, "shape": shape}
        case float() if not math.isfinite(value):
            return {"float": repr(value)}
        case list():
            return [_data(item) for item in value]
        case dict():
            return {"entries": [[_data(key), _data(item)] for key, item in value.items()]}
        case _:
            return value


def _value(data: Any) -> object:
    """What `_data` wrote."""
    match data:
        case {"family": str(name), "seed": int(seed), "dtype": str(dtype), "shape": shape}:
            return Family(name, seed, dtype, tuple(shape))
        case {"dtype": str(dtype), "shape": shape, "data": str(text)}:
            return Array(dtype, tuple(shape), base64.b64decode(text))
        case {"float": str(text)}:
            return float(text)
        case {"entries": entries}:
            return {_value(key): _value(item) for key, item in entries}
        case list():
            return [_value(item) for item in data]
        case _:
            return data
