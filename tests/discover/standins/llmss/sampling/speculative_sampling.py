import torch

from .kvcache_model import KVCacheModel
from .utils import max_fn, norm_logits, sample


def speculative_sampling(prefix, approx_model, target_model, max_len, gamma=4, temperature=1, top_k=0, top_p=0, verbose=False, random_seed=None):
    end = prefix.shape[1] + max_len
    draft, target = KVCacheModel(approx_model, temperature, top_k, top_p), KVCacheModel(target_model, temperature, top_k, top_p)
    while prefix.shape[1] < end:
        start = prefix.shape[1]
        drafted = draft.generate(prefix, gamma)
        target.generate(drafted, 1)
        prefix = _verified(drafted, draft._prob_history[0], target._prob_history[0], start)
        draft.rollback(min(prefix.shape[1] - 1, drafted.shape[1] - 1))
        target.rollback(prefix.shape[1] - 1)
    return prefix


def speculative_sampling_v2(prefix, approx_model, target_model, max_len, gamma=4, temperature=1, top_k=0, top_p=0, random_seed=None):
    end = prefix.shape[1] + max_len
    while prefix.shape[1] < end:
        start, drafted = prefix.shape[1], prefix
        for _ in range(gamma):
            q = norm_logits(approx_model(drafted).logits[0], temperature, top_k, top_p)
            drafted = torch.cat([drafted, sample(q[-1:])], 1)
        p = norm_logits(target_model(drafted).logits[0], temperature, top_k, top_p)
        prefix = _verified(drafted, q, p, start)
    return prefix


def _verified(ids, q, p, start):
    for at in range(start, ids.shape[1]):
        token = ids[0, at]
        if torch.rand(1) >= p[at - 1, token] / q[at - 1, token]:
            return torch.cat([ids[:, :at], sample(max_fn(p[at - 1 : at] - q[at - 1 : at]))], 1)
    return torch.cat([ids, sample(p[-1:])], 1)
