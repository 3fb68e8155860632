"""What a kernel over many requests gives back, in whatever form, as one row of token ids for each request. Standard library only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specverify.contracts.arrays import FLOATS, Array
from specverify.contracts.base import Convention, Malformed, kind_of, token_list
from specverify.law import Outcome

SHOWN = 160
"""Letters of a raw result that cannot be read."""

OUTPUT = Convention(
    "what comes back: rows of token ids, filled up behind their ends or not, and the accepted lengths (B,) beside them where ids may stand behind an end; the "
    "same with the numbers of emitted tokens; the accepted lengths (B,) and the tokens behind them (B,); all ids one behind the other, and how many of them are of each request "
    "(B,); or ids in slots (N + B,), length + 1 for each request, and the accepted lengths (B,)",
    ("rows", "rows and counts", "accepted and bonus", "flat and counts", "in line and accepted"),
)
"""The convention `output`; "rows" if nothing is declared."""


@dataclass(frozen=True)
class Expected:
    """What a result must hold, and how it is to be read.

    Attributes:
        drafts: draft token ids of each request.
        width: size of the vocabulary.
        output: a word of the convention.
        sentinel: what fills unused slots; none: any number that is no token id.
    """

    drafts: Sequence[Sequence[int]]
    width: int
    output: str = "rows"
    sentinel: int | None = None

    def fills(self, number: int) -> bool:
        """Whether a slot that holds the number is unused."""
        return number == self.sentinel if self.sentinel is not None else not 0 <= number < self.width

    def __str__(self) -> str:
        most = ", ".join(str(len(draft) + 1) for draft in self.drafts[:8]) + (", …" if len(self.drafts) > 8 else "")  # noqa: PLR2004
        return f"expected {len(self.drafts)} rows of 1 to ({most}) ids below {self.width}"


def read(result: object, expected: Expected) -> Outcome:
    """A tuple of rows, each a tuple of 1 to length + 1 token ids.

    Raises:
        Malformed: with what came and what was expected.
    """
    try:
        rows = _READERS[expected.output](result, expected)
        for number, (row, draft) in enumerate(zip(rows, expected.drafts, strict=True)):
            _check(number, row, len(draft), expected.width)
    except Malformed as problem:
        told = repr(_nested(result))
        raise Malformed(f"{problem}; {expected}; the result is {told[:SHOWN]}{'…' * (len(told) > SHOWN)}") from problem
    return tuple(map(tuple, rows))


def _check(number: int, row: list[int], length: int, width: int) -> None:
    if not 1 <= len(row) <= length + 1:
        raise Malformed(f"row {number} holds {len(row)} tokens for {length} draft token{'s' * (length != 1)}")
    outside = [token for token in row if not 0 <= token < width]
    if outside:
        raise Malformed(f"row {number} holds token id {outside[0]}, which is outside 0 … {width - 1}")


def _rows(result: object, expected: Expected, beyond: int = 1) -> list[list[int]]:
    """Rows up to their ends; where counts stand beside them, `beyond` more tokens than they say."""
    match result:
        case [rows, counts] if _depth(rows) == 2 and _depth(counts) == 1:  # noqa: PLR2004
            wanted = [count + beyond for count in _vector(counts, expected)]
            return [_counted(i, row, count) for i, (row, count) in enumerate(zip(_matrix(rows, expected), wanted, strict=True))]
        case _:
            return [_cut(i, row, expected) for i, row in enumerate(_matrix(result, expected))]


def with_counts(result: object, expected: Expected) -> list[list[int]]:
    """Rows up to their ends, of any length; where numbers of ids stand beside them, as many as these say."""
    return _rows(result, expected, beyond=0)


def _accepted_and_bonus(result: object, expected: Expected) -> list[list[int]]:
    accepted, bonus = _two(result, "of accepted lengths and of the tokens behind them", expected)
    _vector(accepted, expected)
    for number, (n, draft) in enumerate(zip(accepted, expected.drafts, strict=True)):
        if not 0 <= n <= len(draft):
            raise Malformed(f"row {number} accepts {n} of {len(draft)} draft tokens")
    return [[*draft[:n], token] for draft, n, token in zip(expected.drafts, accepted, bonus, strict=True)]


def _flat_and_counts(result: object, expected: Expected) -> list[list[int]]:
    ids, counts = _two(result, "of all ids and of how many are each request's", expected)
    if min(counts, default=0) < 0 or len(ids) != sum(counts):
        raise Malformed(f"{len(ids)} ids came for counts that sum to {sum(counts)}")
    ends = list(itertools.accumulate(counts))
    return [ids[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _in_line_and_accepted(result: object, expected: Expected) -> list[list[int]]:
    ids, accepted = _two(result, "of slots and of accepted lengths", expected)
    sizes = [len(draft) + 1 for draft in expected.drafts]
    if len(ids) != sum(sizes):
        raise Malformed(f"{len(ids)} slots came for {sum(sizes)} drafts and bonus tokens")
    rows = [ids[end - size : end] for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]
    return [_counted(i, row, n + 1) for i, (row, n) in enumerate(zip(rows, accepted, strict=True))]


_READERS: dict[str, Callable[[object, Expected], list[list[int]]]] = {
    "rows": _rows, "rows and counts": with_counts, "accepted and bonus": _accepted_and_bonus, "flat and counts": _flat_and_counts, "in line and accepted": _in_line_and_accepted,
}  # fmt: skip


def _two(result: object, what: str, expected: Expected) -> tuple[list[int], list[int]]:
    """Two vectors, the second with a number for each request."""
    if not isinstance(result, list) or len(result) != 2:  # noqa: PLR2004
        raise Malformed(f"there are no two vectors, {what}")
    return token_list(result[0]), _vector(result[1], expected)


def _matrix(value: object, expected: Expected) -> list[list[int]]:
    rows = _nested(value)
    if not isinstance(rows, list) or len(rows) != len(expected.drafts) or not all(isinstance(row, list) for row in rows):
        raise Malformed(f"{kind_of(value)} is no list or matrix of one row for each of {len(expected.drafts)} requests")
    return [token_list(row) for row in rows]


def _vector(value: object, expected: Expected) -> list[int]:
    numbers = token_list(value)
    if len(numbers) != len(expected.drafts):
        raise Malformed(f"{len(numbers)} numbers stand for {len(expected.drafts)} requests")
    return numbers


def _counted(number: int, row: list[int], count: int) -> list[int]:
    if not 0 <= count <= len(row):
        raise Malformed(f"row {number} has {len(row)} slots, and {count} tokens are told")
    return row[:count]


def _cut(number: int, row: list[int], expected: Expected) -> list[int]:
    """The row up to its first unused slot; behind that no token may stand."""
    end = next((i for i, token in enumerate(row) if expected.fills(token)), len(row))
    if not all(map(expected.fills, row[end:])):
        raise Malformed(f"row {number} holds tokens behind an unused slot")
    return row[:end]


def _depth(value: object) -> int:
    if isinstance(value, Array):
        return len(value.shape)
    return 1 + _depth(value[0]) if isinstance(value, list) and value else int(isinstance(value, list))


def _nested(value: object) -> object:
    """Arrays inside lists too as nested lists; floating-point numbers are no token ids."""
    if isinstance(value, Array):
        if value.dtype in FLOATS or value.dtype == "bool":
            raise Malformed(f"token ids came as {value.dtype}, not as integers")
        return value.nested()
    return [_nested(item) for item in value] if isinstance(value, list) else value
