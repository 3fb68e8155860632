"""A ragged batch of chains as an engine's kernel is handed one: rows flat or dense, lengths cumulative or not, ids of either width. Standard library only.

It is made from a case of `verify_batch`, whose dense rows hold every request; a subject asks for the views that its kernel takes. Each view is an array of the
subject's kind, made once for a call.
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

LOGITS = "logits"
"""The value of the convention `target` under which rows of the target are raw, and parameters of requests are the subject's to apply."""

Slot = tuple[int, int]
"""A request, and a place in its rows."""


class Inclusive(NamedTuple):
    """N drafts of all requests, one behind the other.

    Attributes:
        target: (N, V), the rows that the drafts are verified against.
        bonus: (B, V), the row behind each request's drafts.
        q: (N, W) or None.
        draft: (N,).
        ends: (B,), sums of the lengths, each with its own: the last is N.
    """

    target: Any
    bonus: Any
    q: Any
    draft: Any
    ends: Any


class Exclusive(NamedTuple):
    """Drafts of all requests, one behind the other, with a slot for each request's bonus behind its own.

    Attributes:
        target: (N + B, V), bonus rows in line.
        q: (N + B, W) or None; the rows in bonus slots mean nothing.
        draft: (N + B,); nor do the ids there.
        starts: (B + 1,), where each request begins, from 0 to N + B.
    """

    target: Any
    q: Any
    draft: Any
    starts: Any


class Dense(NamedTuple):
    """Drafts of each request in a row of its own, with padding behind them.

    Attributes:
        target: (B, K + 1, V).
        q: (B, K, W) or None.
        draft: (B, K).
    """

    target: Any
    q: Any
    draft: Any


class Packed:
    """A batch of B requests over V tokens.

    What belongs to single requests has shape (B,): `lengths` (0 … K drafts), `temperature` (0 is greedy), `greedy`, `top_k`, `top_p`, and, where the subject
    declares that it takes them, `seeds`, or `generators`, one for each. `coins` (N + B,) lie in line with the slots of `flat_exclusive`.
    `id_map` (W,) gives the target's id of each of the draft's W; without one it is None, and both have the same ids. Draft ids and columns of q are the draft's own.
    """

    seed: int | None = None
    seeds: Any = None
    generator: Any = None
    generators: Any = None
    coins: Any = None

    def __init__(self, case: Case, into: Into) -> None:
        self._case, self._handed = case, Handed(into)
        self._lengths = [int(n) for n in array_of(case, "lengths").values]
        self._ids = str(case.get("ids", "int64"))
        self.written = self._handed.written

    def lend(self, options: Mapping[str, Any]) -> None:
        """What a call brings besides: its seeds, generators or coins."""
        for name, value in options.items():
            setattr(self, name, value)

    def __len__(self) -> int:
        """B."""
        return len(self._lengths)

    @property
    def places(self) -> int:
        """K, at least the longest draft."""
        return array_of(self._case, "q").shape[1]

    @property
    def vocabulary(self) -> int:
        """V."""
        return array_of(self._case, "p").shape[2]

    @property
    def lengths(self) -> Any:
        """(B,), drafts of each request."""
        return self._numbers("lengths", lambda: self._lengths)

    @property
    def temperature(self) -> Any:
        """(B,), float32; 0 is greedy."""
        return self._handed.give("temperature", lambda: array("float32", (len(self),), self._of_requests("temperature", 1.0)))

    @property
    def greedy(self) -> Any:
        """(B,), bool."""
        return self._handed.give("greedy", lambda: array("bool", (len(self),), [t == 0 for t in self._of_requests("temperature", 1.0)]))

    @property
    def top_k(self) -> Any:
        """(B,); V keeps all."""
        return self._numbers("top_k", lambda: self._of_requests("top_k", self.vocabulary))

    @property
    def top_p(self) -> Any:
        """(B,), float32; 1 keeps all."""
        return self._handed.give("top_p", lambda: array("float32", (len(self),), self._of_requests("top_p", 1.0)))

    @property
    def id_map(self) -> Any:
        """(W,), the target's id of each draft id, or None."""
        return self._numbers("id_map", self._map) if "id_map" in self._case else None

    def flat_inclusive(self) -> Inclusive:
        """N rows, and sums of the lengths that include each request's own."""
        drafts, behind = _slots(self._lengths, 0), list(enumerate(self._lengths))
        return Inclusive(
            self._rows("inclusive/target", drafts), self._rows("inclusive/bonus", behind), self._rows_of_q("inclusive/q", drafts),
            self._numbers("inclusive/draft", lambda: [self._draft()[b][i] for b, i in drafts]),
            self._numbers("inclusive/ends", lambda: list(itertools.accumulate(self._lengths))),
        )  # fmt: skip

    def flat_exclusive(self) -> Exclusive:
        """N + B rows with the bonus rows in line, and where each request begins."""
        slots = _slots(self._lengths, 1)
        return Exclusive(
            self._rows("exclusive/target", slots), self._rows_of_q("exclusive/q", slots),
            self._numbers("exclusive/draft", lambda: [x for row, n in zip(self._draft(), self._lengths, strict=True) for x in (*row[:n], self._pad())]),
            self._numbers("exclusive/starts", lambda: list(itertools.accumulate((n + 1 for n in self._lengths), initial=0))),
        )  # fmt: skip

    def dense(self, fill: int | None = None) -> Dense:
        """A row for each request; behind its drafts `fill` stands for ids, else what the batch happens to hold."""
        every, shape = [(b, i) for b in range(len(self)) for i in range(self.places)], (len(self), self.places)

        def ids() -> list[int]:
            lines = zip(self._draft(), self._lengths, strict=True)
            return [x if i < n or fill is None else fill for row, n in lines for i, x in enumerate(row)]

        q = self._rows_of_q("dense/q", every, shape, blank=False)
        return Dense(self._handed.give("dense/target", self._target), q, self._numbers(f"dense {fill}/draft", ids, shape))

    def scratch(self, name: str) -> Any:
        """Memory for output, as an engine finds it, the same whenever it is asked for in a call: NaN or other numbers where the subject declares it.

        "out" (B, K + 1), "flat" (N + B,), "accepted" (B,), "emitted" (B,): ids; "weights" (B, V) of the target's dtype.
        """
        rows, flat = len(self), sum(self._lengths) + len(self)
        shapes = {"out": (rows, self.places + 1), "flat": (flat,), "accepted": (rows,), "emitted": (rows,), "weights": (rows, self.vocabulary)}
        dtype = array_of(self._case, "p").dtype if name == "weights" else self._ids
        return self._handed.give(f"{SCRATCH}/{name}", lambda: filled(dtype, shapes[name], poison_of(self._case, name)))

    def _target(self) -> Array:
        if self._case.get("target") != LOGITS:
            return array_of(self._case, "p")
        return array_of(self._case, "logits") if "logits" in self._case else _logs(array_of(self._case, "p"))

    def _rows(self, name: str, slots: Sequence[Slot]) -> Any:
        return self._handed.give(name, lambda: _taken(self._target(), slots, self._blank(self.vocabulary)))

    def _rows_of_q(self, name: str, slots: Sequence[Slot], shape: tuple[int, ...] | None = None, *, blank: bool = True) -> Any:
        """In the draft's own columns; with `blank`, what is behind a request's drafts is no row of it."""
        if self._case.get("no_q"):
            return None
        mine = [(b, i if i < self._lengths[b] or not blank else self.places) for b, i in slots]

        def made() -> Array:
            rows = _taken(self._drafter(), mine, self._blank(len(self._map())))
            return Array(rows.dtype, (*(shape or rows.shape[:1]), *rows.shape[1:]), rows.data)

        return self._handed.give(name, made)

    def _drafter(self) -> Array:
        """Q (B, K, W)."""
        q, columns = array_of(self._case, "q"), self._map()
        return q if "id_map" not in self._case else array(q.dtype, (*q.shape[:2], len(columns)), [row[x] for row in q.rows() for x in columns])

    def _blank(self, width: int) -> Array:
        undefined = self._pad() not in range(self.vocabulary)
        return array(array_of(self._case, "p").dtype, (width,), [math.nan if undefined else 0.0] * width)

    def _numbers(self, name: str, numbers: Callable[[], Sequence[float]], shape: tuple[int, ...] | None = None) -> Any:
        """Ids and counts, of the width that the batch has."""

        def made() -> Array:
            found = [int(x) for x in numbers()]
            return array(self._ids, shape or (len(found),), found)

        return self._handed.give(name, made)

    def _of_requests(self, name: str, otherwise: float) -> list[float]:
        return list(array_of(self._case, name).values) if name in self._case else [otherwise] * len(self)

    def _map(self) -> list[int]:
        return [int(x) for x in array_of(self._case, "id_map").values] if "id_map" in self._case else list(range(self.vocabulary))

    def _draft(self) -> list[list[int]]:
        """(B, K), the draft's ids; a pad that is an id of the target's alone is the draft's first."""
        own = {token: place for place, token in reversed(list(enumerate(self._map())))}
        numbers = [own.get(int(x), int(x) if x not in range(self.vocabulary) else 0) for x in array_of(self._case, "draft").values]
        return [numbers[b * self.places : (b + 1) * self.places] for b in range(len(self))]

    def _pad(self) -> int:
        pad = self._case.get("pad", 0)
        assert isinstance(pad, int)
        return pad


def _logs(p: Array) -> Array:
    """Logits of rows that are not filtered; padding that is no number stays none."""
    return array(p.dtype, p.shape, [math.log(x) if x > 0 else -math.inf if x == 0 else math.nan for x in p.values])


def _slots(lengths: Sequence[int], more: int) -> list[Slot]:
    """Of each request its drafts, and as many `more`."""
    return [(b, i) for b, n in enumerate(lengths) for i in range(n + more)]


def _taken(table: Array, slots: Sequence[Slot], blank: Array) -> Array:
    """Rows (len(slots), ...) of a table (B, places, ...); one that lies behind its places is blank."""
    places, width = table.shape[1:]
    size = struct.calcsize(FORMATS[table.dtype]) * width
    rows = (table.data[(b * places + i) * size :][:size] if i < places else blank.data for b, i in slots)
    return Array(table.dtype, (len(slots), width), b"".join(rows))
