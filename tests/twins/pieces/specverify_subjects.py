"""Correct twins of the pieces and of the steps that were not drawn: other hands' styles, each lawful, each tempting."""

import math
import random

import numpy as np
import torch

import specverify as sv

TORCH = ("float64", "float32", "float16", "bfloat16")


@sv.subject("residual", batch=True, dtypes=TORCH)
def res_relu(p, q):
    """NaN where the rows are equal: nothing is left to normalise."""
    left = torch.relu(p - q)
    return left / left.sum(-1, keepdim=True)


@sv.subject("residual", arrays="numpy", dtypes=("float64", "float32"))
def res_normalises_first(p, q):
    """Rows are normalised once more; ties of p and q may then come out as a last bit."""
    left = np.maximum(p / p.sum() - q / q.sum(), 0)
    return left / max(left.sum(), 1e-12)


@sv.subject("residual", arrays="list", dtypes=("float64",))
def res_falls_back(p, q):
    """Equal rows give p."""
    left = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    total = math.fsum(left)
    return [x / total for x in left] if total else p


@sv.subject("residual", conventions={"eps": 1e-8})
def res_in_place(p, q):
    """Works in p and guards its sum."""
    p -= q
    p.clamp_(min=0)
    return p / (p.sum() + 1e-8)


@sv.subject("ratio", batch=True, dtypes=("float64", "float32"), conventions={"eps": 1e-10})
def rat_least_denominator(num, den):
    return num / den.clamp(min=1e-10)


@sv.subject("ratio", batch=True, arrays="list", dtypes=("float64",))
def rat_zero_for_zero(num, den):
    return [a / b if b else 0.0 for a, b in zip(num, den, strict=True)]


@sv.subject("ratio", batch=True)
def rat_plain(num, den):
    """No guard at all: NaN for 0/0, which no lawful caller sends."""
    return num / den


@sv.subject("ratio", batch=True, dtypes=("float32", "bfloat16"))
def rat_reciprocal(num, den):
    return num * den.reciprocal()


@sv.subject("ratio", conventions={"eps": 1e-10})
def rat_one_number(num, den):
    """Python's own max takes one number at a time."""
    return num / max(den, 1e-10)


@sv.subject("keep_fraction")
def kpf_may_empty(logits, thres):
    """Keeps none at a threshold of 1."""
    k = math.ceil((1 - thres) * len(logits))
    values, places = logits.topk(k)
    return torch.full_like(logits, -math.inf).scatter(-1, places, values)


@sv.subject("accept_probability", batch=True, dtypes=TORCH)
def acc_clamp(p_x, q_x):
    return (p_x / q_x).clamp(max=1)


@sv.subject("accept_probability", batch=True, dtypes=("float64", "float32"))
def acc_logs(p_x, q_x):
    return torch.exp((p_x.double().log() - q_x.double().log()).clamp(max=0))


@sv.subject("accept_probability", batch=True, arrays="list", dtypes=("float64",))
def acc_without_division(p_x, q_x):
    return [1.0 if a >= b else a / b for a, b in zip(p_x, q_x, strict=True)]


@sv.subject("first_rejection", batch=True)
def frj_cumprod(accepted):
    return accepted.long().cumprod(-1).sum(-1)


@sv.subject("first_rejection")
def frj_only_batches(accepted):
    """Takes (B, gamma) alone."""
    padded = torch.cat([accepted, torch.zeros(len(accepted), 1, dtype=torch.bool)], dim=1)
    return (~padded).long().argmax(dim=1)


@sv.subject("first_rejection", arrays="list")
def frj_index(accepted):
    return accepted.index(False) if False in accepted else len(accepted)


@sv.subject("first_rejection", arrays="numpy", batch=True)
def frj_numpy(accepted):
    return np.logical_and.accumulate(accepted, axis=-1).sum(-1)


@sv.subject("filter_logits", batch=True, dtypes=TORCH)
def flt_ties_kept(logits, top_k, top_p):
    """Ties at the k-th place are all kept; the boundary token of top-p too."""
    k = min(top_k, logits.shape[-1])
    logits = logits.masked_fill(logits < logits.topk(k, -1).values[..., -1:], -math.inf)
    ordered, order = logits.sort(-1, descending=True)
    mass = ordered.double().softmax(-1)
    drop = mass.cumsum(-1) - mass >= top_p
    return logits.masked_fill(drop.scatter(-1, order, drop), -math.inf)


@sv.subject("filter_logits", arrays="numpy", dtypes=("float64", "float32"))
def flt_ties_cut(logits, top_k, top_p):
    """Exactly k are kept, and a token that only reaches the boundary is dropped unless it is the first."""
    order = np.argsort(-logits, kind="stable")
    mass = np.exp(logits[order] - logits.max()).astype(float)
    mass /= mass.sum()
    n = max(1, int((np.cumsum(mass) <= top_p).sum())) if top_p < 1 else len(logits)
    out = np.full_like(logits, -np.inf)
    kept = order[: min(top_k, n)]
    out[kept] = logits[kept]
    return out


@sv.subject("filter_logits", batch=True, mutates=("logits",))
def flt_in_place(logits, top_k, top_p):
    """Ascending order, works in its argument."""
    logits[logits < logits.topk(min(top_k, logits.shape[-1]), -1).values[..., -1:]] = -math.inf
    ordered, order = logits.sort(-1)
    drop = ordered.double().softmax(-1).cumsum(-1) <= 1 - top_p
    drop[..., -1] = False
    logits[drop.scatter(-1, order, drop)] = -math.inf
    return logits


@sv.subject("keep_fraction", batch=True, dtypes=TORCH)
def kpf_topk(logits, thres):
    k = max(1, math.ceil((1 - thres) * logits.shape[-1]))
    values, places = logits.topk(k, -1)
    return torch.full_like(logits, -math.inf).scatter(-1, places, values)


@sv.subject("keep_fraction", arrays="list", dtypes=("float64",))
def kpf_ties_kept(logits, thres):
    k = max(1, math.ceil((1 - thres) * len(logits)))
    border = sorted(logits)[-k]
    return [x if x >= border else -math.inf for x in logits]


@sv.subject("warp", batch=True, dtypes=("float64", "float32"), conventions={"zero_means": "argmax"})
def wrp_softmax(logits, temperature, top_k, top_p):
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    logits = flt_ties_kept(logits / temperature, top_k, top_p)
    return logits.softmax(-1)


@sv.subject("warp", arrays="numpy", dtypes=("float64", "float32"), conventions={"zero_means": "refuse"})
def wrp_numpy(logits, temperature, top_k, top_p):
    """Refuses temperature 0; cuts ties."""
    if temperature == 0:
        raise ValueError("temperature must be above 0")
    kept = flt_ties_cut(logits / temperature, top_k, top_p)
    weights = np.exp((kept - kept.max()).astype(float))
    return (weights / weights.sum()).astype(logits.dtype)


@sv.subject("warp", batch=True)
def wrp_probabilities_first(logits, temperature, top_k, top_p):
    """Softmax, then the filters on probabilities, then normalised; NaN at temperature 0."""
    probs = (logits / temperature).softmax(-1)
    kept = flt_ties_kept((logits / temperature), top_k, top_p) > -math.inf
    probs = probs * kept
    return probs / probs.sum(-1, keepdim=True)


@sv.subject("verify_chain_greedy", dtypes=TORCH)
def grd_vectorised(logits, draft):
    best = logits.argmax(-1)
    n = int((best[:-1] == draft).long().cumprod(0).sum())
    return torch.cat([draft[:n], best[n : n + 1]])


@sv.subject("verify_chain_greedy", arrays="list", dtypes=("float64",))
def grd_last_of_ties(logits, draft):
    """Ties go to the highest id."""
    best = [max(range(len(row)), key=lambda i: (row[i], i)) for row in logits]
    n = next((i for i, x in enumerate(draft) if x != best[i]), len(draft))
    return [*draft[:n], best[n]]


@sv.subject("verify_chain_greedy")
def grd_any_argmax(logits, draft):
    """Accepts whatever ties with the best."""
    n = 0
    while n < len(draft) and logits[n, draft[n]] == logits[n].max():
        n += 1
    return [*draft[:n].tolist(), int(logits[n].argmax())]


@sv.subject("verify_chain_greedy")
def grd_one_token(logits, draft):
    """Plain greedy decoding: right, one token at a time."""
    return logits[0].argmax()


@sv.subject("verify_deterministic_draft", dtypes=TORCH, rule="sample-and-match")
def det_sample_and_match(p, draft):
    """Draws from p and goes on while the draw is the draft; the mismatching draw itself is emitted."""
    out = []
    for row, x in zip(p, [*draft.tolist(), None], strict=True):
        out.append(int(torch.multinomial(row.float(), 1)))
        if out[-1] != x:
            break
    return out


@sv.subject("verify_deterministic_draft", arrays="list", dtypes=("float64",), rule="standard")
def det_one_hot(p, draft):
    """Accepts with p(x), else p without x."""
    for n, x in enumerate(draft):
        if random.random() >= p[n][x]:
            rest = [0.0 if t == x else w for t, w in enumerate(p[n])]
            return [*draft[:n], random.choices(range(len(rest)), rest if sum(rest) else p[n])[0]]
    return [*draft, random.choices(range(len(p[-1])), p[-1])[0]]


@sv.subject("verify_deterministic_draft", seed="generator")
def det_plain(p, draft, generator):
    """Plain decoding, which ignores the draft."""
    return torch.multinomial(p[0], 1, generator=generator)
