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


def _mass_before(weights):
    """Mass of what comes before each entry in descending order, in the row's own order."""
    ordered, order = weights.sort(stable=True, dim=-1, descending=True)
    return torch.zeros_like(weights).scatter(-1, order, ordered.cumsum(-1) - ordered)


@sv.subject("filter_logits", batch=True, dtypes=("float64", "float32"), conventions={"filters": "top_p first"})
def flt_top_p_first(logits, top_k, top_p):
    """Top-p of the whole row, then the k best of what is left, ties cut."""
    drop = _mass_before(logits.double().softmax(-1)) >= top_p
    left = logits.masked_fill(drop & (logits < logits.amax(-1, keepdim=True)), -math.inf)
    values, places = left.topk(min(top_k, left.shape[-1]), -1)
    return torch.full_like(left, -math.inf).scatter(-1, places, values)


@sv.subject("filter_logits", batch=True)
def flt_both_masks(logits, top_k, top_p):
    """Two masks of the whole row, which may cut ties in different places; the most probable token stays."""
    places = logits.topk(min(top_k, logits.shape[-1]), -1).indices
    few = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, torch.ones_like(places, dtype=torch.bool))
    heavy = _mass_before(logits.double().softmax(-1)) < top_p
    best = torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).bool()
    return logits.masked_fill(~(few & heavy | best), -math.inf)


@sv.subject("filter_logits", arrays="list", dtypes=("float64",), conventions={"filters": "top_k first"})
def flt_renormalised_by_hand(logits, top_k, top_p):
    """The k best, their probabilities over their sum, then the shortest run of mass top-p."""
    order = sorted(range(len(logits)), key=lambda i: -logits[i])[:top_k]
    weights = [math.exp(logits[i] - logits[order[0]]) for i in order]
    kept, mass = set(), 0.0
    for i, weight in zip(order, weights, strict=True):
        if mass < top_p * sum(weights) and weight:
            kept.add(i)
        mass += weight
    return [x if i in kept else -math.inf for i, x in enumerate(logits)]


@sv.subject("warp", batch=True, dtypes=("float64", "float32"), conventions={"order": "filters", "filters": "top_k first"})
def wrp_temperature_last(logits, temperature, top_k, top_p):
    """A top_p of 1 is off: what the rounding of a cumulative sum drops may weigh again at a high temperature."""
    return (flt_ties_kept(logits, top_k, top_p if top_p < 1 else math.inf) / temperature).softmax(-1)


@sv.subject("warp", batch=True, conventions={"filters": "top_p first"})
def wrp_top_p_first(logits, temperature, top_k, top_p):
    return flt_top_p_first(logits / temperature, top_k, top_p).softmax(-1)


@sv.subject("warp", batch=True)
def wrp_renormalises_between(logits, temperature, top_k, top_p):
    """Probabilities, the k largest over their sum, then top-p of those over theirs."""
    probs = (logits / temperature).softmax(-1)
    probs = probs * (probs >= probs.topk(min(top_k, probs.shape[-1]), -1).values[..., -1:])
    probs = probs / probs.sum(-1, keepdim=True)
    probs = probs * (_mass_before(probs) < top_p)
    return probs / probs.sum(-1, keepdim=True)


@sv.subject("seeding")
def sed_plain(seed, draw):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return draw()


@sv.subject("seeding")
def sed_with_cuda(seed, draw):
    """As training scripts do it."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    return draw()


@sv.subject("seeding")
def sed_derived(seed, draw):
    """Each generator gets a seed of its own making."""
    random.seed(str(seed))
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed + 2**40)
    return draw()


@sv.subject("seeding", supports=("torch",))
def sed_torch_alone(seed, draw):
    """Leaves numpy and random as they are, and says so."""
    torch.random.manual_seed(seed)
    return draw()


@sv.subject("seeding", supports=("numpy", "random"))
def sed_state_put_back(seed, draw):
    """Draws under the seed and leaves the generators as they were."""
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))
    drawn = draw()
    random.setstate(states[0])
    np.random.set_state(states[1])
    return tuple((name, tuple(numbers)) for name, numbers in drawn)


@sv.subject("seeding", supports=("torch",))
def sed_forked(seed, draw):
    """Seeds and draws inside a fork of the generator's state."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return draw()


def _windows(tokens, n):
    return [tokens[i : i + n] for i in range(len(tokens) - n + 1)]


TOKENS = sv.lists(sv.ints(0, 3))
PROBABILITIES = sv.tensors(("v",), sv.floats(0, 1))


@sv.subject("helper", domain={"tokens": TOKENS, "n": sv.ints(1, 4)}, oracle=_windows)
def hlp_tuples(tokens, n):
    """A tuple of tuples, from an iterator, where the oracle has lists."""
    return tuple(zip(*(tokens[i:] for i in range(n)), strict=False))


@sv.subject("helper", domain={"tokens": TOKENS}, oracle=lambda tokens: {t: tokens.count(t) for t in sorted(tokens)})
def hlp_counter(tokens):
    """A dict in another order than the oracle's."""
    counts = {}
    for token in reversed(tokens):
        counts[token] = counts.get(token, 0) + 1
    return counts


@sv.subject("helper", dtypes=TORCH, domain={"x": sv.tensors(("rows", "v"), sv.floats(-8, 8))}, oracle=lambda x: x.double().softmax(-1))
def hlp_softmax(x):
    """Another order of roundings than the oracle's, in every dtype."""
    weights = (x - x.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


@sv.subject(
    "helper",
    domain={"x": sv.tensors(("n",), sv.floats(-100, 100)), "y": sv.tensors(("n",), sv.floats(-100, 100))},
    oracle=lambda x, y: math.fsum((x - y).tolist()),
)
def hlp_cancels(x, y):
    """A float32 sum, handed over as a Python float."""
    return float(sum(x.tolist(), torch.zeros(())) - y.sum())


@sv.subject("helper", mutates=("x",), domain={"x": PROBABILITIES}, ensures=lambda x, result: bool((result >= 0).all()) and torch.equal(result > 0, x > 0.5))
def hlp_in_place(x):
    """Works in its argument, and declares it."""
    x[x <= 0.5] = 0
    return x


@sv.subject("helper", raises=(ValueError, "LookupError"), domain={"path": TOKENS, "node": sv.ints(-5, 5)}, oracle=lambda path, node: path.index(node))
def hlp_declared_raises(path, node):
    """An exception is part of what it promises; an IndexError is a LookupError."""
    if not path:
        return [][node]
    return path.index(node)


@sv.subject(
    "helper",
    arrays="numpy",
    domain={"ids": sv.tensors((3, "n"), sv.ints(-4, 4)), "shift": sv.ints(-2, 2)},
    ensures=lambda ids, shift, out: (np.sort(out) == np.sort(ids)).all(),
)
def hlp_numpy(ids, shift):
    return np.roll(ids, shift, axis=-1)


@sv.subject("helper", arrays="list", domain={"rows": sv.tensors(("m", "n"), sv.floats(0, 1)), "pad": sv.ints(1, 3)})
def hlp_no_judge(rows, pad):
    """No oracle and no postcondition: only determinism and exceptions are looked at. None, NaN and strings are values."""
    return {"rows": [row + [float("nan")] * pad for row in rows], "none": None, "name": "café"}


@sv.subject("helper", domain={"n": sv.ints(0, 3)}, ensures=lambda n, result: result() == n)
def hlp_returns_a_function(n):
    """Its results cannot be compared, but its postcondition can call them."""
    return lambda: n
