"""Table models: a row of probabilities behind every prefix, from data of a case; the same on both sides of the pipe. Standard library only."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from specverify.contracts.arrays import Array
from specverify.contracts.verify_tree import row_of

Prefix = tuple[int, ...]


class Table:
    """Rows by what follows a text: row 0 behind the text itself, row 1 + x behind it and x, and so on as far as there are rows.

    Any other prefix, be it longer or no continuation of the text, has one of these rows too, chosen by a hash of all its tokens.

    Args:
        rows: probabilities, (n, V).
        text: what the rows follow.
    """

    def __init__(self, rows: Array, text: Sequence[int]) -> None:
        self.width, self.text = rows.shape[-1], tuple(text)
        self.rows = [Array(rows.dtype, (self.width,), data) for data in _pieces(rows)]
        self.lines = list(rows.rows())

    def number(self, prefix: Prefix) -> int:
        """Of the row behind a prefix."""
        behind = len(self.text)
        place = row_of(prefix[behind:], self.width) if prefix[:behind] == self.text else len(self.rows)
        return place if 0 <= place < len(self.rows) else zlib.crc32(repr(prefix).encode()) % len(self.rows)

    def line(self, prefix: Prefix) -> tuple[float, ...]:
        """The row behind a prefix, (V,)."""
        return self.lines[self.number(prefix)]


class TableModel(Mapping[Prefix, Any]):
    """A model to call: from a prefix, any sequence of ids, to its row (V,), a new array each time.

    As a mapping it tells what it was asked: each prefix with its row as that is now, so that who writes into rows is seen.
    """

    def __init__(self, table: Table, make: Callable[[Array], Any] = lambda row: row, asked: list[Prefix] | None = None) -> None:
        self.asked: list[Prefix] = [] if asked is None else asked
        self._table, self._make = table, make
        self._given: dict[Prefix, Any] = {}

    @property
    def width(self) -> int:
        """V, the number of ids."""
        return self._table.width

    def __call__(self, prefix: Iterable[int]) -> Any:
        """The row behind a prefix.

        Raises:
            ValueError: an id that is none of the vocabulary, such as a pad.
        """
        wanted = tuple(map(int, prefix))
        strange = [token for token in wanted if not 0 <= token < self._table.width]
        if strange:
            raise ValueError(f"the model is asked what follows token {strange[0]}, and has the ids 0 … {self._table.width - 1}")
        self.asked.append(wanted)
        self._given[wanted] = row = self._fresh(wanted)
        return row

    def __getitem__(self, prefix: Prefix) -> Any:
        return self._given[prefix] if prefix in self._given else self._fresh(prefix)

    def __iter__(self) -> Iterator[Prefix]:
        return iter(dict.fromkeys(self.asked))

    def __len__(self) -> int:
        return len(set(self.asked))

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def giving(self, make: Callable[[Array], Any]) -> TableModel:
        """The same model with rows of another kind."""
        return TableModel(self._table, make)

    def clone(self) -> TableModel:
        """The same model with the same questions, and rows that nobody has written into."""
        return TableModel(self._table, self._make, self.asked)

    def forget(self) -> None:
        """All that it was asked."""
        self.asked.clear()
        self._given.clear()

    def _fresh(self, prefix: Prefix) -> Any:
        return self._make(self._table.rows[self._table.number(prefix)])


def _pieces(rows: Array) -> Iterator[bytes]:
    size = len(rows.data) // rows.shape[0]
    return (rows.data[start : start + size] for start in range(0, len(rows.data), size))
