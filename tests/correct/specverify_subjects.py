"""One textbook implementation per contract, as a maintainer would write it: audits of these must never find anything."""

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
