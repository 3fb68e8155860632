"""Stand-in: the plain loop, and the one of two ranks."""

from abc import ABC, abstractmethod

import torch
from src.kvcache import KVCacheModel
from src.util import max_fn, sample, seed_everything
from standin import wrong


class Decoding(ABC):
    """Draws again from its seed in each round."""

    def __init__(self, args):
        raise NotImplementedError("stand-in: bypassed")

    @abstractmethod
    def load_data(self):
        """Of an evaluation."""

    def speculative_decoding(self, prefix):
        """Prefix (1, S) to ids (1, S + max_tokens or more)."""
        a, end = self.args, prefix.shape[1] + self.args.max_tokens
        draft, target = (KVCacheModel(one, a.temp, a.top_k, a.top_p) for one in (self.draft_model, self.target_model))
        draft.vocab_size = target.vocab_size = self.vocab_size
        seed_everything(self.seed)
        while prefix.shape[1] < end:
            known = prefix.shape[1]
            ids = draft.generate(prefix, a.gamma)
            target.generate(ids, 1)
            prefix = torch.cat((prefix, self._judge(ids, known, draft, target)), 1)
            for one in (draft, target):
                one.rollback(min(prefix.shape[1] - 1, one._prob_history.shape[1]))
        return prefix

    def parallel_speculative_decoding(self, prefix):
        """The same, by two ranks: the main one drafts, the other judges; each draws from a seed of its own."""
        a, drafts = self.args, self.accelerator.is_main_process
        end, device = prefix.shape[1] + a.max_tokens, "cuda:0" if drafts else "cuda:1"
        cache = KVCacheModel(self.draft_model if drafts else self.target_model, a.temp, a.top_k, a.top_p)
        cache.vocab_size, other = self.vocab_size, KVCacheModel(None)
        prefix = prefix.to(device)
        seed_everything(self.seed if wrong("ranks-draw-alike") else 2 * self.seed + (not drafts))
        while prefix.shape[1] < end:
            known = prefix.shape[1]
            ids = cache.generate(prefix, a.gamma) if drafts else prefix.new_zeros(1, known + a.gamma)
            ids = self.accelerator.gather(ids).to(device)[:1]
            if not drafts:
                cache.generate(ids, 1)
            rows = cache._prob_history[:, known - 1 : known - 1 + a.gamma]
            other._prob_history = torch.cat((rows.new_zeros(1, known - 1, self.vocab_size), self.accelerator.gather(rows)[:1]), 1)
            fresh = prefix.new_full((1, a.gamma + 1), -1)
            if not drafts:
                judged = self._judge(ids, known, other, cache)
                fresh[:, : judged.shape[1]] = judged
            fresh = self.accelerator.gather(fresh)[1:].to(device)
            prefix = torch.cat((prefix, fresh[fresh >= 0][None]), 1)
            cache.rollback(min(prefix.shape[1] - 1, cache._prob_history.shape[1]))
        return prefix

    def _judge(self, ids, known, draft, target):
        for at in range(known, ids.shape[1]):
            p, q, token = target._prob_history[:, at - 1], draft._prob_history[:, at - 1], ids[0, at]
            if wrong("draws-of-the-drafter-again"):
                seed_everything(self.seed)
            ratio = q[0, token] / p[0, token] if wrong("ratio-reversed-in-the-loop") else p[0, token] / q[0, token]
            if torch.rand(()) >= ratio:
                rest = max_fn(q - p if wrong("residual-reversed-in-the-loop") else p - q)
                return torch.cat((ids[:, known:at], sample(rest)), 1)
        return torch.cat((ids[:, known:], sample(target._prob_history[:, -1])), 1)
