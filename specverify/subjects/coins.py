"""Coins in the subject's world: uniform numbers of ours that a call takes as an argument. Runs in the subject's interpreter."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from specverify.contracts import Case, Contract, array
from specverify.contracts.coins import dtype_of
from specverify.subjects import adapt
from specverify.subjects.draws import BELOW_ONE

BITS = {"float64": 53, "float32": 24}
"""Of a uniform number, as torch draws it."""
BEHIND = 16
"""Numbers behind the coins, in the same memory, where they are poisoned."""


def drawn(contract: Contract, case: Case, rng: random.Random) -> list[float]:
    """As many as a case takes, on the grid of their dtype; those of a request with a seed are its seed's."""
    assert contract.coins is not None
    bits = BITS[dtype_of(case)]
    own = contract.coins.streams(case)
    streams = [(rng, contract.coins.count(case))] if own is None else [(random.Random(f"coins/{seed}"), n) for seed, n in own]
    return [source.getrandbits(bits) / (1 << bits) for source, n in streams for _ in range(n)]


def put(numbers: list[float], case: Case, value: float, place: int) -> tuple[int, str]:
    """Put a value in the place of one of them, 1 as the greatest below it; how many there are, and the dtype of the one that was put ("" if none was)."""
    dtype = dtype_of(case)
    if place >= len(numbers):
        return len(numbers), ""
    numbers[place] = min(value, BELOW_ONE[dtype])
    return len(numbers), dtype


def given(kind: str, case: Case, numbers: Sequence[float], device: str, *, behind: float = math.nan) -> Any:
    """As the subject's kind of array; code that reads on behind it meets `behind`."""
    if kind == "list":
        return list(numbers)
    if kind == "plain":
        return array(dtype_of(case), (len(numbers),), numbers)
    longer = [*numbers, *[behind] * BEHIND]
    return adapt.into(kind, array(dtype_of(case), (len(longer),), longer), device)[: len(numbers)]
