import torch

from .kvcache import KVCacheModel
from .util import max_fn, sample, seed_everything


class Decoding:
    def __init__(self, args):
        self.args, self.seed = args, args.seed
        seed_everything(self.seed)

    def speculative_decoding(self, prefix):
        args, end = self.args, prefix.shape[1] + self.args.max_tokens
        draft, target = (KVCacheModel(model, args.temp, args.top_k, args.top_p) for model in (self.draft_model, self.target_model))
        while prefix.shape[1] < end:
            prefix = self._round(prefix, draft, target)
        return prefix

    def parallel_speculative_decoding(self, prefix):
        end = prefix.shape[1] + self.args.max_tokens
        draft = KVCacheModel(self.draft_model, self.args.temp, self.args.top_k, self.args.top_p)
        target = KVCacheModel(self.target_model, self.args.temp, self.args.top_k, self.args.top_p)
        while prefix.shape[1] < end:
            prefix = self._round(prefix, draft, target)
        return prefix

    def _round(self, prefix, draft, target):
        start, ids = prefix.shape[1], draft.generate(prefix, self.args.gamma)
        target.generate(ids, 1)
        q, p = draft._prob_history[0], target._prob_history[0]
        for at in range(start, ids.shape[1]):
            if torch.rand(1) >= p[at - 1, ids[0, at]] / q[at - 1, ids[0, at]]:
                draft.rollback(at)
                target.rollback(at)
                return torch.cat([ids[:, :at], sample(max_fn(p[at - 1 : at] - q[at - 1 : at]))], 1)
        return torch.cat([ids, sample(p[-1:])], 1)
