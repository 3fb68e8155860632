"""Stand-in: a model with its cache and the rows that it gave."""

import torch
from src.util import norm_logits, sample
from standin import wrong


class KVCacheModel:
    """`vocab_size` is set by who makes it."""

    def __init__(self, model, temperature=1, top_k=0, top_p=0):
        self._model, self._temperature, self._top_k, self._top_p = model, temperature, top_k, top_p
        self._past_key_values = self._prob_history = None

    def forward(self, ids):
        """Rows of all ids that have none yet; the last."""
        known = 0 if self._prob_history is None else self._prob_history.shape[1]
        told = self._model(ids[:, known:], past_key_values=self._past_key_values, use_cache=True)
        self._past_key_values = told.past_key_values
        logits = told.logits[0, :, : self.vocab_size]
        rows = norm_logits(logits, self._temperature, self._top_k, self._top_p)[None]
        self._prob_history = rows if known == 0 else torch.cat((self._prob_history, rows), 1)
        return self._prob_history[:, -1]

    def generate(self, prefix, gamma):
        """Gamma tokens more."""
        for _ in range(gamma):
            prefix = torch.cat((prefix, sample(self.forward(prefix))), 1)
        return prefix

    def rollback(self, end_pos):
        """Keep the first."""
        if not wrong("keys-not-rolled-back"):
            self._past_key_values = tuple((k[:, :, :end_pos], v[:, :, :end_pos]) for k, v in self._past_key_values)
        self._prob_history = self._prob_history[:, : end_pos + wrong("a-row-too-many-kept")]
