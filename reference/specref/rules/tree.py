"""Rules for trees whose siblings were drawn: the draft's law is read, and the target's is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from specref.rules.chain import excess
from specref.rules.tree_verdict import Step, TreeRound, TreeVerdict, of_nodes, of_tokens, walk
from specref.rules.verdict import row_at
from specref.trees import NONE

HALVINGS = 48
"""Steps of the bisection for rho*: k - 1 over 2^48 is below the rounding of a sum in float64 for any k in use."""


class _Rest(NamedTuple):
    """What stands at a place after some of its children were refused.

    Attributes:
        p: weights of what the target still owes, (B, V).
        p_mass: (B,) float64, their sum: the probability that all those children are refused.
        q: weights of what the next child was drawn from, (B, V).
        q_mass: (B,) float64, their sum.
    """

    p: Tensor
    p_mass: Tensor
    q: Tensor
    q_mass: Tensor


@dataclass(frozen=True)
class RecursiveRejection:
    """Speculative sampling, sibling after sibling (theory: 1c).

    With p_1 = p and q_1 = q, the j-th child c is accepted with probability min(1, p_j(c) / q_j(c)); refused, it leaves p_(j+1) = norm(max(0, p_j - q_j)).
    Siblings drawn with replacement have q_(j+1) = q (SpecInfer, 2305.09781); without replacement q_(j+1) is q_j without c, renormalised
    (recursive rejection sampling, 2402.14160). If no child is accepted, what is left of p is emitted.

    Law: that of the target, if the children were drawn as `replacement` says and not selected, reordered or merged afterwards. A child with q = 0 cannot
    have been drawn; it is accepted if p > 0, but refused where the siblings before it have exhausted q. One with p = 0 is never accepted.

    Attributes:
        replacement: whether equal siblings could be drawn.
    """

    replacement: bool
    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = True

    def __call__(self, given: TreeRound) -> TreeVerdict:
        """One verification."""
        return walk(given, lambda place, nodes: self._step(given, place, nodes))

    def _step(self, given: TreeRound, place: Tensor, nodes: Tensor) -> Step:
        assert given.q is not None
        one = torch.ones_like(given.last)
        found, rest = torch.full_like(place, NONE), _Rest(row_at(given.p, place), one, row_at(given.q, place), one)
        for node in nodes.unbind(1):
            token = given.token(node)
            tried = (node != NONE) & (found == NONE) & (rest.q_mass > 0)
            ratio_holds = of_nodes(given.coins, node) * of_tokens(rest.q, token) * rest.p_mass < of_tokens(rest.p, token) * rest.q_mass
            found = torch.where(tried & ratio_holds, node, found)
            rest = self._refused(rest, token, tried & ~ratio_holds)
        return Step(found, rest.p)

    def _refused(self, rest: _Rest, token: Tensor, refused: Tensor) -> _Rest:
        """The rest where a child was refused, as it was elsewhere."""
        scale = torch.where(rest.q_mass > 0, rest.p_mass / rest.q_mass, 0.0).to(rest.p.dtype)
        p = torch.where(refused[:, None], excess(rest.p, rest.q * scale[:, None]), rest.p)
        p_mass = torch.where(refused, p.sum(-1, dtype=torch.float64), rest.p_mass)
        if self.replacement:
            return _Rest(p, p_mass, rest.q, rest.q_mass)
        q = torch.where(refused[:, None], rest.q.scatter(1, token[:, None], 0.0), rest.q)
        return _Rest(p, p_mass, q, torch.where(refused, q.sum(-1, dtype=torch.float64), rest.q_mass))

    def acceptance(self, p: Tensor, q: Tensor, k: int) -> Tensor:
        """Probability that one of k children is accepted, () float64, of rows (V,).

        With replacement 1 - product over j of (1 - sum of min(p_j, q)); without it the sum over all orders of children, for small vocabularies.
        """
        p, q = p.double(), q.double()
        shared = torch.minimum(p, q)
        left = p - shared
        if k == 0 or not q.any():
            return p.new_zeros(())
        if k == 1 or not left.any():
            return shared.sum()
        rest = left / left.sum()
        if self.replacement:
            return shared.sum() + left.sum() * self.acceptance(rest, q, k - 1)
        refused = q - shared
        later = [self.acceptance(rest, _without(q, token), k - 1) for token in range(len(q))]
        return shared.sum() + (refused * torch.stack(later)).sum()


def _without(q: Tensor, token: int) -> Tensor:
    rest = q.scatter(0, torch.tensor([token], device=q.device), 0.0)
    return rest / rest.sum() if rest.any() else rest


@dataclass(frozen=True)
class KSequential:
    """K-sequential selection among k siblings drawn independently (SpecTr, 2310.15141, algorithm 2; theory: 1c).

    Each child c in turn is accepted with probability min(1, p(c) / (rho q(c))). With b = sum of min(q, p / rho) and g = (1 - (1 - b)^k) / b, no acceptance
    emits a token of norm(p - min(q, p / rho) g). Every rho with g at most rho keeps the law; rho* is the smallest, found by bisection.

    Law: that of the target, if the children were drawn with replacement and stand apart where they are equal. A child with q = 0 is accepted if p > 0, one
    with p = 0 never.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = True

    def __call__(self, given: TreeRound) -> TreeVerdict:
        """One verification."""
        return walk(given, lambda place, nodes: self._step(given, place, nodes))

    def _step(self, given: TreeRound, place: Tensor, nodes: Tensor) -> Step:
        assert given.q is not None
        p, q, siblings = row_at(given.p, place), row_at(given.q, place), (nodes != NONE).sum(1)
        k = siblings.clamp(min=1)
        rho = _division(p, q, k)
        found = torch.full_like(place, NONE)
        for node in nodes.unbind(1):
            token = given.token(node)
            tried = (node != NONE) & (found == NONE)
            passed = of_nodes(given.coins, node) * rho * of_tokens(q, token) < of_tokens(p, token)
            found = torch.where(tried & passed, node, found)
        shared, b = _shared(p, q, rho)
        left = excess(p, shared * _tries(b, k).to(p.dtype)[:, None])
        return Step(found, torch.where((siblings > 0)[:, None], left, p))

    def acceptance(self, p: Tensor, q: Tensor, k: int) -> Tensor:
        """Probability that one of k children is accepted, 1 - (1 - b)^k, () float64, of rows (V,)."""
        rows, siblings = (p.double()[None], q.double()[None]), torch.tensor([max(k, 1)], device=p.device)
        b = _shared(*rows, _division(*rows, siblings))[1]
        return (1 - (1 - b) ** k)[0]


def _division(p: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Smallest rho in [1, k] with g(b(rho)) at most rho, from above, (B,) float64."""
    low = torch.ones(p.shape[0], dtype=torch.float64, device=p.device)
    high = k.double()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        lawful = _tries(_shared(p, q, middle)[1], k) <= middle
        low, high = torch.where(lawful, low, middle), torch.where(lawful, middle, high)
    return high


def _shared(p: Tensor, q: Tensor, rho: Tensor) -> tuple[Tensor, Tensor]:
    """min(q, p / rho), (B, V), and its sum b, (B,) float64."""
    shared = torch.minimum(q, p / rho.to(p.dtype)[:, None])
    return shared, shared.sum(-1, dtype=torch.float64).clamp(max=1)


def _tries(b: Tensor, k: Tensor) -> Tensor:
    """(1 - (1 - b)^k) / b, written g above: the expected number of children that are tried; k where b is 0."""
    return torch.where(b > 0, -torch.expm1(k * torch.log1p(-b)) / b, k.double())
