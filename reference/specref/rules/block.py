"""Block verification (2403.10444): the draft is judged as a whole, from its end."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from specref.draws import inverse_cdf
from specref.rules.chain import left_over
from specref.rules.verdict import Round, Verdict, verdict, wide


@dataclass(frozen=True)
class Block:
    """Block verification (Sun et al., 2403.10444; theory: 1c).

    With w_0 = 1 and w_i = min(1, w_(i-1) p_i(x_i) / q_i(x_i)), the prefix of i tokens passes with probability h_i = m / (m + 1 - w_i), m = sum of
    max(0, w_i p_(i+1) - q_(i+1)), and h = w at the end of the draft. The longest prefix that passes is accepted; behind it comes a token of
    norm(max(0, w p - q)), or of p at the end.

    Law: that of the target. P(at least i accepted | x_1 … x_i) = w_i, so at least as many are accepted as by the standard rule.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = True

    def __call__(self, given: Round) -> Verdict:
        """One verification."""
        weights = _weights(given)
        passed = given.drafted & (given.coins < _passing(given, weights))
        places = torch.arange(1, given.draft.shape[1] + 1, device=given.draft.device)
        n = torch.where(passed, places, 0).amax(1) if given.draft.shape[1] else torch.zeros_like(given.lengths)
        weight = torch.nn.functional.pad(weights, (1, 0), value=1.0).gather(1, n[:, None])[:, 0]
        return verdict(given, n, inverse_cdf(left_over(given, n, weight=weight), given.last))

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of E[w_i], over all V^i prefixes: for small vocabularies."""
        gamma, vocabulary = q.shape
        p, q = p.double(), q.double()
        whole = torch.zeros((), dtype=torch.float64)
        for draft in itertools.product(range(vocabulary), repeat=gamma):
            x = torch.tensor(draft)[:, None]
            chance = q.gather(1, x)[:, 0]
            given = Round(p[None], q[None], x.T, torch.tensor([gamma]), torch.zeros(1, gamma), torch.zeros(1))
            whole += chance.prod() * _weights(given).sum()
        return whole


def _weights(given: Round) -> Tensor:
    """w_1 … w_gamma, (B, gamma) float64; a drafted token with q = 0 counts as p / q = infinite, unless p is 0."""
    assert given.q is not None
    p, q = given.of_draft(given.p), given.of_draft(given.q)
    weight, found = torch.ones_like(given.last), []
    for i in range(given.draft.shape[1]):
        scaled = weight * p[:, i]
        weight = torch.where(scaled < q[:, i], scaled / q[:, i], (scaled > 0).to(scaled.dtype))
        found.append(weight)
    return torch.stack(found, 1) if found else given.coins


def _passing(given: Round, weights: Tensor) -> Tensor:
    """h_1 … h_gamma, (B, gamma) float64."""
    assert given.q is not None
    places = torch.arange(1, given.draft.shape[1] + 1, device=given.draft.device)
    found = [weights[:, i] for i in range(given.draft.shape[1])]
    for i in range(given.draft.shape[1] - 1):
        w = weights[:, i]
        p, q = wide(given.p[:, i + 1]), wide(given.q[:, i + 1])
        mass = (p * w[:, None].to(p.dtype) - q).clamp_(min=0).sum(-1, dtype=torch.float64)
        rest = mass + 1 - w
        found[i] = torch.where(rest > 0, mass / rest, 1.0)  # rows alike after a draft of weight 1: nothing is lost by passing
    return torch.where(places < given.lengths[:, None], torch.stack(found, 1), weights) if found else weights
