"""Searches by questions: a generator asks for the answers at some points, and many of them are asked together, so that one launch of a batch serves all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from specverify.law import Outcome

Q = TypeVar("Q")
A = TypeVar("A")
R = TypeVar("R")

Value = tuple[float, ...]
"""What one draw is: its numbers, one for a uniform number."""
Signature = tuple[Outcome, ...]
"""What comes out at one value of a draw, for each completion by later draws."""


class Question(NamedTuple):
    """What comes out at a value; for some completions alone, if the others are known."""

    value: Value
    places: tuple[int, ...] | None = None


Search = Generator[list[Question], list[Signature], R]
"""Yields questions, is sent their answers, returns what it found."""


def together(searches: Sequence[Generator[list[Q], list[A], R]]) -> Generator[list[Q], list[A], list[R]]:
    """Several searches as one: the questions of all that go on are asked at once."""
    found: dict[int, R] = {}
    asked: dict[int, list[Q]] = {}
    for number, search in enumerate(searches):
        _step(number, search, None, asked, found)
    while asked:
        answers = iter((yield [question for questions in asked.values() for question in questions]))
        for number, questions in list(asked.items()):
            _step(number, searches[number], [next(answers) for _ in questions], asked, found)
    return [found[number] for number in range(len(searches))]


def _step(number: int, search: Generator[list[Q], list[A], R], answers: Any, asked: dict[int, list[Q]], found: dict[int, R]) -> None:
    asked.pop(number, None)
    try:
        asked[number] = search.send(answers)
    except StopIteration as end:
        found[number] = end.value


class Run(NamedTuple):
    """A run of whole numbers between which the answer was the same: the first, one behind the last, and what was seen in it from where to where."""

    first: int
    end: int
    seen: tuple[int, int]
    signature: Signature


def runs(marks: Sequence[int], value: Callable[[int], Value], fan: int, most: int) -> Search[list[Run] | None]:
    """Where the answer changes along whole numbers, from the first mark to the last: looked at in the marks, then between neighbours that differ.

    Args:
        marks: ascending; what changes back between two of them is not seen.
        value: what a number stands for.
        fan: numbers looked at between two neighbours that differ, at once; 1 bisects.
        most: changes after which it gives up.

    Returns:
        The runs, in order; none if there are more than `most`.
    """
    signatures = yield [Question(value(k)) for k in marks]
    known = dict(zip(marks, signatures, strict=True))
    gaps = _differing(sorted(known), known)
    while gaps := [gap for gap in gaps if gap[1] - gap[0] > 1]:
        if len(gaps) > most:
            return None
        inner = [(low, _between(low, high, fan), high) for low, high in gaps]
        places = [_where(known[low], known[high]) for low, _, high in inner]
        answers = iter((yield [Question(value(k), where) for (_, ks, _), where in zip(inner, places, strict=True) for k in ks]))
        gaps = []
        for (low, ks, high), where in zip(inner, places, strict=True):
            for k in ks:
                known[k] = _merged(known[low], where, next(answers))
            gaps += _differing([low, *ks, high], known)
    return _runs(known)


def _between(low: int, high: int, fan: int) -> list[int]:
    """Up to `fan` numbers inside, evenly spread."""
    steps = min(fan, high - low - 1) + 1
    return [low + (high - low) * step // steps for step in range(1, steps)]


def _differing(ks: Sequence[int], known: dict[int, Signature]) -> list[tuple[int, int]]:
    return [(low, high) for low, high in itertools.pairwise(ks) if known[low] != known[high]]


def _where(one: Signature, other: Signature) -> tuple[int, ...]:
    return tuple(place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def _merged(whole: Signature, places: tuple[int, ...], part: Signature) -> Signature:
    fresh = list(whole)
    for place, outcome in zip(places, part, strict=True):
        fresh[place] = outcome
    return tuple(fresh)


def _runs(known: dict[int, Signature]) -> list[Run]:
    found: list[Run] = []
    for k in sorted(known):
        if found and found[-1].signature == known[k]:
            found[-1] = found[-1]._replace(end=k + 1, seen=(found[-1].seen[0], k))
        else:
            found.append(Run(k, k + 1, (k, k), known[k]))
    return found
