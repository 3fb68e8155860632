"""Rows of logits, and what may, must and must not be kept of them. Ties at the border and the token on the top-p boundary are conventions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import rows
from specverify.contracts import Array, array
from specverify.contracts.arrays import EPS
from specverify.stats import GRID

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Logits = tuple[float, ...]
TOP_P = (0.5, 0.25, 0.75, 0.9, 0.95, 1.0)


@st.composite
def row(draw: st.DrawFn, v: int) -> Logits:
    """Whole and half numbers, which tie often and are exact in every dtype; -inf; all equal; a huge range; one finite entry."""
    kind = draw(st.sampled_from(("plain", "plain", "masked", "equal", "huge range", "one finite")))
    values = [x / 2 for x in draw(st.lists(st.integers(-8, 8), min_size=v, max_size=v))]
    keep = draw(st.integers(0, v - 1))
    if kind == "equal":
        return (values[0],) * v
    if kind == "huge range":
        return tuple(x * 32 for x in values)
    if kind == "one finite":
        return tuple(x if i == keep else -math.inf for i, x in enumerate(values))
    if kind == "masked":
        hidden = draw(st.lists(st.booleans(), min_size=v, max_size=v))
        return tuple(-math.inf if h and i != keep else x for i, (x, h) in enumerate(zip(values, hidden, strict=True)))
    return tuple(values)


@st.composite
def batch(draw: st.DrawFn, subject: Description, dtypes: tuple[str, ...] | None = None) -> Array:
    """Rows of logits in a dtype and shape that the subject declares."""
    dtype, v, shape = draw(st.sampled_from(dtypes or subject.dtypes)), draw(st.integers(2, 8)), draw(rows.shapes(subject))
    lines = [draw(row(v)) for _ in range(shape[0] if shape else 1)]
    return array(dtype, (*shape, v), (x for line in lines for x in line))


@dataclass(frozen=True)
class Kept:
    """Indices that a filter must keep and may keep of a row, and how many at least and at most."""

    must: frozenset[int]
    may: frozenset[int]
    least: int = 1
    most: int | None = None

    def granting(self, vanishing: frozenset[int]) -> Kept:
        """The same rule with some tokens free to go: those that are too improbable to matter."""
        return Kept(self.must - vanishing, self.may, max(1, self.least - len(vanishing)), self.most)

    def refuses(self, found: frozenset[int]) -> str | None:
        """Why a set of kept indices is wrong, or none."""
        if missing := self.must - found:
            return f"token {min(missing)} is dropped"
        if foreign := found - self.may:
            return f"token {min(foreign)} is kept"
        if not self.least <= len(found) <= (self.most or len(found)):
            return f"{len(found)} tokens are kept"
        return None


def top_k(logits: Sequence[float], k: int) -> Kept:
    """The k largest; of those that tie at the border any that fill the k places, or all. Masked tokens count for nothing."""
    finite = [i for i, x in enumerate(logits) if x != -math.inf]
    if k >= len(finite):
        return Kept(frozenset(finite), frozenset(range(len(logits))))
    border = sorted((logits[i] for i in finite), reverse=True)[k - 1]
    return Kept(frozenset(i for i in finite if logits[i] > border), frozenset(i for i in finite if logits[i] >= border), least=k)


def top_p(logits: Sequence[float], p: float, dtype: str) -> Kept:
    """Tokens from the most probable on until their mass reaches p; rounding of the cumulative sum may move the border.

    A token must stay if its mass and all that is at least as probable stays below p, and must go if what is strictly more probable
    reaches p; between them lie ties and the token on the boundary, which are conventions. The most probable stays in any case.
    """
    mass = softmax(logits)
    slack = 4 * (len(logits) + 1) * EPS[dtype]
    finite = [i for i, x in enumerate(logits) if x != -math.inf]
    below = {i: math.fsum(mass[j] for j in finite if logits[j] > logits[i]) for i in finite}
    upto = {i: math.fsum(mass[j] for j in finite if logits[j] >= logits[i]) for i in finite}
    top = max(logits)
    must = {i for i in finite if upto[i] <= p - slack or (p == 1 and mass[i] > slack)}
    may = {i for i in finite if below[i] < p + slack or logits[i] == top} | (set(range(len(logits))) if p == 1 else set())
    sure = frozenset(i for i in must | ({finite[0]} if len(finite) == 1 else set()))
    return Kept(sure, frozenset(may))


def vanishing(logits: Sequence[float]) -> frozenset[int]:
    """Tokens less probable than GRID: a cumulative sum that has rounded to 1 before them drops them, and no law shows it."""
    return frozenset(i for i, mass in enumerate(softmax(logits)) if mass < GRID)


def softmax(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    """Probabilities of logits / temperature, in double precision."""
    top = max(logits)
    weights = [math.exp((x - top) / temperature) if x != -math.inf else 0.0 for x in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def show(logits: Sequence[float]) -> str:
    """A row in a line."""
    return "(" + ", ".join("-inf" if x == -math.inf else f"{x:g}" for x in logits) + ")"
