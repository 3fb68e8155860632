"""Log-probabilities of emitted tokens, each of the row that it was drawn from (faults: L14)."""

from __future__ import annotations

import torch
from torch import Tensor

from specref._rows import check_tokens
from specref.warp import check_logits


def token_logprobs(logits: Tensor, tokens: Tensor, temperature: float = 1.0) -> Tensor:
    """Entry i is log p_i(x_i).

    Args:
        logits: rows of the step, (gamma + 1, V), -inf allowed; those behind the last token are not read.
        tokens: the emitted ones, (n + 1,), n <= gamma.
        temperature: 1 for the law of the logits; that of the step for the law that tokens were drawn from.

    Returns:
        (n + 1,), float32 or wider.

    Raises:
        ValueError: more tokens than rows, a token out of the vocabulary, rows that are no logits.
    """
    return _law(logits, tokens, temperature).gather(1, tokens[:, None]).squeeze(1)


def likeliest(logits: Tensor, tokens: Tensor, count: int, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """The `count` likeliest tokens of each emitted token's row and their log-probabilities, (n + 1, count) each; arguments as of `token_logprobs`."""
    found = _law(logits, tokens, temperature).topk(count)
    return found.indices, found.values


def _law(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """The log-softmax of the rows that tokens were drawn from."""
    if len(tokens) > len(logits):
        raise ValueError(f"{len(tokens)} tokens were emitted, and there are {len(logits)} rows")
    check_tokens("tokens", tokens, logits.shape[-1])
    rows = logits[: len(tokens)]
    check_logits("logits", rows)
    return (rows.to(torch.promote_types(rows.dtype, torch.float32)) / temperature).log_softmax(-1)
