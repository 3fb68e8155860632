"""Reading what speaks of a draft tree's nodes: parents, tokens, paths, as a case carries them and as a subject gives them."""

from __future__ import annotations

from collections.abc import Sequence

from specverify.contracts.arrays import Array
from specverify.contracts.base import Malformed, kind_of

LARGEST_ID = 2**31 - 1
"""Engines hold ids as int32 or int64."""


def is_int(value: object) -> bool:
    """Whether a plain value is a whole number; a truth value is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def are_ids(value: object) -> bool:
    """Whether a plain value is a list of token ids."""
    return isinstance(value, list) and all(is_int(item) and 0 <= item <= LARGEST_ID for item in value)


def listed(value: object) -> object:
    """Arrays as nested lists, those in lists too."""
    if isinstance(value, Array):
        return value.nested()
    return [listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def ints(what: str, value: object) -> tuple[int, ...]:
    """A plain result as a flat tuple of ints, or Malformed; an empty array may have any dtype."""
    found = listed(value)
    if not isinstance(found, list) or not all(map(is_int, found)):
        raise Malformed(f"{what} came as {kind_of(value)}, not as a flat list of ints")
    return tuple(found)


def parts(what: Sequence[str], value: object, least: int) -> list[object]:
    """A result of several parts as a list of at least `least` of them, or Malformed."""
    if not isinstance(value, (list, tuple)) or not least <= len(value) <= len(what):
        raise Malformed(f"the result is no tuple ({', '.join(what[:least])}) but {kind_of(value)}")
    return list(value)
