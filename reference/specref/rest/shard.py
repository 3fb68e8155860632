"""One shard, open for reading: where the occurrences of a query lie in the order of the suffixes."""

from __future__ import annotations

import bisect
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specref.rest.format import HEADER_SIZE, BadStore, checksum, read_header


class Interval(NamedTuple):
    """Occurrences that stand side by side in the order of the suffixes: from `low` up to but without `high`."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.high - self.low


class Shard:
    """A memory-mapped shard; opening it reads its header alone, however large it is, and any number of readers may.

    Args:
        path: of the file.

    Raises:
        BadStore: the file is no shard, or not a whole one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            start, size = file.read(HEADER_SIZE), path.stat().st_size
            self.header = read_header(path, start, size)
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._view = memoryview(self._file)
        self._width, self.separator = self.header.width, self.header.vocabulary
        self._suffixes = self._view[HEADER_SIZE + self.header.text_size :].cast("I" if self.header.suffix_width == 4 else "Q")  # noqa: PLR2004
        self._places = np.frombuffer(self._suffixes, dtype=f"<u{self.header.suffix_width}")
        self._text = np.frombuffer(self._file, dtype=f">u{self._width}", count=self.header.tokens, offset=HEADER_SIZE)

    def verify(self) -> None:
        """Read everything, and hold it against its checksums.

        Raises:
            BadStore: a byte was changed.
        """
        end = HEADER_SIZE + self.header.tokens * self._width
        text = self._view[HEADER_SIZE:end]
        if any(self._view[end : HEADER_SIZE + self.header.text_size]):
            raise BadStore(f"{self.path} is damaged: something stands between its tokens and its suffixes")
        places = self._view[HEADER_SIZE + self.header.text_size :]
        for name, data, right in (("tokens", text, self.header.text_checksum), ("suffixes", places, self.header.suffix_checksum)):
            if checksum(data) != right:
                raise BadStore(f"{self.path} is damaged: its {name} do not fit their checksum")

    @property
    def whole(self) -> Interval:
        """All suffixes."""
        return Interval(0, self.header.suffixes)

    def find(self, query: Sequence[int], within: Interval | None = None, *, ended: bool = True) -> Interval:
        """Where the query occurs, and some token of the same document follows.

        Args:
            query: token ids, none outside of the vocabulary.
            within: occurrences of a beginning of the query, where they are known.
            ended: whether occurrences at the end of a document are left out, which nothing follows.
        """
        low, high = within or self.whole
        sought = self._bytes(query)
        size = len(sought)

        def beginning(place: int) -> bytes:
            start = HEADER_SIZE + place * self._width
            return self._file[start : start + size]

        first = bisect.bisect_left(self._suffixes, sought, low, high, key=beginning)
        if not ended:
            return Interval(first, bisect.bisect_right(self._suffixes, sought, first, high, key=beginning))
        size += self._width
        bare = sought + self._bytes((self.separator,))  # the largest of all continuations
        return Interval(first, bisect.bisect_left(self._suffixes, bare, first, high, key=beginning))

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        return b"".join(token.to_bytes(self._width, "big") for token in tokens)

    def following(self, interval: Interval, skip: int, count: int) -> np.ndarray:
        """What follows each occurrence in its document, behind its first `skip` tokens: (occurrences, count) int64, separators from the end of a document on."""
        starts = self._places[interval.low : interval.high].astype(np.int64) + skip
        found = self._text[np.minimum(starts[:, None] + np.arange(count), len(self._text) - 1)].astype(np.int64)
        ended = np.logical_or.accumulate(found == self.separator, axis=1)
        return np.where(ended, self.separator, found)

    def runs(self, spans: Sequence[Interval], skip: int, step: int) -> list[tuple[int, int, Interval]]:
        """Occurrences that go on with the same token: the number of their span, the token, and where they are.

        Args:
            spans: occurrences of some queries of one length.
            skip: that length.
            step: every run of so many occurrences is found, and what else the looks fall upon.
        """
        looks = [np.append(np.arange(span.low, span.high, step), span.high - 1) for span in spans]
        at, of = np.concatenate(looks), np.repeat(np.arange(len(spans)), [len(one) for one in looks])
        tokens = self._token(at, skip)
        border, other = of[1:] != of[:-1], tokens[1:] != tokens[:-1]
        change = np.flatnonzero(~border & other)
        new = np.flatnonzero(np.append(True, border | other))
        lows, highs = at[new], at[np.append(new[1:], len(at)) - 1] + 1
        after = np.searchsorted(new, change + 1)
        lows[after] = self._first(at[change], at[change + 1], skip, tokens[change + 1])
        highs[after - 1] = self._first(at[change], at[change + 1], skip, tokens[change] + 1)
        found = zip(of[new].tolist(), tokens[new].tolist(), map(Interval, lows.tolist(), highs.tolist()), strict=True)
        return list(found)

    def _first(self, low: np.ndarray, high: np.ndarray, skip: int, least: np.ndarray) -> np.ndarray:
        """The first places behind `low`, up to `high`, that go on with a token of at least `least`; all searched at once."""
        low = low.copy()
        while (high - low > 1).any():
            middle = (low + high) // 2
            reached = self._token(middle, skip) >= least
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def _token(self, at: np.ndarray, skip: int) -> np.ndarray:
        """The token behind the first `skip` of these occurrences; a separator may be one."""
        return np.asarray(self._text[np.minimum(self._places[at].astype(np.int64) + skip, len(self._text) - 1)], np.int64)

    def close(self) -> None:
        """Give the file back; nothing can be read any more."""
        self._places = self._text = np.empty(0, np.int64)
        self._suffixes.release()
        self._view.release()
        self._file.close()
