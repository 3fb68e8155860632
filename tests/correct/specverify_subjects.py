"""One textbook implementation per contract, as a maintainer would write it: audits of these must never find anything."""

from collections import Counter

import torch

import specverify as sv


@sv.subject("positive_part", batch=True)
def max_fn(x):
    positive = torch.where(x > 0, x, torch.zeros_like(x))
    return positive / positive.sum(dim=-1, keepdim=True)


@sv.subject("pad_path", conventions={"overlong": "refuse"})
def pad_path(path, length, pad):
    if len(path) > length:
        raise ValueError(f"a path of {len(path)} does not fit into {length}")
    return path + [pad] * (length - len(path))


@sv.subject("sample", batch=True)
def sample(probs):
    return torch.multinomial(probs, 1)


@sv.subject("verify_chain", rule="standard")
def verify_chain(p, q, draft):
    for n, token in enumerate(draft.tolist()):
        if torch.rand(()) * q[n, token] >= p[n, token]:
            return [*draft[:n].tolist(), int(torch.multinomial((p[n] - q[n]).clamp(min=0), 1))]
    return [*draft.tolist(), int(torch.multinomial(p[-1], 1))]


@sv.subject("retriever")
def retriever(corpus, context, n_min, n_max, m, budget):
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        found = [row[i : i + m] for row in corpus for i in range(n, len(row)) if row[i - n : i] == context[-n:]]
        if found:
            counts = Counter(tuple(ids[: k + 1]) for ids in found for k in range(len(ids)))
            return sorted(counts.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:budget]
    return []
