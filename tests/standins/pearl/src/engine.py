"""Stand-in: the plain loop."""

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
