"""One shard, open for reading: where the occurrences of a query lie in the order of the suffixes."""

from __future__ import annotations

import bisect
import mmap
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specref.rest.checked import Checked
from specref.rest.format import CHECKSUM, HEADER_SIZE, BadStore, read_header

NEAR = 16
"""Most matches are of fewer occurrences, and their end is looked for so near first."""


class Interval(NamedTuple):
    """Occurrences that stand side by side in the order of the suffixes: from `low` up to but without `high`."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.high - self.low


class Shard:
    """A memory-mapped shard, and any number of readers may. Opening it reads its header and its checksums; what a search rests on is held against these.

    Args:
        path: of the file.

    Raises:
        BadStore: the file is no shard, or not a whole one; later, from any method, what it rests on was changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            start, size = file.read(HEADER_SIZE), path.stat().st_size
            header = self.header = read_header(path, start, size)
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.separator, self._width, self._place = header.vocabulary, header.width, header.suffix_width
        self._checked_tokens, self._checked_suffixes = self._parts()
        self._suffixes = self._checked_suffixes.view.cast("I" if self._place == 4 else "Q")  # noqa: PLR2004
        self._places = np.frombuffer(self._suffixes, dtype=f"<u{self._place}")
        self._text = np.frombuffer(self._checked_tokens.view, dtype=f">u{self._width}", count=header.tokens)

    def _parts(self) -> tuple[Checked, Checked]:
        """The tokens and the suffixes."""
        header, whole = self.header, memoryview(self._file)
        middle, end = HEADER_SIZE + header.text_size, HEADER_SIZE + header.body_size
        if zlib.crc32(whole[end:]) != header.checksum:
            raise BadStore(f"{self.path} is damaged: its checksums do not fit their own")
        checksums, blocks = np.array(np.frombuffer(whole[end:], CHECKSUM)), header.text_blocks
        tokens = Checked(f"{self.path}, tokens,", whole[HEADER_SIZE:middle], checksums[:blocks], header.block)
        return tokens, Checked(f"{self.path}, suffixes,", whole[middle:end], checksums[blocks:], header.block)

    def verify(self) -> None:
        """Read everything, and hold it against its checksums.

        Raises:
            BadStore: a byte was changed.
        """
        self._checked_tokens.check(0, self.header.text_size)
        self._checked_suffixes.check(0, self.header.suffix_size)

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
        first = self._border(self._bytes(query), low, high)
        bound = self._bytes((*query, self.separator) if ended else (*query[:-1], query[-1] + 1))  # a separator is the largest of all continuations
        near = min(first + NEAR, high)
        last = self._border(bound, first, near)
        return Interval(first, last if last < near else self._border(bound, near, high))

    def _border(self, bound: bytes, low: int, high: int) -> int:
        """The first suffix between `low` and `high` that does not come before `bound`; `high` where all do.

        Only those on both sides of it are held against their checksums: order is order, so these two alone show where the border is, and a changed byte that
        misleads the halving leads it to a border of its own.
        """
        size, width, file, end = len(bound), self._width, self._file, HEADER_SIZE + len(bound)
        border = bisect.bisect_left(self._suffixes, bound, low, high, key=lambda place: file[HEADER_SIZE + place * width : end + place * width])
        for at in range(max(border - 1, low), min(border + 1, high)):
            self._checked_suffixes.check(at * self._place, self._place)
            self._checked_tokens.check(self._suffixes[at] * self._width, size)
        return border

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        return b"".join(token.to_bytes(self._width, "big") for token in tokens)

    def following(self, interval: Interval, skip: int, count: int) -> np.ndarray:
        """What follows each occurrence in its document, behind its first `skip` tokens: (occurrences, count) int64, separators from the end of a document on."""
        found = self._read(np.arange(*interval)[:, None], skip + np.arange(count))
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
        tokens = self._read(at, skip)
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
            reached = self._read(middle, skip) >= least
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def _read(self, at: np.ndarray, skip: int | np.ndarray) -> np.ndarray:
        """The tokens behind the first `skip` of these occurrences, int64; separators may be among them."""
        self._checked_suffixes.check_each(at * self._place)
        places = np.minimum(self._places[at].astype(np.int64) + skip, len(self._text) - 1)
        self._checked_tokens.check_each(places * self._width)
        return np.asarray(self._text[places], np.int64)

    def close(self) -> None:
        """Give the file back; nothing can be read any more."""
        self._places = self._text = np.empty(0, np.int64)
        for view in (self._suffixes, self._checked_suffixes.view, self._checked_tokens.view):
            view.release()
        self._file.close()
