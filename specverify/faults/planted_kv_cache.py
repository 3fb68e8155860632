"""Planted faults of `kv_cache`. Each is a subject; the catalogue says what is wrong with it."""

from typing import Any

import numpy as np

import specverify as sv

Rows = np.ndarray[Any, Any]
WIDTH = 2
"""Entries of a row, of caches whose memory is taken beforehand."""
ALL = ("select", "reset")


class Cache:
    """One buffer for keys and values, and a length: what the faults below change one part of."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.end = capacity, 0
        self.data = np.zeros((2, capacity, WIDTH))

    def append(self, k: Rows, v: Rows) -> None:
        self.write(self.end, k, v)
        self.end += len(k)

    def write(self, at: int, k: Rows, v: Rows) -> None:
        if at + len(k) > self.capacity:
            raise ValueError(f"{at + len(k)} rows in a cache for {self.capacity}")
        self.data[:, at : at + len(k)] = np.stack([k, v])

    def length(self) -> int:
        return self.end

    def rollback(self, to_length: int) -> None:
        if not 0 <= to_length <= self.end:
            raise ValueError(f"to {to_length} of {self.end} rows")
        self.end = to_length

    def select(self, kept: list[int]) -> None:
        if kept and kept[-1] >= self.end:
            raise ValueError(f"row {kept[-1]} of {self.end}")
        self.data[:, : len(kept)] = self.data[:, kept]
        self.end = len(kept)

    def reset(self) -> None:
        self.end = 0

    def rows(self) -> tuple[Rows, Rows]:
        return self.data[0, : self.end].copy(), self.data[1, : self.end].copy()


@sv.subject("kv_cache", arrays="numpy", name="cache-rolled-back-one-row-short", supports=ALL)
class RolledBackOneRowShort(Cache):
    def rollback(self, to_length: int) -> None:
        self.end = min(self.end, to_length + 1)


@sv.subject("kv_cache", arrays="numpy", name="cache-rolled-back-one-row-too-far", supports=ALL)
class RolledBackOneRowTooFar(Cache):
    def rollback(self, to_length: int) -> None:
        super().rollback(to_length if to_length == self.end else max(0, to_length - 1))


@sv.subject("kv_cache", arrays="numpy", name="cache-emptied-by-a-rollback", supports=ALL)
class EmptiedByARollback(Cache):
    def rollback(self, to_length: int) -> None:
        super().rollback(to_length)
        if to_length:
            self.data[:, : self.end] = 0


@sv.subject("kv_cache", arrays="numpy", name="appended-behind-the-stale-rows", supports=ALL)
class AppendedBehindTheStaleRows(Cache):
    def __init__(self, capacity: int) -> None:
        super().__init__(2 * capacity)
        self.written = 0

    def append(self, k: Rows, v: Rows) -> None:
        self.write(self.written, k, v)
        self.written += len(k)
        self.end += len(k)

    def select(self, kept: list[int]) -> None:
        super().select(kept)
        self.written = self.end

    def reset(self) -> None:
        self.end = self.written = 0


PAGE = 16


@sv.subject("kv_cache", arrays="numpy", name="pages-left-by-a-rollback", supports=("reset",))
class PagesLeftByARollback(Cache):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.page = 0

    def append(self, k: Rows, v: Rows) -> None:
        if self.end + len(k) > self.capacity:
            raise ValueError("full")
        for i in range(len(k)):
            self.page = max(self.page, self.end // PAGE)
            self.write(self.page * PAGE + self.end % PAGE, k[i : i + 1], v[i : i + 1])
            self.end += 1

    def reset(self) -> None:
        self.end = self.page = 0


@sv.subject("kv_cache", arrays="numpy", name="rejected-rows-come-back", supports=ALL)
class RejectedRowsComeBack(Cache):
    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.most = 0

    def append(self, k: Rows, v: Rows) -> None:
        self.write(self.end, k, v)
        self.end = self.most = max(self.most, self.end + len(k))

    def select(self, kept: list[int]) -> None:
        super().select(kept)
        self.most = self.end

    def reset(self) -> None:
        self.end = self.most = 0


@sv.subject("kv_cache", arrays="numpy", name="kept-rows-counted-from-the-draft", supports=ALL)
class KeptRowsCountedFromTheDraft(Cache):
    start = 0

    def append(self, k: Rows, v: Rows) -> None:
        self.start = self.end
        super().append(k, v)

    def select(self, kept: list[int]) -> None:
        super().select([min(self.start + row, self.end - 1) for row in kept])


@sv.subject("kv_cache", arrays="numpy", name="last-kept-row-lost", supports=ALL)
class LastKeptRowLost(Cache):
    def select(self, kept: list[int]) -> None:
        super().select(kept[:-1] if kept[-1] - kept[0] >= len(kept) else kept)


@sv.subject("kv_cache", arrays="numpy", name="values-left-where-they-were", supports=ALL)
class ValuesLeftWhereTheyWere(Cache):
    def select(self, kept: list[int]) -> None:
        self.data[0, : len(kept)] = self.data[0, kept]
        self.end = len(kept)


@sv.subject("kv_cache", arrays="numpy", name="kept-rows-moved-one-by-one-from-the-end", supports=ALL)
class KeptRowsMovedOneByOneFromTheEnd(Cache):
    def select(self, kept: list[int]) -> None:
        for to, row in reversed(list(enumerate(kept))):
            self.data[:, to] = self.data[:, row]
        self.end = len(kept)


@sv.subject("kv_cache", arrays="numpy", name="reset-keeps-the-length", supports=ALL)
class ResetKeepsTheLength(Cache):
    def reset(self) -> None:
        self.data[:] = 0


@sv.subject("kv_cache", arrays="numpy", name="reset-but-not-the-capacity-left", supports=ALL)
class ResetButNotTheCapacityLeft(Cache):
    taken = 0

    def append(self, k: Rows, v: Rows) -> None:
        if self.taken + len(k) > self.capacity:
            raise ValueError("full")
        self.taken += len(k)
        super().append(k, v)

    def rollback(self, to_length: int) -> None:
        self.taken -= self.end - to_length
        super().rollback(to_length)

    def select(self, kept: list[int]) -> None:
        self.taken -= self.end - len(kept)
        super().select(kept)


@sv.subject("kv_cache", arrays="numpy", name="one-buffer-for-all-caches", supports=ALL)
class OneBufferForAllCaches(Cache):
    shared = np.zeros((2, 128, WIDTH))

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.data = self.shared


@sv.subject("kv_cache", arrays="numpy", name="one-list-for-all-caches")
class OneListForAllCaches:
    def __init__(self, capacity: int, rows: list[tuple[Rows, Rows]] = []) -> None:  # noqa: B006  that is the fault
        self.capacity, self.kept = capacity, rows

    def append(self, k: Rows, v: Rows) -> None:
        self.kept.extend(zip(k, v, strict=True))

    def length(self) -> int:
        return len(self.kept)

    def rollback(self, to_length: int) -> None:
        del self.kept[to_length:]

    def rows(self) -> tuple[list[Rows], list[Rows]]:
        return [k for k, _ in self.kept], [v for _, v in self.kept]


@sv.subject("kv_cache", arrays="numpy", name="full-cache-begins-anew", supports=ALL)
class FullCacheBeginsAnew(Cache):
    def write(self, at: int, k: Rows, v: Rows) -> None:
        for i in range(len(k)):
            self.data[:, (at + i) % self.capacity] = np.stack([k[i], v[i]])

    def append(self, k: Rows, v: Rows) -> None:
        super().append(k, v)
        self.end = min(self.end, self.capacity)


@sv.subject("kv_cache", arrays="numpy", name="rows-beyond-the-capacity-dropped", supports=ALL)
class RowsBeyondTheCapacityDropped(Cache):
    def append(self, k: Rows, v: Rows) -> None:
        room = self.capacity - self.end
        super().append(k[:room], v[:room])
