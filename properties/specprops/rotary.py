"""Properties of `rotary`: queries and keys, each rotated by the angles of its own position."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged
from specprops.rotations import ROTARY, Line, pairings, turned
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Array, Case, array, array_of
from specverify.contracts.arrays import EPS

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

BASE, LENGTH, LARGEST = 100.0, 12, 4
"""Of the angles; positions in the tables; the largest entry of a query."""
ROUNDINGS = 8
"""Steps of the last place, relative to the entries of a pair: two products and a sum, each rounded, perhaps of tables that were rounded again."""
SHIFT = 3
Heads = list[list[list[Line]]]
"""(B, H, T) rows."""


def _tables(dtype: str, width: int) -> dict[str, Array]:
    angles = [[at / BASE ** (i / (width // 2)) for i in range(width // 2)] * 2 for at in range(LENGTH)]
    return {name: array(dtype, (LENGTH, width), (of(x) for row in angles for x in row)) for name, of in (("cos", math.cos), ("sin", math.sin))}


def _case(subject: Description, positions: Sequence[Sequence[int]], *, heads: tuple[int, int] = (2, 1), width: int = 4, seed: int = 0) -> Case:
    dtype, rng = subject.dtypes[0], random.Random(seed)
    batch, length = len(positions), len(positions[0])
    told = {
        name: array(dtype, (batch, count, length, width), [rng.randint(1, LARGEST) for _ in range(batch * count * length * width)])
        for name, count in zip("qk", heads, strict=True)
    }
    return {**told, **_tables(dtype, width), "positions": array("int64", (batch, length), itertools.chain(*positions))}


def first(subject: Description) -> list[Case]:
    """The start; a row; a later row, as after a rollback; a tree, whose siblings share a position; two requests at different places; one pair."""
    return [
        _case(subject, positions, heads=heads, width=width)
        for positions, heads, width in (
            ([[0]], (1, 1), 2), ([[1]], (1, 1), 2), ([[0, 1, 2]], (2, 1), 4), ([[4, 5, 6]], (2, 2), 4), ([[3, 4, 4, 5, 5]], (4, 2), 6), ([[0, 1], [7, 8]], (2, 1), 4), ([[2, 2], [5, 0]], (1, 1), 8),
        )
    ]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """Any positions, for each request its own."""
    batch, length = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    positions = [[draw(st.integers(0, LENGTH - 1)) for _ in range(length)] for _ in range(batch)]
    return _case(subject, positions, heads=draw(st.sampled_from(((1, 1), (2, 1), (2, 2)))), width=2 * draw(st.integers(1, 4)), seed=draw(st.integers(0, 99)))


def _rotated(case: Case, name: str, pairing: str) -> Heads:
    """Queries or keys as they must come out."""
    cos, sin = (list(array_of(case, table).rows()) for table in ("cos", "sin"))

    def one(row: Line, at: int) -> Line:
        return turned(row, pairing, lambda a, b, i: (a * cos[at][i] - b * sin[at][i], b * cos[at][i] + a * sin[at][i]))

    given: Any = array_of(case, name).nested()
    positions: Any = array_of(case, "positions").nested()
    return [[[one(row, at) for row, at in zip(head, places, strict=True)] for head in heads] for heads, places in zip(given, positions, strict=True)]


def _flat(heads: Heads) -> list[Line]:
    return [row for request in heads for head in request for row in head]


def _slack(case: Case) -> float:
    return ROUNDINGS * EPS[array_of(case, "q").dtype] * 2 * LARGEST


def _near(found: Iterable[Line], right: Iterable[Line], slack: float) -> bool:
    return all(abs(a - b) <= slack for one, other in zip(found, right, strict=True) for a, b in zip(one, other, strict=True))


@prop("ROT-020", "The result is queries and keys, in the shapes that were given.", source=ROTARY, guards="well-formed", first=first, cases=cases, limit=20)
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("ROT-021", "Each query and key is rotated by the angles of its own position, all by one pairing.", source=ROTARY + "; faults B085", guards="position", after=("ROT-020",),
      first=first, cases=cases, limit=60)  # fmt: skip
def test_positions(trial: Trial, case: Case) -> None:
    found = [list(part.rows()) for part in trial.value(case).outcome]
    slack, seen = _slack(case), []
    for pairing in pairings(trial.subject):
        right = [_flat(_rotated(case, name, pairing)) for name in "qk"]
        if all(_near(*pair, slack) for pair in zip(found, right, strict=True)):
            return
        seen += [_first_wrong(name, pairing, *pair, slack) for name, pair in zip("qk", zip(found, right, strict=True), strict=True) if not _near(*pair, slack)][
            :1
        ]
    raise Violation("A row is not rotated by the angles of its position.", tuple(seen), kind="angles")


def _first_wrong(name: str, pairing: str, found: Sequence[Line], right: Sequence[Line], slack: float) -> Row:
    place = next(i for i, pair in enumerate(zip(found, right, strict=True)) if not _near([pair[0]], [pair[1]], slack))
    return Row(f"row {place} of {name}, {pairing}", _shown(found[place]), _shown(right[place]))


def _shown(row: Line) -> str:
    return f"({', '.join(f'{x:.4g}' for x in row)})"


@prop("ROT-022", "A rotation keeps the length of every row.", source=ROTARY, guards="position", after=("ROT-020",), first=first, cases=cases, limit=30)
def test_lengths(trial: Trial, case: Case) -> None:
    for name, part in zip("qk", trial.value(case).outcome, strict=True):
        for given, row in zip(array_of(case, name).rows(), part.rows(), strict=True):
            lengths = math.hypot(*row), math.hypot(*given)
            if not abs(lengths[0] - lengths[1]) <= _slack(case) * len(row):
                raise Violation(
                    "A rotated row has another length.", (Row(f"length of a row of {name}", f"{lengths[0]:.6g}", f"{lengths[1]:.6g}"),), kind="length"
                )


@prop("ROT-023", "The product of a query and a key depends on the difference of their positions alone.", source=ROTARY + ", equation 16", guards="position", after=("ROT-020",),
      first=lambda subject: [_case(subject, [[0, 1, 2]]), _case(subject, [[1, 4, 4]], width=8)])  # fmt: skip
def test_differences(trial: Trial, case: Case) -> None:
    positions = array_of(case, "positions")
    later = {**case, "positions": array("int64", positions.shape, [at + SHIFT for at in positions.values])}
    here, there = (_products(trial.value(one).outcome) for one in (case, later))
    slack = _slack(case) * LARGEST * array_of(case, "q").shape[-1]
    wrong = next(((a, b) for a, b in zip(here, there, strict=True) if not abs(a - b) <= slack), None)
    if wrong:
        raise Violation(
            "Positions that are shifted change a product.", (Row(f"product {SHIFT} positions later", f"{wrong[1]:.6g}", f"{wrong[0]:.6g}"),), kind="differences"
        )


def _products(parts: Sequence[Array]) -> list[float]:
    """Of every query with every key of the first head of keys, request by request."""
    q: Any
    k: Any
    q, k = (part.nested() for part in parts)
    return [sum(x * y for x, y in zip(a, b, strict=True)) for ours, theirs in zip(q, k, strict=True) for head in ours for a in head for b in theirs[0]]


@prop(
    "ROT-030",
    "The call leaves its arguments as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("ROT-020",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
