"""Stand-in: a model with its cache and the rows that it gave."""

import torch
from sampling.utils import norm_logits, sample
from standin import wrong


class KVCacheModel:
    """Draws on, and goes back."""

    def __init__(self, model, temperature=1, top_k=0, top_p=0):
        self._model, self._how = model, (temperature, top_k, top_p)
        self._past_key_values = self._prob_history = None

    def generate(self, input, gamma):  # noqa: A002  the name that callers use
        """Gamma tokens behind the ids (1, S)."""
        ids = input
        for _ in range(gamma):
            ids = torch.cat((ids, sample(self._behind(ids))), 1)
        return ids

    def _behind(self, ids):
        known = 0 if self._prob_history is None else self._prob_history.shape[1]
        if wrong("current-token-missing-from-the-cache") and known:
            ids = ids[:, :-1] if ids.shape[1] - known > 1 else ids
        output = self._model(ids[:, known:], past_key_values=self._past_key_values, use_cache=True)
        rows = torch.stack([norm_logits(row, *self._how) for row in output.logits])
        self._prob_history = rows if known == 0 else torch.cat((self._prob_history, rows), 1)
        self._past_key_values = output.past_key_values
        return self._prob_history[:, -1]

    def rollback(self, end_pos):
        """Keep the first end_pos."""
        end = end_pos - 1 if wrong("last-position-lost") and end_pos > 1 else end_pos
        kept = slice(None) if wrong("values-not-rolled-back") else slice(end)
        self._past_key_values = tuple((k[:, :, :end], v[:, :, kept]) for k, v in self._past_key_values)
        self._prob_history = self._prob_history[:, :end]
