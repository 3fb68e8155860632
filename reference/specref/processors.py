"""What stands between logits and `warp` and depends on the tokens so far: penalties, n-grams that may not come again, a least length.

Row i of a step sees the prefix and the first i drafts, each token once, as plain decoding would see them there (faults: L7). Nothing is kept between calls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from specref._rows import check_tokens
from specref.warp import check_logits


@dataclass(frozen=True)
class Processors:
    """How logits are changed by the tokens so far, in the order of the attributes; each is off by default.

    Attributes:
        bias: what is added to the logits of some tokens, by token.
        repetition: a logit above 0 of a token that was seen is divided by it, one below 0 multiplied (1909.05858, section 4.1, with the sign looked at).
        presence: subtracted from the logit of a token that was generated.
        frequency: subtracted for each time that it was.
        ngram: no n-gram of this many tokens comes twice in the whole text; 0 is off.
        least: end-of-sequence does not come before so many tokens were generated.
        eos: the token that ends a sequence.
    """

    bias: Mapping[int, float] = field(default_factory=dict)
    repetition: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0
    ngram: int = 0
    least: int = 0
    eos: int = 0

    def __call__(self, logits: Tensor, prefix: Tensor, draft: Tensor, prompt: int) -> Tensor:
        """Logits of a step, processed.

        Args:
            logits: (gamma + 1, V), -inf allowed; float32 is computed in, or wider as given.
            prefix: the prompt and what was generated so far, (t,) integers.
            draft: (gamma,) integers.
            prompt: how many tokens of the prefix are the prompt.

        Returns:
            (gamma + 1, V), float32 or wider.

        Raises:
            ValueError: shapes that do not fit, a token out of the vocabulary, a prompt longer than the prefix.
        """
        _check(logits, prefix, draft, prompt)
        rows = logits.to(torch.promote_types(logits.dtype, torch.float32)).clone()
        seen, generated = (occurrences(rows.shape[-1], tokens, draft) for tokens in (prefix, prefix[prompt:]))
        for token, value in self.bias.items():
            rows[:, token] += value
        rows = torch.where(seen > 0, torch.where(rows > 0, rows / self.repetition, rows * self.repetition), rows)
        rows -= self.presence * (generated > 0) + self.frequency * generated
        rows.masked_fill_(repeats(rows.shape[-1], prefix, draft, self.ngram), -math.inf)
        early = len(prefix) - prompt + torch.arange(len(rows), device=rows.device) < self.least
        rows[early, self.eos] = -math.inf
        return rows


def occurrences(vocabulary: int, prefix: Tensor, draft: Tensor) -> Tensor:
    """How often each token stands in the prefix and the first i drafts, (gamma + 1, V) int64."""
    once = torch.nn.functional.one_hot(draft.long(), vocabulary).cumsum(0)
    return torch.bincount(prefix, minlength=vocabulary) + torch.cat([once.new_zeros(1, vocabulary), once])


def repeats(vocabulary: int, prefix: Tensor, draft: Tensor, n: int) -> Tensor:
    """Which tokens would end an n-gram that the prefix and the first i drafts hold already, (gamma + 1, V) bool; n of 0 bans nothing."""
    banned = torch.zeros((len(draft) + 1, vocabulary), dtype=torch.bool, device=prefix.device)
    text = torch.cat([prefix, draft])
    for row in range(len(banned) if n else 0):
        history = text[: len(prefix) + row]
        if len(history) >= n:
            windows = history.unfold(0, n, 1)
            same = (windows[:, :-1] == history[len(history) - n + 1 :]).all(1)
            banned[row, windows[same, -1]] = True
    return banned


def _check(logits: Tensor, prefix: Tensor, draft: Tensor, prompt: int) -> None:
    check_logits("logits", logits)
    if logits.dim() != 2 or prefix.dim() != 1 or draft.shape != (logits.shape[0] - 1,):  # noqa: PLR2004
        raise ValueError(f"logits {tuple(logits.shape)}, prefix {tuple(prefix.shape)}, draft {tuple(draft.shape)}: they must be (gamma + 1, V), (t,), (gamma,)")
    for name, tokens in (("prefix", prefix), ("draft", draft)):
        check_tokens(name, tokens, logits.shape[1])
    if not 0 <= prompt <= len(prefix):
        raise ValueError(f"prompt is {prompt}; it must be at most the {len(prefix)} tokens of the prefix")
