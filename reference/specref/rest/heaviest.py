"""The heaviest beginnings of the continuations of a match, over all of its occurrences (2311.08252, algorithm 2).

Occurrences stand in the order of their continuations, so those that begin alike stand side by side: a weight is the length of a run. A few thousand
occurrences are read at once. More are looked at here and there: a run of g cannot hide between looks that are g apart. All beginnings of at least some weight
are found so, token after token, and where they are too few the looks come closer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specref.rest.shard import Interval, Shard

AT_ONCE = 2048
"""Occurrences that are read at once: less than half a millisecond."""
LOOKS = 512
"""Looks at a larger match, the first time."""
CLOSER = 4
"""How many times closer they come the next time."""

Rank = tuple[int, int, tuple[int, ...]]


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
    """The occurrences that go on with some tokens, in each shard."""

    tokens: tuple[int, ...]
    spans: tuple[Interval, ...]

    @property
    def prefix(self) -> Prefix:
        return Prefix(self.tokens, sum(span.size for span in self.spans))


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
    search, size = _Search(shards, tuple(query), longest, count), sum(one.size for one in intervals)
    if size <= AT_ONCE:
        return _read(search, intervals)
    least = max(1, size // LOOKS)
    while True:
        found, whole = _at_least(search, intervals, least)
        if len(found) >= count or whole:
            return sorted(found, key=lambda prefix: prefix.rank)[:count]
        least = max(1, least // CLOSER)


def _read(search: _Search, intervals: Sequence[Interval]) -> list[Prefix]:
    """All occurrences at once."""
    parts = [(shard, one) for shard, one in zip(search.shards, intervals, strict=True) if one.size]
    if not parts:
        return []
    rows = np.concatenate([shard.following(one, len(search.query), search.longest) for shard, one in parts])
    if len(parts) > 1:
        rows = rows[np.lexsort(rows.T[::-1])]
    starts, depths, weights = _runs(rows, search.shards[0].separator)
    best = np.lexsort((starts, depths, -weights))[: search.count]
    return [Prefix(tuple(rows[starts[i], : depths[i] + 1].tolist()), int(weights[i])) for i in best.tolist()]


def _runs(rows: np.ndarray, separator: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in order, (occurrences, tokens): for each beginning its first row, its last column, and the number of rows that begin so."""
    new = np.ones(rows.shape, bool)
    new[1:] = np.logical_or.accumulate(rows[1:] != rows[:-1], axis=1)
    depths, starts = np.nonzero(new.T)
    ends = np.append(starts[1:], 0)
    ends[np.append(depths[1:] != depths[:-1], True)] = len(rows)
    kept = rows[starts, depths] != separator
    return starts[kept], depths[kept], (ends - starts)[kept]


def _at_least(search: _Search, intervals: Sequence[Interval], least: int) -> tuple[list[Prefix], bool]:
    """All beginnings of at least that weight, from one token on to the longest; and whether there are no others."""
    found: list[Prefix] = []
    places, whole = [_Place((), tuple(intervals))], True
    while places and len(places[0].tokens) < search.longest:
        following, passed_over = _next(search, places, least)
        places = [one for one in following if one.prefix.weight >= least]
        whole = whole and not passed_over and len(places) == len(following)
        found += [one.prefix for one in places]
    return found, whole


def _next(search: _Search, places: Sequence[_Place], least: int) -> tuple[list[_Place], int]:
    """The places one token on: all of at least that weight, and others; and how many occurrences no look has told of.

    Over several shards a beginning has its share of the weight in one of them.
    """
    skip, step = len(search.query) + len(places[0].tokens), -(-least // len(search.shards))
    spans: dict[tuple[int, int], dict[int, Interval]] = {}
    ended = 0
    for number, shard in enumerate(search.shards):
        filled = [i for i, place in enumerate(places) if place.spans[number].size]
        for i, token, span in shard.runs([places[i].spans[number] for i in filled], skip, step) if filled else ():
            if token == shard.separator:
                ended += span.size
            else:
                spans.setdefault((filled[i], token), {})[number] = span
    found = [_Place((*places[i].tokens, token), _everywhere(search, places[i], token, known)) for (i, token), known in spans.items()]
    return found, sum(one.prefix.weight for one in places) - ended - sum(one.prefix.weight for one in found)


def _everywhere(search: _Search, place: _Place, token: int, known: dict[int, Interval]) -> tuple[Interval, ...]:
    """Where a token follows in each shard; where no look fell upon it, it is searched."""
    query = (*search.query, *place.tokens, token)
    return tuple(known[i] if i in known else shard.find(query, place.spans[i], ended=False) for i, shard in enumerate(search.shards))
