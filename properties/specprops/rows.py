"""Hypothesis strategies of rows of probabilities: zeros, ties, point masses, equal rows, disjoint supports, subnormals, near-one rows, sums
that differ by an ulp. Everything shrinks towards two tokens and small whole weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specverify.contracts import Array, Family, array
from specverify.contracts.arrays import EPS, round_to

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

LARGEST_WEIGHT = 8
SMALLEST = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest subnormal of each dtype."""
LARGE = (1_000, 32_000)
CELLS = 64
"""Outcomes of a joint law that a screen still resolves: a total variation of 0.15 with probability 99 %."""

Weights = tuple[float, ...]


def weights(v: int) -> st.SearchStrategy[Weights]:
    """Whole weights from 0 to 8, not all zero; small ones tie often."""
    return st.lists(st.integers(0, LARGEST_WEIGHT), min_size=v, max_size=v).map(lambda w: tuple(map(float, w)) if any(w) else (1.0,) + (0.0,) * (v - 1))


def point(v: int) -> st.SearchStrategy[Weights]:
    """A point mass."""
    return st.integers(0, v - 1).map(lambda token: tuple(float(i == token) for i in range(v)))


@st.composite
def row(draw: st.DrawFn, v: int, dtype: str) -> tuple[float, ...]:
    """One row of probabilities, each rounded to `dtype`."""
    kind = draw(st.sampled_from(("weights", "weights", "point", "near one", "subnormal")))
    base = draw(point(v) if kind in ("point", "near one") else weights(v))
    values = list(normalised(base, dtype))
    empty = [i for i, x in enumerate(values) if x == 0]
    if kind == "near one" and empty:
        small = 2 * EPS[dtype]
        values[values.index(1.0)], values[empty[0]] = 1 - small, small
    if kind == "subnormal" and empty:
        values[draw(st.sampled_from(empty))] = SMALLEST[dtype]
    return tuple(values)


@st.composite
def pair(draw: st.DrawFn, v: int, dtype: str) -> tuple[Weights, Weights]:
    """A row of the target and one of the draft, related in the ways that matter."""
    kind = draw(st.sampled_from(("free", "free", "equal", "disjoint", "ulp", "draft is a point")))
    p = draw(row(v, dtype))
    if kind == "equal":
        return p, p
    if kind == "ulp":
        return p, nudged(p, draw(st.integers(0, v - 1)), dtype)
    if kind == "draft is a point":
        return p, draw(point(v))
    q = draw(row(v, dtype))
    if kind == "disjoint":
        cut = draw(st.integers(1, v - 1))
        return normalised(_only(p, range(cut)), dtype), normalised(_only(q, range(cut, v)), dtype)
    return p, q


def normalised(values: Sequence[float], dtype: str) -> Weights:
    """Weights over their sum, rounded to `dtype`."""
    total = sum(values)
    return round_to(dtype, (x / total for x in values))


def nudged(values: Weights, token: int, dtype: str) -> Weights:
    """The row with one entry an ulp smaller: its sum differs in the last bit, and 1 stays the greatest entry."""
    return round_to(dtype, (x * (1 - EPS[dtype]) if i == token else x for i, x in enumerate(values)))


def _only(values: Weights, kept: range) -> Weights:
    """The row cut to some tokens; all of its mass on the first of them if none is left."""
    cut = tuple(x if i in kept else 0.0 for i, x in enumerate(values))
    return cut if sum(cut) > 2.0**-20 else tuple(float(i == kept[0]) for i in range(len(values)))


@st.composite
def batch(draw: st.DrawFn, subject: Description, *, largest: int = 8, dtypes: tuple[str, ...] | None = None) -> Array:
    """Rows of probabilities in a dtype and shape that the subject declares."""
    dtype = draw(st.sampled_from(dtypes or subject.dtypes))
    v = draw(st.integers(2, largest))
    shape = draw(shapes(subject))
    rows = [draw(row(v, dtype)) for _ in range(shape[0] if shape else 1)]
    return array(dtype, (*shape, v), (x for one in rows for x in one))


def shapes(subject: Description) -> st.SearchStrategy[tuple[int, ...]]:
    """Leading axes: none, or a batch of up to three rows where declared."""
    return st.sampled_from(((), (1,), (2,), (3,))) if subject.batch else st.just(())


@st.composite
def large(draw: st.DrawFn, subject: Description, family: str, leading: tuple[int, ...] = ()) -> Family:
    """Rows over a large vocabulary, by family and seed, in a dtype with digits enough for it."""
    dtype = draw(st.sampled_from(wide(subject)))
    return Family(family, draw(st.integers(0, 999)), dtype, (*leading, draw(st.sampled_from(LARGE))))


def wide(subject: Description) -> tuple[str, ...]:
    """The declared dtypes with 24 bits or more."""
    return tuple(dtype for dtype in subject.dtypes if dtype in ("float32", "float64"))


def needs_batches(subject: Description) -> str | None:
    """Why no certificate is drawn: a million single calls take minutes, a few batches of copies a second."""
    return needs_wide(subject) if subject.batch else "no batches are declared; a certificate needs a million draws, which single calls take minutes for"


def needs_wide(subject: Description) -> str | None:
    """Why a law is not judged: half precision rounds by more than the test's resolution, lawfully."""
    return None if wide(subject) else f"laws are judged in float32 and float64, and {', '.join(subject.dtypes)} is declared"
