"""The tool's own draws around a subject (drafts from q, completions from p): made at random, or all of them with their probabilities."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Pick = Callable[[Sequence[float]], int]
"""One index, from the cumulative sums of its weights."""


def at_random(rng: random.Random) -> Pick:
    """By inverse CDF; u < 1 keeps u * total at or below the last sum, and bisect_right never stops on an index of weight zero."""

    def pick(sums: Sequence[float]) -> int:
        found = bisect_right(sums, rng.random() * sums[-1])
        return found if found < len(sums) else sums.index(sums[-1])

    return pick


def every(function: Callable[[Pick], T]) -> list[tuple[float, T]]:
    """The results of a function for every way in which its picks can go, with their probabilities."""
    found: list[tuple[float, T]] = []
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = waiting.pop()
        told = _Scripted(script)
        result = function(told.pick)
        found.append((told.chance, result))
        waiting += told.others
    return found


class _Scripted:
    """Picks as a script says; beyond its end the first that is possible, the others being left for scripts of their own."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.made, self.chance = script, (), 1.0  # type: tuple[int, ...], tuple[int, ...], float
        self.others: list[tuple[int, ...]] = []

    def pick(self, sums: Sequence[float]) -> int:
        chances = weights(sums)
        place = len(self.made)
        possible = [index for index, chance in enumerate(chances) if chance > 0]
        chosen = self.script[place] if place < len(self.script) else possible[0]
        if place >= len(self.script):
            self.others += [(*self.made, index) for index in possible[1:]]
        self.made += (chosen,)
        self.chance *= chances[chosen]
        return chosen


def weights(sums: Sequence[float]) -> list[float]:
    """Probabilities from cumulative sums."""
    return [(high - low) / sums[-1] for low, high in zip((0.0, *sums), sums, strict=False)]
