import torch

from .utils import norm_logits, sample


class KVCacheModel:
    def __init__(self, model, temperature=1, top_k=0, top_p=0):
        self._model, self._parameters = model, (temperature, top_k, top_p)
        self._past_key_values, self._prob_history = None, None

    @torch.no_grad()
    def generate(self, input, gamma):
        for _ in range(gamma):
            seen = 0 if self._prob_history is None else self._prob_history.shape[1]
            outputs = self._model(input[:, seen:], past_key_values=self._past_key_values, use_cache=True)
            rows = norm_logits(outputs.logits[0], *self._parameters)[None]
            self._past_key_values = outputs.past_key_values
            self._prob_history = rows if seen == 0 else torch.cat([self._prob_history, rows], 1)
            input = torch.cat([input, sample(rows[:, -1])], 1)
        return input

    def rollback(self, end_pos):
        self._past_key_values = tuple((k[:, :, :end_pos], v[:, :, :end_pos]) for k, v in self._past_key_values)
        self._prob_history = self._prob_history[:, :end_pos]
