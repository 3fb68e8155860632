"""Speculative sampling, one chain (arXiv 2211.17192, algorithm 1; arXiv 2302.01318 states the same rule).

p is the target's law, q the draft's, in the papers' letters. Probabilities come in any floating dtype; all arithmetic is in
float64. Every draw comes from the generator that the caller hands over, one uniform on [0, 1) per decision, never shared.
"""

import torch
from torch import Generator, Tensor

from specref._rows import check_pair, check_rows


def residual(p: Tensor, q: Tensor) -> Tensor:
    """Law of the token that replaces a rejected one: norm(max(0, p - q)) (2211.17192, section 2.3).

    Where p and q are equal in floating point nothing is left to normalise; a rejection has probability zero there, and
    the row is p itself.

    Args:
        p: rows of the target, (..., V), probabilities.
        q: rows of the draft, the same shape and device.

    Returns:
        Rows of probabilities, (..., V), float64.

    Raises:
        ValueError: rows that are no probabilities (argument, row and column named), shapes or devices that differ.
    """
    check_pair(p, q)
    check_rows("p", p)
    check_rows("q", q)
    return _residual(p.double(), q.double())


def sample(probs: Tensor, generator: Generator) -> Tensor:
    """Draw one token from each row, by inverse CDF.

    A token of probability zero is never drawn: the cumulative sum is compared strictly, and rounding at the upper end falls
    to the last token of the support.

    Args:
        probs: rows of probabilities, (..., V).
        generator: source of all draws, on the device of `probs`.

    Returns:
        Token ids, (...), int64.

    Raises:
        ValueError: rows that are no probabilities; the row and column are named.
    """
    check_rows("probs", probs)
    return _inverse_cdf(probs.double(), _uniforms(probs.shape[:-1], probs, generator))


def verify_chain(p: Tensor, q: Tensor, draft: Tensor, generator: Generator) -> Tensor:
    """Accept a prefix of the draft and emit one token more (2211.17192, algorithm 1).

    Token i is accepted with probability min(1, p_i(x_i) / q_i(x_i)). The first rejection emits a token of that row's
    residual; no rejection emits the bonus token from the last row of p. With draft tokens drawn from q the emitted tokens,
    completed by the target, follow the product of the rows of p (appendix A.1). A drafted token with q = 0 cannot
    have been drawn from q; it is accepted if p > 0. One with p = 0 is never accepted.

    Args:
        p: rows of the target, (gamma + 1, V).
        q: rows of the draft, (gamma, V).
        draft: draft token ids, (gamma,), integers.
        generator: source of all draws, on the device of `p`.

    Returns:
        Token ids, (n + 1,), int64, n the number of accepted draft tokens.

    Raises:
        ValueError: shapes that do not fit, rows that are no probabilities, a token outside 0 … V - 1.
    """
    _check_chain(p, q, draft)
    gamma = draft.shape[0]
    uniforms = _uniforms((gamma + 1,), p, generator)
    return _verify(p.double(), q.double(), draft.long(), uniforms[:gamma], uniforms[gamma])


def _verify(p: Tensor, q: Tensor, draft: Tensor, coins: Tensor, last: Tensor) -> Tensor:
    """The step as a function of its uniforms: `coins` (gamma,) decide acceptance, `last` () draws the emitted token."""
    at = torch.arange(draft.shape[0], device=draft.device)
    accepted = coins * q[at, draft] < p[at, draft]  # u < p / q without the division, so that q = 0 needs no case
    n = int(accepted.long().cumprod(0).sum())
    row = p[n] if n == draft.shape[0] else _residual(p[n], q[n])
    return torch.cat([draft[:n], _inverse_cdf(row, last).reshape(1)])


def _residual(p: Tensor, q: Tensor) -> Tensor:
    excess = (p - q).clamp(min=0)
    total = excess.sum(-1, keepdim=True)
    return torch.where(total > 0, excess / total, p)


def _inverse_cdf(rows: Tensor, uniforms: Tensor) -> Tensor:
    """First token whose cumulative sum exceeds u times the row's sum; rows (..., V), uniforms (...)."""
    cdf = rows.cumsum(-1)
    found = torch.searchsorted(cdf, (uniforms * cdf[..., -1])[..., None], right=True)[..., 0]
    return torch.minimum(found, _last_of_support(rows))


def _last_of_support(rows: Tensor) -> Tensor:
    tokens = torch.arange(rows.shape[-1], device=rows.device)
    return torch.where(rows > 0, tokens, 0).amax(-1)


def _uniforms(shape: tuple[int, ...], like: Tensor, generator: Generator) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, device=like.device, generator=generator)


def _check_chain(p: Tensor, q: Tensor, draft: Tensor) -> None:
    if p.dim() != 2 or q.dim() != 2 or draft.dim() != 1:  # noqa: PLR2004
        raise ValueError("p must have shape (gamma + 1, V), q (gamma, V) and draft (gamma,)")
    gamma, vocabulary = draft.shape[0], p.shape[1]
    if p.shape[0] != gamma + 1 or q.shape != (gamma, vocabulary):
        raise ValueError(f"{gamma} draft tokens need p of shape ({gamma + 1}, V) and q of shape ({gamma}, V); got {tuple(p.shape)}, {tuple(q.shape)}")
    if draft.is_floating_point():
        raise ValueError("draft must hold integer token ids")
    check_rows("p", p)
    if gamma:
        check_rows("q", q)
        _check_tokens(draft, vocabulary)


def _check_tokens(draft: Tensor, vocabulary: int) -> None:
    bad = (draft < 0) | (draft >= vocabulary)
    if bad.any():
        column = int(bad.nonzero()[0, 0])
        raise ValueError(f"draft, column {column}: token {int(draft[column])} is outside 0 … {vocabulary - 1}")
