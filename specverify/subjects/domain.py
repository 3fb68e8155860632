"""Ranges as data: what a subject says of the arguments that it takes. The tool builds strategies from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """One argument's range; `kind` is ints, floats, lists or tensors, `limits` its keyword arguments."""

    kind: str
    limits: tuple[tuple[str, object], ...]


def _range(kind: str, **limits: object) -> Range:
    return Range(kind, tuple(sorted(limits.items())))


def ints(low: int, high: int) -> Range:
    """Integers from low to high, both included."""
    return _range("ints", low=low, high=high)


def floats(low: float, high: float) -> Range:
    """Finite floats from low to high, both included."""
    return _range("floats", low=low, high=high)


def lists(items: Range, *, min_size: int = 0, max_size: int = 8) -> Range:
    """Lists of values of one range."""
    return _range("lists", items=items, min_size=min_size, max_size=max_size)


def tensors(shape: tuple[str | int, ...], items: Range) -> Range:
    """Arrays whose entries lie in one range; axes are numbers or names, equal names are equal lengths."""
    return _range("tensors", shape=tuple(shape), items=items)
