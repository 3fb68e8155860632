"""The heaviest beginnings of the continuations of a match, over all of its occurrences (2311.08252, algorithm 2).

Occurrences stand in the order of their continuations, so those that begin alike stand side by side: a weight is the length of an interval. A few
thousand occurrences are read at once. More are looked at here and there: a beginning of weight g cannot hide between looks that are g apart. The heaviest
are opened first, and looks come closer only where something lighter may still count.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specref.rest.shard import Interval, Shard

AT_ONCE = 4096
"""Occurrences that are read at once: about a tenth of a millisecond."""
LOOKS = 64
"""Looks at a larger interval."""
CLOSER = 8
"""How many times closer the looks come."""


class Prefix(NamedTuple):
    """A beginning of continuations.

    Attributes:
        tokens: of it.
        weight: how many continuations begin so.
    """

    tokens: tuple[int, ...]
    weight: int

    @property
    def rank(self) -> Rank:
        """Heavier first, then shorter, then the smaller tokens: a beginning never comes before its own."""
        return -self.weight, len(self.tokens), self.tokens


@dataclass(frozen=True)
class _Search:
    """One match and what is wanted of it."""

    shards: Sequence[Shard]
    query: tuple[int, ...]
    longest: int
    count: int


@dataclass(frozen=True)
class _Place:
    """The occurrences that go on with some tokens, and which of their next ones are known, if only those of some weight were looked for."""

    tokens: tuple[int, ...]
    intervals: tuple[Interval, ...]
    known: frozenset[int] = frozenset()
    step: int = 0

    @property
    def weight(self) -> int:
        return sum(one.size for one in self.intervals)


def heaviest(shards: Sequence[Shard], query: Sequence[int], intervals: Sequence[Interval], longest: int, count: int) -> list[Prefix]:
    """The `count` heaviest beginnings, of 1 to `longest` tokens; equal ones by length, then by tokens.

    With any beginning its own beginnings are among them.

    Args:
        shards: of the store.
        query: the match.
        intervals: its occurrences in each shard.
        longest: m, tokens of a continuation.
        count: c.
    """
    search = _Search(shards, tuple(query), longest, count)
    waiting: list[_Waiting] = [_Waiting((0, 0, ()), 0, None, _Place((), tuple(intervals)))]
    found: list[Prefix] = []
    pushed = 1
    while waiting and len(found) < count:
        _, _, prefix, place = heapq.heappop(waiting)
        if prefix is not None:
            found.append(prefix)
        for rank, one, inside in _opened(search, place) if place is not None else ():
            heapq.heappush(waiting, _Waiting(rank, pushed, one, inside))
            pushed += 1
    return found


Rank = tuple[int, int, tuple[int, ...]]


class _Waiting(NamedTuple):
    """What is opened next: a rank that nothing inside of it is before, an order among equals, a beginning that is found, a place to open."""

    rank: Rank
    pushed: int
    prefix: Prefix | None
    place: _Place | None


def _opened(search: _Search, place: _Place) -> Iterator[tuple[Rank, Prefix | None, _Place | None]]:
    """The beginnings that go on from a place, with their own places where these are not read yet; and the place once more, if light ones were passed over."""
    if len(place.tokens) == search.longest:
        return
    if place.weight <= AT_ONCE:
        yield from ((prefix.rank, prefix, None) for prefix in _read(search, place))
        return
    step = max(1, place.step // CLOSER if place.step else place.weight // LOOKS)
    looked = _looked(search, place, step)
    for token in sorted(looked - place.known):
        tokens = (*place.tokens, token)
        inside = [shard.find((*search.query, *tokens), one, ended=False) for shard, one in zip(search.shards, place.intervals, strict=True)]
        prefix = Prefix(tokens, sum(one.size for one in inside))
        yield prefix.rank, prefix, _Place(tokens, tuple(inside))
    if step > 1:
        lightest = len(search.shards) * (step - 1)  # in each shard, fewer than `step` occurrences may stand between two looks
        yield (-lightest, 0, ()), None, _Place(place.tokens, place.intervals, place.known | looked, step)


def _looked(search: _Search, place: _Place, step: int) -> frozenset[int]:
    """The tokens that follow every step-th occurrence."""
    skip = len(search.query) + len(place.tokens)
    pairs = zip(search.shards, place.intervals, strict=True)
    return frozenset(token for shard, one in pairs if one.size for token in shard.next_tokens(one, skip, step))


def _read(search: _Search, place: _Place) -> list[Prefix]:
    """All occurrences at once: the heaviest beginnings that go on from a place."""
    skip, count = len(search.query) + len(place.tokens), search.longest - len(place.tokens)
    parts = [(shard, one) for shard, one in zip(search.shards, place.intervals, strict=True) if one.size]
    if not parts:
        return []
    rows = np.concatenate([shard.following(one, skip, count) for shard, one in parts])
    if len(parts) > 1:
        rows = rows[np.lexsort(rows.T[::-1])]
    starts, depths, weights = _runs(rows, search.shards[0].separator)
    best = np.lexsort((starts, depths, -weights))[: search.count]
    return [Prefix((*place.tokens, *rows[starts[i], : depths[i] + 1].tolist()), int(weights[i])) for i in best.tolist()]


def _runs(rows: np.ndarray, separator: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in order, (occurrences, tokens): for each beginning its first row, its last column, and the number of rows that begin so."""
    new = np.ones(rows.shape, bool)
    new[1:] = np.logical_or.accumulate(rows[1:] != rows[:-1], axis=1)
    depths, starts = np.nonzero(new.T)
    ends = np.append(starts[1:], 0)
    ends[np.append(depths[1:] != depths[:-1], True)] = len(rows)
    kept = rows[starts, depths] != separator
    return starts[kept], depths[kept], (ends - starts)[kept]
