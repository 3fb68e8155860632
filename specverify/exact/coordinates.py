"""The draws that opaque code takes, and how each is cut into the pieces on which the code does the same, whatever the later draws are.

Source: the black box of the page on exact laws. A uniform number is piecewise constant, so its borders are bisected. A categorical draw is tried
outcome by outcome. A row of exponential (or Gumbel) numbers is a race: the first of E_v / w_v wins, so all but two are pushed far away, and the
winner changes where their ratio is that of their weights.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from specverify.exact.searches import Question, Run, Search, Signature, Value, runs, together
from specverify.exact.space import NotExact

MOST = 4096
"""Borders of one draw beyond which it is read as a number, not decided by."""
DECADES = 60
"""Binary orders of magnitude within which the weights of a race are compared; what is lighter than 2^-60 of another counts as none."""
FAR = 100.0
"""log2 of an exponential number that is pushed far away: with a weight down to 2^-27 the quotient stays finite in single precision."""
STEPS = 1 << 53
"""Steps of a ratio's logarithm between its bounds: finer than a double tells."""
TRIES = 32
"""Random rows on which a race is confirmed, plain ones and such in which every token wins alike; one that is none would have to guess right 64 times."""
ENDS = 0.25
"""Share of random points that stand at an end of their piece."""
CLOSE = 1e-5
"""Lead of a winner below which single precision may see another one."""


@dataclass(frozen=True)
class Fineness:
    """How closely a draw is looked at.

    Attributes:
        grid: points of a uniform number's range that are tried, beside those that its thresholds give.
        fan: points tried at once between two that differ: 1 where calls are counted, more where launches are.
    """

    grid: int
    fan: int


@dataclass(frozen=True)
class Piece:
    """A part of a draw's range: its probability, a point well inside, random points, how it is told, and what was seen there."""

    mass: float
    at: Value
    scattered: Callable[[random.Random], Value]
    told: str
    signature: Signature = ()


@dataclass(frozen=True)
class Uniform:
    """A uniform number on [0, 1), a multiple of 2^-bits.

    Attributes:
        thresholds: where the theory expects a border, such as p / q or cumulative sums: a piece between two of them is not missed, however thin.
        bits: 53 in double precision, 24 in single.
    """

    thresholds: Sequence[float] = ()
    bits: int = 53
    width = 1
    ideal = False
    name = "uniform"

    def anywhere(self, rng: random.Random) -> Value:
        """A random one."""
        return self._number(rng.getrandbits(self.bits))

    def even(self, x: float) -> Value:
        """The one that x in [0, 1) falls on."""
        return self._number(int(x * (1 << self.bits)))

    def given(self, value: Value) -> float:
        """As the code is handed it."""
        return value[0]

    def pieces(self, fineness: Fineness, tried: Sequence[Value]) -> Search[list[Piece]]:
        """Bisected to one step of its grid; values tried before are looked at too."""
        marks = sorted({*self._marks(fineness.grid), *(int(x * (1 << self.bits)) for (x,) in tried)})
        found = yield from runs(marks, self._number, fineness.fan, MOST)
        if found is None:
            raise NotExact(f"A uniform number changes what comes out at more than {MOST:,} places: it is read as a number.", hint=HINT)
        return [self._piece(run) for run in found]

    def _number(self, k: int) -> Value:
        return (k / (1 << self.bits),)

    def _marks(self, grid: int) -> list[int]:
        """The ends, the middles of even cells, and the middles between thresholds."""
        size = 1 << self.bits
        borders = sorted({0.0, 1.0, *(t for t in self.thresholds if 0 < t < 1)})
        middles = [(2 * i + 1) / (2 * grid) for i in range(grid)] + [(low + high) / 2 for low, high in itertools.pairwise(borders)]
        return sorted({0, size - 1, *(min(int(x * size), size - 1) for x in middles)})

    def _piece(self, run: Run) -> Piece:
        first, last = run.first, run.end - 1
        (low,), (high,) = self._number(first), self._number(run.end)
        told = f"in [{low:.6g}, {high:.6g})"
        inside = self._number(sum(run.seen) // 2)
        return Piece(high - low, inside, lambda rng: self._number(_inside(first, last, rng)), told, run.signature)


@dataclass(frozen=True)
class Categorical:
    """An index with these weights."""

    weights: Sequence[float]
    width = 1
    bits = 53
    ideal = False
    name = "categorical"

    def anywhere(self, rng: random.Random) -> Value:
        """A random one."""
        return (float(rng.choices(range(len(self.weights)), self.weights)[0]),)

    def even(self, x: float) -> Value:
        """The one that x in [0, 1) falls on by inverse CDF."""
        sums = list(itertools.accumulate(self.weights))
        return (float(bisect.bisect_right(sums, x * sums[-1])),)

    def given(self, value: Value) -> int:
        """As the code is handed it."""
        return int(value[0])

    def pieces(self, _fineness: Fineness, _tried: Sequence[Value]) -> Search[list[Piece]]:
        """One for each outcome of positive weight."""
        total = math.fsum(self.weights)
        places = [place for place, weight in enumerate(self.weights) if weight > 0]
        signatures = yield [Question((float(place),)) for place in places]
        return [self._piece(place, self.weights[place] / total, seen) for place, seen in zip(places, signatures, strict=True)]

    def _piece(self, place: int, mass: float, seen: Signature) -> Piece:
        return Piece(mass, (float(place),), lambda _: (float(place),), str(place), seen)


@dataclass(frozen=True)
class Exponential:
    """A row of independent standard exponential numbers, of which one wins: the first of E_v / w_v."""

    width: int
    bits = 53
    ideal = True
    name = "exponential row"

    def anywhere(self, rng: random.Random) -> Value:
        """A random one."""
        return self._value([rng.expovariate(1.0) for _ in range(self.width)])

    def even(self, x: float) -> Value:
        """One that a token wins: the first at x = 0, the last at x = 1."""
        return self._row({min(int(x * self.width), self.width - 1): 0.0})

    def given(self, value: Value) -> list[float]:
        """As the code is handed it."""
        return list(value)

    def pieces(self, fineness: Fineness, _tried: Sequence[Value]) -> Search[list[Piece]]:
        """One for each thing that its winners lead to."""
        equal, *alone = yield [Question(self._row(dict.fromkeys(near, 0.0))) for near in [range(self.width), *([v] for v in range(self.width))]]
        others = [v for v, seen in enumerate(alone) if seen != equal]
        weights = (yield from self._weights(alone, others, [v for v in range(self.width) if v not in others], fineness)) if others else [1.0] * self.width
        yield from self._confirm(alone, weights)
        total = math.fsum(weights)
        groups: dict[Signature, list[int]] = {}
        for v in sorted(range(self.width), key=lambda v: -weights[v]):
            if weights[v] > 0:
                groups.setdefault(alone[v], []).append(v)
        return [self._piece(group, [w / total for w in weights], seen) for seen, group in groups.items()]

    def _weights(self, alone: Sequence[Signature], others: list[int], same: list[int], fineness: Fineness) -> Search[list[float]]:
        """Relative to one that leads elsewhere than the heaviest does; then all that lead where that one does, relative to the heaviest."""
        base, weights = others[0], dict.fromkeys(range(self.width), 1.0)
        ratios = yield from together([self._ratio(v, base, alone, fineness) for v in same])
        weights.update(zip(same, ratios, strict=True))
        heaviest = max(same, key=weights.__getitem__)
        ratios = yield from together([self._ratio(v, heaviest, alone, fineness) for v in others[1:]])
        weights.update((v, ratio * weights[heaviest]) for v, ratio in zip(others[1:], ratios, strict=True))
        return [weights[v] for v in range(self.width)]

    def _ratio(self, v: int, base: int, alone: Sequence[Signature], fineness: Fineness) -> Search[float]:
        """w_v / w_base: where the winner of the two changes; nothing if `base` always wins."""
        value = lambda k: self._row({v: _log(k), base: 0.0})  # noqa: E731
        found = yield from runs((0, STEPS // 2 + 1, STEPS), value, fineness.fan, MOST)
        seen = [run.signature for run in found or []]
        if seen == [alone[base]]:
            return 0.0
        if found is None or seen != [alone[v], alone[base]]:
            raise NotExact("A row is no race: with all but two of its numbers far away, more than one ratio decides.", hint=HINT)
        return math.exp2(_log(found[1].first))

    def _confirm(self, alone: Sequence[Signature], weights: Sequence[float]) -> Search[None]:
        """Random rows, plain ones and such in which every token wins alike: the winner must be as predicted."""
        rng = random.Random(self.width)
        rows = [[rng.expovariate(1.0) * scale for scale in scales] for scales in ([1.0] * self.width, [w or 1.0 for w in weights]) for _ in range(TRIES)]
        clear = [(row, winner) for row in rows if (winner := _winner(row, weights)) is not None]
        told = yield [Question(self._value(row)) for row, _ in clear]
        if any(seen != alone[winner] for seen, (_, winner) in zip(told, clear, strict=True)):
            raise NotExact("A row is no race: on random numbers another one wins than the ratios of two predict.", hint=HINT)

    def _piece(self, group: list[int], weights: Sequence[float], seen: Signature) -> Piece:
        shares = [weights[v] for v in group]
        told = f"is won by {group[0]}" if len(group) == 1 else f"is won by one of {', '.join(map(str, sorted(group)))}"
        return Piece(math.fsum(shares), self._row({group[0]: 0.0}), lambda rng: self._won(rng.choices(group, shares)[0], weights, rng), told, seen)

    def _won(self, winner: int, weights: Sequence[float], rng: random.Random) -> Value:
        """A random row that this one wins: the winning quotient is exponential, and the others are that much later."""
        first = rng.expovariate(math.fsum(weights))
        return self._value([w * first + (0.0 if v == winner else rng.expovariate(1.0)) for v, w in enumerate(weights)])

    def _row(self, near: Mapping[int, float]) -> Value:
        """All numbers far away, but for some with these logarithms to the base 2."""
        return self._value([math.exp2(near.get(v, FAR)) for v in range(self.width)])

    def _value(self, row: Sequence[float]) -> Value:
        return tuple(row)


@dataclass(frozen=True)
class Gumbel(Exponential):
    """A row of independent standard Gumbel numbers, of which one wins: the largest of log w_v + G_v. It is -log of an exponential row."""

    name = "Gumbel row"

    def _value(self, row: Sequence[float]) -> Value:
        return tuple(-math.log(x) for x in row)


Draw = Uniform | Categorical | Exponential
HINT = "Its samples can still be tested."


def _inside(first: int, last: int, rng: random.Random) -> int:
    """A random one, at times one of the ends: where it may go wrong."""
    return rng.choice((first, last)) if rng.random() < ENDS else rng.randint(first, last)


def _log(k: int) -> float:
    return DECADES * (2 * k / STEPS - 1)


def _winner(row: Sequence[float], weights: Sequence[float]) -> int | None:
    """The index of the least quotient, or none if two are close."""
    quotients = sorted((e / w, v) for v, (e, w) in enumerate(zip(row, weights, strict=True)) if w > 0)
    return quotients[0][1] if len(quotients) == 1 or quotients[0][0] < quotients[1][0] * (1 - CLOSE) else None
