"""The small scope: every table of rows with small denominators, smallest first. An explored subject is judged on all of them (theory, exact laws 5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

Line = tuple[Fraction, ...]

SIZES = {"small": ((1, 2, 4), (1, 3, 2), (2, 2, 2)), "large": ((1, 2, 8), (1, 3, 4), (1, 4, 2), (2, 2, 3))}
"""By name of the scope: drafts, tokens, and the largest denominator."""


def told(name: str) -> str:
    """What a scope exhausts, in words."""
    parts = [f"{gamma} draft{'s' * (gamma > 1)} over {v} tokens with denominators to {largest}" for gamma, v, largest in SIZES[name]]
    return f"every table of {', of '.join(parts)}"


def lines(v: int, largest: int) -> list[Line]:
    """Every row of probabilities over v tokens whose entries share a denominator of at most `largest`."""
    found = {
        row: None
        for d in range(1, largest + 1)
        for weights in itertools.product(range(d + 1), repeat=v)
        if sum(weights) == d
        if (row := tuple(Fraction(w, d) for w in weights))
    }
    return list(found)


def tables(gamma: int, v: int, largest: int) -> Iterator[tuple[tuple[Line, ...], tuple[Line, ...]]]:
    """Rows of p (gamma + 1) and of q (gamma), each position with a pair of its own."""
    for rows in itertools.product(lines(v, largest), repeat=2 * gamma + 1):
        yield rows[gamma:], rows[:gamma]


def everything(name: str) -> Iterator[tuple[tuple[Line, ...], tuple[Line, ...]]]:
    """A whole scope, in order of drafts, tokens and denominators."""
    for gamma, v, largest in SIZES[name]:
        yield from tables(gamma, v, largest)
