"""The smallest case that shows a fault, found by `python -m benchmarks.smallest` and kept as data beside this module."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specverify.law import show_probability

TARGET = Path(__file__).with_name("smallest.json")


@functools.cache
def smallest() -> Mapping[str, Mapping[str, Any]]:
    """By a fault's name: argument to nested lists of numbers, those of p, q and probs float64, of draft int64."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(TARGET.read_text())
    return found


def shown(case: Mapping[str, Any]) -> list[str]:
    """A line for each argument, small fractions where its numbers are such."""
    return [f"{name} = {_nested(value)}" for name, value in case.items()]


def _nested(value: Any) -> str:
    return f"({', '.join(map(_nested, value))})" if isinstance(value, list) else show_probability(value)
