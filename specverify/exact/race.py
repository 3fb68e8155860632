"""Which of several independent draws wins: the law of an argmax of monotone functions.

Keys whose distribution functions are powers of one another (p / Exp, log p + Gumbel, u ** (1 / p)) have a closed form: the exponents
are the weights. Any other family is integrated by the tanh-sinh rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specverify.exact.chain import Chain, room
from specverify.exact.space import UNLIKELY, Stop

LEVELS = (0.5, 0.1, 0.9)
"""Masses of the heaviest key at which the exponents are compared."""
AGREE = 1e-9
"""Relative difference of exponents at different levels that bisection in doubles leaves."""
MIDDLES = (0.2, 0.5, 0.8)
"""Shares of a draw at which rounding is looked at."""
HALVINGS = 60
ROUGHLY = 20
"""Halvings where a border need not be exact."""
EDGE = 2.0**-53
CLOSED = 1e-9
"""How far the integrated probabilities may be from a sum of 1."""
NODES = 201


@dataclass(frozen=True)
class Odds:
    """The law of the winner, and whether it has a closed form."""

    weights: tuple[float, ...]
    closed: bool


@dataclass(frozen=True)
class Key:
    """One contender: a chain with a draw of its own, over the part of the draw that is left, as (0, 1); or a constant."""

    chain: Chain | None
    constant: float = -math.inf

    @property
    def name(self) -> Hashable:
        """Equal for equal laws."""
        return self.chain.key if self.chain is not None else self.constant

    def at(self, shares: Tensor) -> Tensor:
        """Its values at shares of what is left of the draw."""
        if self.chain is None:
            return torch.full_like(shares, self.constant)
        (low, high), size = self.chain.base.inside, self.chain.base.size
        return self.chain.ideal((low + shares * (high - low)) / size)

    def fixed(self) -> float | None:
        """Its value where it does not depend on its draw."""
        values = set(self.at(_shares(EDGE, 0.01, 0.5, 0.99, 1 - EDGE)).tolist())
        return float(values.pop()) if len(values) == 1 else None

    def rounded_away(self) -> bool:
        """Whether its numbers are so small, or so large, for their dtype that they are far from the ideal ones."""
        assert self.chain is not None
        low, high = self.chain.base.inside
        indices = torch.tensor([low + int(share * (high - low)) for share in MIDDLES])
        ideal, allowed = self.at(_shares(*MIDDLES)), 0.02 + 16 * torch.finfo(self.chain.dtype).eps
        return int(((self.chain.values(indices).double() - ideal).abs() > allowed * ideal.abs()).sum()) > 1

    def least(self) -> float:
        """About its smallest value."""
        return float(self.at(_shares(EDGE, 1 - EDGE)).min())

    def rising(self) -> bool:
        """Whether it grows with its draw."""
        low, high = self.at(_shares(0.001, 0.999)).tolist()
        return bool(low <= high)

    def border(self, levels: Tensor, halvings: int = HALVINGS) -> Tensor:
        """The share of the draw at which it crosses each level."""
        low, high, rising = torch.zeros_like(levels), torch.ones_like(levels), self.rising()
        for _ in range(halvings):
            middle = (low + high) / 2
            below = (self.at(middle) < levels) == rising
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        return (low + high) / 2

    def log_below(self, levels: Tensor, halvings: int = HALVINGS) -> Tensor:
        """Logarithm of the probability of staying below each level."""
        share = self.border(levels, halvings)
        return share.log() if self.rising() else torch.log1p(-share)

    @property
    def index(self) -> int:
        """Of its draw."""
        assert self.chain is not None
        return self.chain.base.index

    def stand(self, mass: float) -> int:
        """The index at which its draw leaves that mass below it."""
        assert self.chain is not None
        low, high = self.chain.base.inside
        return min(max(low + int(self.share_below(mass) * (high - low)), low), high - 1)

    def share_below(self, mass: float) -> float:
        """The share of the draw that leaves that mass below it."""
        return mass if self.rising() else 1 - mass


_KNOWN: dict[Hashable, Odds] = {}


def odds(keys: Sequence[Key]) -> Odds:
    """The law of the argmax; equal families are computed once."""
    name = tuple(key.name for key in keys)
    if name not in _KNOWN:
        room(_KNOWN)
        _KNOWN[name] = _computed(keys)
    return _KNOWN[name]


def _computed(keys: Sequence[Key]) -> Odds:
    """Keys that never change (masked tokens, those of weight zero) lose to all that do; if none does, the first of the largest wins."""
    fixed = {i: value for i, key in enumerate(keys) if (value := key.fixed()) is not None}
    live = [i for i in range(len(keys)) if i not in fixed]
    if not live:
        winner = max(fixed, key=fixed.__getitem__)
        return Odds(tuple(float(i == winner) for i in range(len(keys))), closed=True)
    if fixed and max(fixed.values()) > min(keys[i].least() for i in live):
        raise Stop("it compares draws with a constant in one argmax")
    contenders = [keys[i] for i in live]
    law = _closed(contenders) or _integrated(contenders)
    chances = dict(zip(live, law.weights, strict=True))
    if any(chances[i] > UNLIKELY * math.fsum(law.weights) and keys[i].rounded_away() for i in live):
        raise Stop("it compares draws in one argmax whose dtype hardly tells them apart")
    return Odds(tuple(chances.get(i, 0.0) for i in range(len(keys))), law.closed)


def _closed(keys: Sequence[Key]) -> Odds | None:
    """Exponents relative to the heaviest key, if they are the same at every level."""
    heaviest = _heaviest(keys)
    levels = keys[heaviest].at(_shares(*(keys[heaviest].share_below(mass) for mass in LEVELS)))
    base = keys[heaviest].log_below(levels)
    exponents = torch.stack([key.log_below(levels) / base for key in keys])
    spread = (exponents - exponents[:, :1]).abs().amax(1)
    if not bool((spread <= AGREE * exponents[:, 0].abs() + 1e-15).all()):
        return None
    return Odds(tuple(exponents[:, 0].tolist()), closed=True)


def _shares(*points: float) -> Tensor:
    return torch.tensor(points, dtype=torch.float64)


def _heaviest(keys: Sequence[Key]) -> int:
    """The key that is least likely to stay below the median of any other."""
    best = 0
    for _ in keys:
        level = keys[best].at(_shares(0.5))
        below = [float(key.log_below(level, ROUGHLY)) for key in keys]
        lowest = min(range(len(keys)), key=below.__getitem__)
        if lowest == best or below[lowest] >= below[best]:
            return best
        best = lowest
    return best


def _integrated(keys: Sequence[Key]) -> Odds:
    """P(i wins) = integral over its draw of the probabilities that the others stay below."""
    shares, weights = _tanh_sinh()
    chances = []
    for i, key in enumerate(keys):
        levels = key.at(shares)
        others = sum((other.log_below(levels) for j, other in enumerate(keys) if j != i), torch.zeros_like(shares))
        chances.append(float((others.exp() * weights).sum()))
    if not abs(math.fsum(chances) - 1) <= CLOSED:  # nor a number
        raise Stop(f"the law of an argmax does not close: its probabilities sum to {math.fsum(chances):.9g}")
    return Odds(tuple(chances), closed=False)


def _tanh_sinh() -> tuple[Tensor, Tensor]:
    """Nodes in (0, 1) and weights of the double exponential rule."""
    t = torch.linspace(-3.2, 3.2, NODES, dtype=torch.float64)
    inner = math.pi / 2 * torch.sinh(t)
    weights = (t[1] - t[0]) * math.pi / 4 * torch.cosh(t) / torch.cosh(inner) ** 2
    return (1 + torch.tanh(inner)) / 2, weights


def standing(keys: Sequence[Key]) -> Callable[[int], dict[int, int]]:
    """Where the draws may stand so that a given key wins, by index; equal families are computed once."""
    name = tuple(key.name for key in keys)

    def place(winner: int) -> dict[int, int]:
        if (name, winner) not in _STANDING:
            room(_STANDING)
            _STANDING[name, winner] = _stands(keys, winner)
        return {keys[i].index: at for i, at in _STANDING[name, winner].items()}

    return place


_STANDING: dict[Hashable, dict[int, int]] = {}


def _stands(keys: Sequence[Key], winner: int) -> dict[int, int]:
    """By number of the key: the winner high up in its range, the others at half of the mass that they have below it."""
    live = [i for i, key in enumerate(keys) if key.chain is not None and key.fixed() is None]
    first = keys[winner]
    for mass in (0.9, 0.999, 1 - 1e-6, 1 - 1e-12):
        level = first.at(_shares(first.share_below(mass)))
        below = {i: float(keys[i].log_below(level, ROUGHLY).exp()) for i in live}
        if all(x > 0 for x in below.values()):
            break
    return {i: keys[i].stand(mass if i == winner else x / 2) for i, x in below.items()}


def standing_in_order(keys: Sequence[Key]) -> Callable[[Sequence[int]], dict[int, int]]:
    """Where the draws may stand so that given keys come first, in order."""

    def place(order: Sequence[int]) -> dict[int, int]:
        lead = keys[order[0]]
        level = lead.at(_shares(lead.share_below(0.9)))
        ranks = {**dict.fromkeys(range(len(keys)), len(order)), **{i: r for r, i in enumerate(order)}}
        live = [(ranks[i], key) for i, key in enumerate(keys) if key.chain is not None and key.fixed() is None]
        return {key.index: key.stand(float(key.log_below(level, ROUGHLY).exp()) / 2.0 ** (8 * rank)) for rank, key in live}

    return place


def without_replacement(weights: Sequence[float], order: Sequence[int]) -> float:
    """Probability of drawing these in this order, each from what is left (Plackett and Luce)."""
    left, chance = math.fsum(weights), 1.0
    for outcome in order:
        chance *= weights[outcome] / left if left > 0 else 0.0
        left -= weights[outcome]
    return max(chance, 0.0)
