"""Speculative sampling row by row (arXiv 2211.17192): the residual, one draw, one chain.

p is the target's law, q the draft's, in the papers' letters. Probabilities come in any floating dtype. Every draw comes from the
generator that the caller hands over, one uniform on [0, 1) per decision, never shared.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from specref._rows import check_pair, check_rows, check_tokens
from specref.draws import inverse_cdf
from specref.rules import Standard, VerificationRule
from specref.rules.chain import excess
from specref.rules.verdict import wide
from specref.verification import verify


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
    left = excess(p.double(), q.double())
    return left / left.sum(-1, keepdim=True)


def sample(probs: Tensor, generator: Generator) -> Tensor:
    """Draw one token from each row, by inverse CDF; a token of probability zero is never drawn.

    Args:
        probs: rows of probabilities, (..., V).
        generator: source of all draws, on the device of `probs`.

    Returns:
        Token ids, (...), int64.

    Raises:
        ValueError: rows that are no probabilities; the row and column are named.
    """
    check_rows("probs", probs)
    u = torch.rand(probs.shape[:-1], dtype=torch.float64, device=probs.device, generator=generator)
    return inverse_cdf(wide(probs), u)


def verify_chain(p: Tensor, q: Tensor | None, draft: Tensor, generator: Generator, rule: VerificationRule | None = None) -> Tensor:
    """Accept a prefix of one draft and emit one token more (2211.17192, algorithm 1).

    Args:
        p: rows of the target, (gamma + 1, V).
        q: rows of the draft, (gamma, V); none for a rule that does not read them.
        draft: draft token ids, (gamma,), integers.
        generator: source of all draws, on the device of `p`.
        rule: the standard one by default.

    Returns:
        Token ids, (n + 1,), int64, n the number of accepted draft tokens.

    Raises:
        ValueError: shapes that do not fit, rows that are no probabilities, a token outside 0 … V - 1.
    """
    _check_chain(p, q, draft)
    tokens, accepted = verify(rule or Standard(), p[None], None if q is None else q[None], draft[None], generator, check=False)
    return tokens[0, : int(accepted[0]) + 1]


def _check_chain(p: Tensor, q: Tensor | None, draft: Tensor) -> None:
    if p.dim() != 2 or draft.dim() != 1 or (q is not None and q.dim() != 2):  # noqa: PLR2004
        raise ValueError("p must have shape (gamma + 1, V), q (gamma, V) and draft (gamma,)")
    gamma, vocabulary = draft.shape[0], p.shape[1]
    if p.shape[0] != gamma + 1 or (q is not None and q.shape != (gamma, vocabulary)):
        of_q = f", {tuple(q.shape)}" if q is not None else ""
        raise ValueError(f"{gamma} draft tokens need p of shape ({gamma + 1}, V) and q of shape ({gamma}, V); got {tuple(p.shape)}{of_q}")
    check_rows("p", p)
    if gamma:
        check_tokens("draft", draft, vocabulary)
        if q is not None:
            check_rows("q", q)
