"""Right values of `rotate_half` and `rotary`, pair by pair, and which pairing a subject has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from specverify.contracts.rotations import PAIRINGS

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

ROTARY = "2104.09864, section 3.4.2"
Line = Sequence[float]
Turn = Callable[[float, float, int], tuple[float, float]]
"""From a pair and its number to the pair turned."""


def pairings(subject: Description) -> Sequence[str]:
    """Those that the subject may have."""
    declared = subject.conventions.get("pairing")
    return PAIRINGS if declared is None else (str(declared),)


def places(pairing: str, width: int) -> list[tuple[int, int]]:
    """The places of each pair in a row."""
    half = width // 2
    return [(i, i + half) if pairing == "split" else (2 * i, 2 * i + 1) for i in range(half)]


def turned(row: Line, pairing: str, turn: Turn) -> list[float]:
    """The row with each pair turned."""
    found = [0.0] * len(row)
    for i, (a, b) in enumerate(places(pairing, len(row))):
        found[a], found[b] = turn(row[a], row[b], i)
    return found


def quarter(a: float, b: float, _: int) -> tuple[float, float]:
    """By a right angle."""
    return -b, a
