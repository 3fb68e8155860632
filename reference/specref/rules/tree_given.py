"""Rules for trees whose children are no random choice, or may be anything: the draft's law is not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from specref.draws import inverse_cdf
from specref.rules.tree_verdict import Step, TreeRound, TreeVerdict, follow, of_nodes, of_tokens, walk
from specref.rules.verdict import row_at
from specref.trees import NONE


@dataclass(frozen=True)
class DeterministicChildren:
    """Children that are no random choice: the likeliest of a draft, as in EAGLE-2 (2406.16858), n-grams, retrieval (theory: 1c, S8 iterated).

    The standard rule with q one-hot at each child: accepted with probability p(c); refused, it is taken out of p, which is renormalised for the next
    sibling, and for the emission if none is left.

    Law: that of the target. An equal sibling has p = 0 when its turn comes.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = False

    def __call__(self, given: TreeRound) -> TreeVerdict:
        """One verification; rows of q are not read."""
        return walk(given, lambda place, nodes: _take_out(given, place, nodes))

    def acceptance(self, p: Tensor, children: Tensor) -> Tensor:
        """Probability that one of the children is accepted, () float64, of a row (V,) and tokens (k,): the mass of p on them."""
        return _mass(p, children)


def _take_out(given: TreeRound, place: Tensor, nodes: Tensor) -> Step:
    left, mass, found = row_at(given.p, place), torch.ones_like(given.last), torch.full_like(place, NONE)
    for node in nodes.unbind(1):
        token = given.token(node)
        tried = (node != NONE) & (found == NONE)
        passed = of_nodes(given.coins, node) * mass < of_tokens(left, token)
        found = torch.where(tried & passed, node, found)
        rest = left.scatter(1, token[:, None], 0.0)
        refused = tried & ~passed & (rest > 0).any(-1)  # nothing but c: a refusal has probability zero
        left = torch.where(refused[:, None], rest, left)
        mass = torch.where(refused, left.sum(-1, dtype=torch.float64), mass)
    return Step(found, left)


def _mass(p: Tensor, children: Tensor) -> Tensor:
    chosen = torch.zeros_like(p, dtype=torch.bool).index_fill(0, children, value=True)
    return torch.where(chosen, p.double(), 0.0).sum()


@dataclass(frozen=True)
class TrieSampleAndMatch:
    """The target draws a token of its own at the root and at each accepted node, once; the walk goes on to the child that equals it (REST, 2311.08252,
    section 3.2; theory: S9, A9). What it drew last is emitted, whatever the draft says.

    The draw after node i takes the coin of node i + 1, the draw after a tree's last node `last`: a chain does with the same uniforms what
    `SampleAndMatch` does.

    Law: that of the target, trivially, for children of any origin that does not know these draws.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = False

    def __call__(self, given: TreeRound) -> TreeVerdict:
        """One verification; rows of q are not read."""
        return follow(given, lambda place: inverse_cdf(row_at(given.p, place), _draw_of(given, place)))

    def acceptance(self, p: Tensor, children: Tensor) -> Tensor:
        """Probability that the target draws one of the children, () float64, of a row (V,) and tokens (k,): the mass of p on them."""
        return _mass(p, children)


def _draw_of(given: TreeRound, place: Tensor) -> Tensor:
    """The uniform of the draw at a place, (B,)."""
    coin = of_nodes(given.coins, torch.where(place < given.trees.sizes, place, NONE))
    return torch.where(place < given.trees.sizes, coin, given.last)


@dataclass(frozen=True)
class GreedyTree:
    """Decoding without chance (theory: S10): the walk goes on to the child that is the target's likeliest token, the lowest index among equals.

    Law: a point, the target's own greedy continuation; so it is exact for rows that are one-hot, and for greedy decoding of any.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = False

    def __call__(self, given: TreeRound) -> TreeVerdict:
        """One verification; no uniform is used."""
        return follow(given, lambda place: row_at(given.p, place).argmax(-1))

    def acceptance(self, p: Tensor, children: Tensor) -> Tensor:
        """Whether the target's likeliest token is among the children, () float64, of a row (V,) and tokens (k,)."""
        return (children == p.argmax(-1)).any().double()
