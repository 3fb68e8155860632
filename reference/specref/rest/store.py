"""A datastore: shards in a folder, searched together (2311.08252, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from specref.rest.format import BadStore
from specref.rest.shard import Interval, Shard

SUFFIX = ".rest"
"""Of a shard's file name."""


@dataclass(frozen=True)
class Match:
    """The longest suffix of a context that occurs, and where.

    Attributes:
        length: n, its tokens; 0 where nothing is found.
        intervals: its occurrences in each shard that some token follows.
    """

    length: int
    intervals: tuple[Interval, ...]

    @property
    def count(self) -> int:
        """How many continuations there are, over all shards."""
        return sum(one.size for one in self.intervals)


class Store:
    """A datastore, open for reading; several processes may read it while shards are added.

    Args:
        path: of its folder.
        verify: whether all of it is read and held against its checksums; otherwise opening takes a moment, whatever its size.

    Raises:
        BadStore: no shard there, a damaged one, or shards of several vocabularies.
    """

    def __init__(self, path: str | Path, *, verify: bool = False) -> None:
        self.path = Path(path)
        files = sorted(self.path.glob(f"*{SUFFIX}"))
        if not files:
            raise BadStore(f"{self.path} holds no shard (*{SUFFIX}); `python -m specref.rest build` makes one")
        self.shards = [Shard(file) for file in files]
        found = {shard.header.vocabulary for shard in self.shards}
        if len(found) > 1:
            raise BadStore(f"{self.path} holds shards of different vocabularies: {', '.join(map(str, sorted(found)))}")
        (self.vocabulary,) = found
        if verify:
            for shard in self.shards:
                shard.verify()

    @property
    def documents(self) -> int:
        """How many there are."""
        return sum(shard.header.documents for shard in self.shards)

    @property
    def tokens(self) -> int:
        """How many there are, separators not counted."""
        return sum(shard.header.suffixes for shard in self.shards)

    def find(self, query: Sequence[int]) -> Match:
        """The occurrences of a query that some token follows."""
        return Match(len(query), tuple(shard.find(query) for shard in self.shards))

    def longest(self, context: Sequence[int], n_min: int = 1, n_max: int = 16) -> Match:
        """The longest suffix of the context, of n_min to n_max tokens, that occurs inside of one document and goes on there (algorithm 1).

        Where n tokens occur their last n - 1 do, so the length is found by halving.

        Raises:
            ValueError: unless 1 <= n_min <= n_max; a token outside of the vocabulary.
        """
        self._check(context, n_min, n_max)
        low, high, best = n_min, min(n_max, len(context)), Match(0, ())
        while low <= high:
            middle = (low + high) // 2
            found = self.find(context[len(context) - middle :])
            if found.count:
                low, best = middle + 1, found
            else:
                high = middle - 1
        return best

    def _check(self, context: Sequence[int], n_min: int, n_max: int) -> None:
        if not 1 <= n_min <= n_max:
            raise ValueError(f"suffixes need 1 <= n_min <= n_max, not {n_min} and {n_max}")
        start = max(0, len(context) - n_max)
        for column, token in enumerate(context[start:], start):
            if not 0 <= token < self.vocabulary:
                raise ValueError(f"context, column {column}: token {token} is outside 0 … {self.vocabulary - 1}")

    def close(self) -> None:
        """Give all files back."""
        for shard in self.shards:
            shard.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()
