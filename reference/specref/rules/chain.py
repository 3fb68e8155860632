"""Rules for a chain of draft tokens that keep the target's law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from specref.draws import inverse_cdf
from specref.rules.verdict import Round, Verdict, leading, product_of, row_at, verdict


def excess(p: Tensor, q: Tensor) -> Tensor:
    """Weights of the residual, max(0, p - q); where nothing is left, p itself: a rejection has probability zero there. Rows (..., V)."""
    left = (p - q).clamp_(min=0)
    return torch.where((left > 0).any(-1, keepdim=True), left, p)


def stop_row(given: Round, accepted: Tensor) -> tuple[Tensor, Tensor]:
    """The row of p at which each draft ends, (B, V), and whether that is behind all of its tokens, (B, 1)."""
    return row_at(given.p, accepted), (accepted == given.lengths)[:, None]


@dataclass(frozen=True)
class Standard:
    """Speculative sampling (2211.17192, algorithm 1; 2302.01318, algorithm 2).

    Token x_i is accepted with probability min(1, p_i(x_i) / q_i(x_i)). The first rejection emits a token of norm(max(0, p_i - q_i)),
    no rejection one of the last row of p.

    Law: that of the target, for every q (appendix A.1). Acceptance of a position: sum of min(p, q). A drafted token with q = 0 cannot have been
    drawn from q; it is accepted if p > 0. One with p = 0 is never accepted.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = True

    def __call__(self, given: Round) -> Verdict:
        """One verification."""
        return accept_by_ratio(given, 1.0)

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i acceptances, sum of min(p, q) each."""
        return product_of(torch.minimum(p[:-1].double(), q.double()).sum(-1))


def accept_by_ratio(given: Round, lenience: float) -> Verdict:
    """Accept with min(1, p / (lenience q)); u < p / q is asked without the division, so that q = 0 needs no case of its own."""
    assert given.q is not None
    accepted = given.drafted & (given.coins * lenience * given.of_draft(given.q) < given.of_draft(given.p))
    n = leading(accepted)
    p, ended = stop_row(given, n)
    q = row_at(given.q, n.clamp(max=given.q.shape[1] - 1)) * lenience if given.q.shape[1] else torch.zeros_like(p)
    return verdict(given, n, inverse_cdf(torch.where(ended, p, excess(p, q)), given.last))


@dataclass(frozen=True)
class DeterministicDraft:
    """Drafts that are no random choice: n-grams, prompt lookup, retrieval, a draft's own argmax (theory: S8).

    The standard rule with q one-hot at the drafted token d: accepted with probability p(d); a rejection emits a token of p without d, renormalised.

    Law: that of the target. Acceptance: p(d).
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = False

    def __call__(self, given: Round) -> Verdict:
        """One verification; rows of q are not read."""
        n = leading(given.drafted & (given.coins < given.of_draft(given.p)))
        p, ended = stop_row(given, n)
        refused = torch.nn.functional.pad(given.draft, (0, 1), value=-1).gather(1, n[:, None])
        tokens = torch.arange(p.shape[-1], device=p.device)
        rest = torch.where(tokens == refused, 0.0, p)
        rest = torch.where((rest > 0).any(-1, keepdim=True), rest, p)
        return verdict(given, n, inverse_cdf(torch.where(ended, p, rest), given.last))

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i p(d), d being where q is 1; for a random d, of the sum of p q."""
        return product_of((p[:-1].double() * q.double()).sum(-1))


@dataclass(frozen=True)
class SampleAndMatch:
    """The target draws a token of its own at every position; the draft saves the calls as long as it says the same (theory: S9; 2311.08252, section 3.2).

    What is emitted is always the target's own draw, a mismatching one included.

    Law: that of the target, trivially. Acceptance: p(d) for a given d, sum of p q for one drawn from q, which is less than the standard rule's.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = False

    def __call__(self, given: Round) -> Verdict:
        """One verification; rows of q are not read."""
        places = torch.arange(given.p.shape[1], device=given.p.device)
        u = torch.where(places == given.lengths[:, None], given.last[:, None], torch.nn.functional.pad(given.coins, (0, 1)))
        own = inverse_cdf(given.p, u)
        n = leading(given.drafted & (own[:, :-1] == given.draft))
        return verdict(given, n, own.gather(1, n[:, None])[:, 0])

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i sums of p q."""
        return product_of((p[:-1].double() * q.double()).sum(-1))


@dataclass(frozen=True)
class Greedy:
    """Decoding without chance (theory: S10): a draft token is accepted if it is the target's likeliest, the lowest index among equals.

    Law: a point, the target's own greedy continuation; so it is exact for rows that are one-hot, and for greedy decoding of any. Acceptance: q at the
    target's argmax.
    """

    exact: ClassVar[bool] = True
    needs_q: ClassVar[bool] = False

    def __call__(self, given: Round) -> Verdict:
        """One verification; no uniform is used."""
        best = given.p.argmax(-1)
        n = leading(given.drafted & (best[:, :-1] == given.draft))
        return verdict(given, n, best.gather(1, n[:, None])[:, 0])

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i q(argmax p)."""
        return product_of(q.double().gather(-1, p[:-1].argmax(-1, keepdim=True))[:, 0])
