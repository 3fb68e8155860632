"""The small scope: every table of rows with small denominators, smallest first. An explored subject is judged on all of them (theory, exact laws 5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

Line = tuple[Fraction, ...]

SIZES = ((1, 2, 4), (1, 3, 2), (2, 2, 2))
"""Drafts, tokens, and the largest denominator."""
TOLD = "every table with one draft over 2 tokens (denominators to 4) and over 3 tokens (to 2), and with two drafts over 2 tokens (to 2)"


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


def everything() -> Iterator[tuple[tuple[Line, ...], tuple[Line, ...]]]:
    """The whole scope, in order of drafts, tokens and denominators."""
    for gamma, v, largest in SIZES:
        yield from tables(gamma, v, largest)
