"""Rules for a chain of draft tokens that keep the target's law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from specref.draws import inverse_cdf
from specref.rules.verdict import Round, Verdict, product_of, row_at, verdict, wide


def left_over(given: Round, accepted: Tensor, lenience: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Weights of the token behind the accepted ones, (B, V): max(0, weight p - lenience q) of the row at which a draft stops.

    Behind a whole draft they are p; where nothing is left too, since a rejection has probability zero there.
    """
    p = row_at(given.p, accepted)
    if given.q is None or given.q.shape[1] == 0:
        return p
    q = row_at(given.q, accepted.clamp(max=given.q.shape[1] - 1))
    q = q if given.whole else q.nan_to_num_(nan=0.0)  # behind a draft anything may stand
    kind = torch.promote_types(p.dtype, q.dtype)
    p, q, stopped = p.to(kind), q.to(kind), (accepted < given.lengths).to(kind)[:, None]
    scaled = p if weight is None else p * weight[:, None].to(kind)
    left = torch.addcmul(scaled, q, stopped, value=-lenience, out=q).clamp_(min=0)
    return p_where_nothing_is_left(left, p)


def excess(p: Tensor, q: Tensor) -> Tensor:
    """Weights of the residual, max(0, p - q); where nothing is left, p itself: a rejection has probability zero there. Rows (..., V)."""
    left = (p - q).clamp_(min=0)
    return p_where_nothing_is_left(left, p.to(left.dtype))


def p_where_nothing_is_left(left: Tensor, p: Tensor) -> Tensor:
    """Rows of weights, (..., V), those without any replaced by p, in place; as a product, since that is a third of the time of a choice."""
    return left.addcmul_(p, (left.sum(-1, keepdim=True) == 0).to(p.dtype))


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
    n = given.leading(given.coins * given.of_draft(given.q) * lenience < given.of_draft(given.p))
    return verdict(given, n, inverse_cdf(left_over(given, n, lenience), given.last))


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
        n = given.leading(given.coins < given.of_draft(given.p))
        return verdict(given, n, inverse_cdf(_without_the_refused(given, n), given.last))

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i p(d), d being where q is 1; for a random d, of the sum of p q."""
        return product_of((p[:-1].double() * q.double()).sum(-1))


def _without_the_refused(given: Round, accepted: Tensor) -> Tensor:
    """Weights of p without the token that was refused, (B, V)."""
    p = row_at(given.p, accepted)
    refused = torch.nn.functional.pad(given.draft, (0, 1)).gather(1, accepted[:, None]).clamp(0, p.shape[-1] - 1)
    mass, ended = p.gather(1, refused), (accepted == given.lengths)[:, None]
    p.scatter_(1, refused, mass * ended)
    return p.scatter_add_(1, refused, mass * (p.sum(-1, keepdim=True) == 0))


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
        own = torch.stack([inverse_cdf(wide(rows), mine) for rows, mine in zip(given.p.unbind(1), u.unbind(1), strict=True)], 1)
        n = given.leading(own[:, :-1] == given.draft)
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
        n = given.leading(best[:, :-1] == given.draft)
        return verdict(given, n, best.gather(1, n[:, None])[:, 0])

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i q(argmax p)."""
        return product_of(q.double().gather(-1, p[:-1].argmax(-1, keepdim=True))[:, 0])
