"""A packed batch of draft trees as an engine's kernel is handed one: first children and next siblings by slot, ids of either width. Standard library only.

It is made from a case of `verify_tree_lcrs`, in which nodes and rows of all requests stand one behind the other. Slot 0 of a request is its context, slot k + 1 its
k-th node; what slots behind a request's last node hold means nothing. Each array is of the subject's kind, made once for a call.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from specverify.contracts.arrays import FORMATS, Array, array
from specverify.contracts.base import Case, array_of
from specverify.contracts.bundle import SCRATCH, Handed, Into, filled, poison_of
from specverify.contracts.nodes import ROOT, numbers

END = -1
"""The number that ends a list of siblings, unless a subject asks for another."""


class Links(NamedTuple):
    """Trees of B requests in S slots each.

    Attributes:
        tokens: (B, S), the token of each node; that of slot 0 means nothing.
        first_child: (B, S), the slot of the first child, or the end.
        next_sibling: (B, S), the slot of the sibling to be tried next, or the end.
        target: (B, S, V), rows of the target after the context and after each node.
        q: (B, S, V), the laws that children were drawn from, or None; rows of slots without children mean nothing.
    """

    tokens: Any
    first_child: Any
    next_sibling: Any
    target: Any
    q: Any


class PackedTrees:
    """A batch of B requests over V tokens, in S slots each.

    Of each request are, in shape (B,): `sizes`, its nodes, 0 … S - 1; `temperature` and `greedy`; and, where the subject declares that it takes them, `seeds`, or
    `generators`, one for each. `coins` (B, S) are uniform numbers: as many for each request as it has slots.
    """

    seed: int | None = None
    seeds: Any = None
    generator: Any = None
    generators: Any = None
    coins: Any = None

    def __init__(self, case: Case, into: Into) -> None:
        self._case, self._handed = case, Handed(into)
        self._sizes = numbers(case, "sizes")
        self._ids, self._pad = str(case.get("ids", "int64")), int(case.get("pad", 0))  # type: ignore[call-overload]
        self.written = self._handed.written

    def lend(self, options: Mapping[str, Any]) -> None:
        """What a call brings besides: its seeds, generators or coins."""
        for name, value in options.items():
            setattr(self, name, _in_rows(value, len(self), self.slots) if name == "coins" else value)

    def __len__(self) -> int:
        """B."""
        return len(self._sizes)

    @property
    def slots(self) -> int:
        """S, more than the largest tree has nodes."""
        return slots_of(self._case)

    @property
    def vocabulary(self) -> int:
        """V."""
        return array_of(self._case, "p").shape[1]

    @property
    def sizes(self) -> Any:
        """(B,), nodes of each request."""
        return self._numbers("sizes", (len(self),), lambda: self._sizes)

    @property
    def temperature(self) -> Any:
        """(B,), float32; 0 is greedy, and the rows of the target are point masses then."""
        return self._handed.give("temperature", lambda: array("float32", (len(self),), self._temperatures()))

    @property
    def greedy(self) -> Any:
        """(B,), bool."""
        return self._handed.give("greedy", lambda: array("bool", (len(self),), [t == 0 for t in self._temperatures()]))

    def lcrs(self, end: int = END) -> Links:
        """Links and rows by slot; `end` ends the lists.

        Raises:
            ValueError: an end that is the slot of a node.
        """
        if 0 < end < self.slots:
            raise ValueError(f"{end} is the slot of a node; lists of {self.slots} slots end with a number below 1, or from {self.slots} on")
        shape, held = (len(self), self.slots), split(array_of(self._case, "parents"), self._sizes)
        undefined = self._pad if self._undefined() else end

        def linked(which: int) -> list[int]:
            return [x for parents in held for x in self._row(links([int(above) for above in parents.values], end)[which], undefined)]

        def tokens() -> list[int]:
            return [x for one in split(array_of(self._case, "tokens"), self._sizes) for x in self._row([self._pad, *map(int, one.values)], self._pad)]

        return Links(
            self._numbers("lcrs/tokens", shape, tokens), self._numbers(f"lcrs {end}/first_child", shape, lambda: linked(0)),
            self._numbers(f"lcrs {end}/next_sibling", shape, lambda: linked(1)), self._rows("target", "p"), self._rows("q", "q"),
        )  # fmt: skip

    def scratch(self, name: str) -> Any:
        """Memory for output, as an engine finds it, the same whenever it is asked for in a call: NaN or other numbers where the subject declares it.

        "out" (B, S), "path" (B, S), "accepted" (B,), "emitted" (B,): ids; "weights" (B, V) of the target's dtype.
        """
        rows = len(self)
        shapes = {"out": (rows, self.slots), "path": (rows, self.slots), "accepted": (rows,), "emitted": (rows,), "weights": (rows, self.vocabulary)}
        dtype = array_of(self._case, "p").dtype if name == "weights" else self._ids
        return self._handed.give(f"{SCRATCH}/{name}", lambda: filled(dtype, shapes[name], poison_of(self._case, name)))

    def _undefined(self) -> bool:
        """Whether what slots without a node hold is no id and no number."""
        return self._pad not in range(self.vocabulary)

    def _row(self, held: Sequence[int], fill: int) -> list[int]:
        return [*held, *[fill] * (self.slots - len(held))]

    def _numbers(self, name: str, shape: tuple[int, ...], made: Callable[[], Sequence[int]]) -> Any:
        """Ids, slots and counts, of the width that the batch has."""
        return self._handed.give(name, lambda: array(self._ids, shape, made()))

    def _rows(self, name: str, argument: str) -> Any:
        """(B, S, V); rows of slots without a node are sure of the pad, or no numbers."""
        return None if self._case[argument] is None else self._handed.give(f"lcrs/{name}", lambda: self._by_slot(array_of(self._case, argument)))

    def _by_slot(self, table: Array) -> Array:
        blank = array(table.dtype, (self.vocabulary,), [math.nan if self._undefined() else float(token == self._pad) for token in range(self.vocabulary)])
        held = split(table, [size + 1 for size in self._sizes])
        return Array(table.dtype, (len(self), self.slots, self.vocabulary), b"".join(one.data + blank.data * (self.slots - one.shape[0]) for one in held))

    def _temperatures(self) -> Sequence[float]:
        return array_of(self._case, "temperature").values if "temperature" in self._case else [1.0] * len(self)


def slots_of(case: Case) -> int:
    """S: as many as the case says, else the fewest that hold all of its trees."""
    slots = case.get("slots", 0)
    assert isinstance(slots, int)
    return max(slots, 1 + max(numbers(case, "sizes")))


def links(parents: Sequence[int], end: int = END) -> tuple[list[int], list[int]]:
    """First child and next sibling of the context's slot and of each node's."""
    first, sibling, last = [end] * (len(parents) + 1), [end] * (len(parents) + 1), dict[int, int]()
    for slot, parent in enumerate(parents, 1):
        if parent in last:
            sibling[last[parent]] = slot
        else:
            first[parent - ROOT] = slot
        last[parent] = slot
    return first, sibling


def split(table: Array, counts: Sequence[int]) -> list[Array]:
    """Pieces of a table, as many entries of its first axis as each count says."""
    size = struct.calcsize(FORMATS[table.dtype]) * math.prod(table.shape[1:])
    starts = itertools.accumulate(counts, initial=0)
    return [Array(table.dtype, (n, *table.shape[1:]), table.data[a * size : (a + n) * size]) for a, n in zip(starts, counts, strict=False)]


def _in_rows(coins: Any, rows: int, slots: int) -> Any:
    """Numbers (B * S,) as (B, S), of whatever kind."""
    if isinstance(coins, list):
        return [coins[b * slots : (b + 1) * slots] for b in range(rows)]
    return coins.reshape(rows, slots)
