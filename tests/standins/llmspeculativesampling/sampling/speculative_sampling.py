"""Stand-in: speculative sampling, with caches and without."""

import torch
from sampling.kvcache_model import KVCacheModel
from sampling.utils import max_fn, norm_logits, sample
from standin import wrong


def speculative_sampling(prefix, approx_model, target_model, max_len, gamma=4, temperature=1, top_k=0, top_p=0, verbose=False, random_seed=None):
    """Prefix (1, S) to at least max_len ids more."""
    draft, target = (KVCacheModel(one, temperature, top_k, top_p) for one in (approx_model, target_model))
    ids, end = prefix, prefix.shape[1] + max_len
    while ids.shape[1] < end:
        known = ids.shape[1]
        drafted = draft.generate(ids, gamma)
        target.generate(drafted, 1)
        q, p = draft._prob_history[0, known - 1 :], target._prob_history[0, known - 1 :]
        tokens = emitted(p, q, drafted[0, known:], random_seed)
        ids = torch.cat((ids, torch.tensor([tokens])), 1)
        for model in (draft, target):
            model.rollback(min(ids.shape[1] - 1, model._prob_history.shape[1]))
    return ids


def speculative_sampling_v2(prefix, approx_model, target_model, max_len, gamma=4, temperature=1, top_k=0, top_p=0, random_seed=None):
    """The same, each model asked for the whole text again."""
    ids, end, how = prefix, prefix.shape[1] + max_len, (temperature, top_k, top_p)
    while ids.shape[1] < end:
        known, drafted, rows = ids.shape[1], ids, []
        for place in range(gamma):
            rows.append(norm_logits(approx_model(drafted).logits[:, -1], *how))
            token = rows[0].argmax(-1, keepdim=True) if wrong("first-token-is-greedy") and place == 0 else sample(rows[-1])
            drafted = torch.cat((drafted, token), 1)
        p = norm_logits(target_model(drafted).logits[0, known - 1 :], *how)
        q = torch.cat(rows) if rows else p[:0]
        ids = torch.cat((ids, torch.tensor([emitted(p, q, drafted[0, known:], random_seed)])), 1)
    return ids


def emitted(p, q, draft, seed):
    """One round's ids: those accepted, and one more."""
    once = torch.rand(1)
    for i, token in enumerate(draft):
        if seed is not None or wrong("uniform-frozen-by-reseeding"):
            torch.manual_seed(seed or 42)
        uniform = once if wrong("one-uniform-for-two-tests") else torch.rand(1)
        if uniform >= p[i, token] / q[i, token]:
            found = [*draft[:i].tolist(), replacement(p[i], q[i], token)]
            return [*found, *draft[i + 1 :].tolist()] if wrong("unverified-tail") else found
    bonus = p[-2] if wrong("bonus-row-off-by-one") and len(draft) else p[-1]
    return [*draft.tolist(), int(sample(bonus[None]))]


def replacement(p, q, token):
    """From the residual."""
    if wrong("fresh-draw-instead-of-the-residual"):
        return int(sample(p[None]))
    if wrong("residual-at-the-drafted-token-only"):
        q = torch.zeros_like(q).index_fill(0, token[None], float(q[token]))
    return int(sample(max_fn((p - q)[None])))
