"""Planted faults of `helper`. Each is a subject; the catalogue says what is wrong with it. They load no torch, so that each is audited in a moment."""

import math
import random

import specverify as sv

TOKENS = sv.lists(sv.ints(0, 3))
Rows = list[list[float]]


def _windows(tokens: list[int], n: int) -> list[list[int]]:
    return [tokens[i : i + n] for i in range(len(tokens) - n + 1)]


@sv.subject("helper", name="last-window-missing", domain={"tokens": TOKENS, "n": sv.ints(1, 4)}, oracle=_windows)
def last_window_missing(tokens: list[int], n: int) -> list[list[int]]:
    return [tokens[i : i + n] for i in range(len(tokens) - n)]


@sv.subject("helper", name="raises-on-nothing-drafted", domain={"accepted": TOKENS})
def raises_on_nothing_drafted(accepted: list[int]) -> float:
    return sum(accepted) / len(accepted)


_SEEN: list[int] = []


@sv.subject("helper", name="remembers-calls", domain={"tokens": TOKENS})
def remembers_calls(tokens: list[int]) -> int:
    _SEEN.extend(tokens or [0])
    return len(_SEEN)


@sv.subject("helper", name="ties-by-chance", domain={"counts": sv.lists(sv.ints(0, 2), min_size=1)})
def ties_by_chance(counts: list[int]) -> int:
    return random.choice([i for i, count in enumerate(counts) if count == max(counts)])


def _overlap(p: list[float], q: list[float]) -> float:
    return math.fsum(map(min, p, q))


PROBABILITIES = sv.tensors(("v",), sv.floats(0, 1))


@sv.subject("helper", name="overlap-of-p-alone", arrays="list", domain={"p": PROBABILITIES, "q": PROBABILITIES}, oracle=_overlap)
def overlap_of_p_alone(p: list[float], q: list[float]) -> float:
    return math.fsum(a for a, b in zip(p, q, strict=True) if b)


def _is_sorted(rows: Rows, result: Rows) -> str | bool:
    return all(line == sorted(line) for line in result) or f"{result} is not sorted, of {rows}"


@sv.subject("helper", name="sorted-along-the-wrong-axis", arrays="list", domain={"rows": sv.tensors(("n", 3), sv.floats(-4, 4))}, ensures=_is_sorted)
def sorted_along_the_wrong_axis(rows: Rows) -> Rows:
    columns = [sorted(column) for column in zip(*rows, strict=True)]
    return [list(line) for line in zip(*columns, strict=True)]
