"""Correct batched verifiers in the shapes in which engines write their kernels, each bound in a few lines: none may ever be accused."""

import random

import numpy as np
import torch

import specverify as sv

UNDEFINED = "undefined padding"


def chain(p, q, draft, uniform):
    """One request, by inverse CDF: accepted length and the token behind."""
    for i, x in enumerate(draft):
        if uniform() * q[i][x] >= p[i][x]:
            return i, inverse(np.maximum(np.asarray(p[i], float) - q[i], 0), p[i], uniform())
    return len(draft), inverse(p[len(draft)], p[len(draft)], uniform())


def inverse(weights, otherwise, u):
    """The first token whose cumulative weight exceeds u times the whole; another row where nothing is left."""
    weights = np.asarray(weights if np.sum(weights) > 0 else otherwise, float)
    sums = weights.cumsum()
    return int(np.searchsorted(sums, min(u * sums[-1], np.nextafter(sums[-1], 0)), side="right"))


# A kernel over flat rows, cumulative lengths inclusive, unused tails -1 ------------------------------------------------------


def kernel_inclusive(target, drafted, ids, ends, out):
    """target: rows of all requests with their bonus rows, one behind the other; ends: inclusive sums of the drafts."""
    start = 0
    for b, end in enumerate(ends):
        n, token = chain(target[start + b : end + b + 1], drafted[start:end], ids[start:end], np.random.random)
        out[b, :n], out[b, n] = ids[start : start + n], token
        start = end


@sv.subject("verify_batch", rule="standard", arrays="numpy", dtypes=("float32", "float64"), supports=(UNDEFINED,))
def flat_inclusive(p, q, draft, lengths):
    inside = np.arange(draft.shape[1]) < lengths[:, None]
    rows = np.arange(p.shape[1]) <= lengths[:, None]
    out = np.full(p.shape[:2], -1, dtype=np.int32)
    kernel_inclusive(p[rows], q[inside], draft[inside], lengths.cumsum(), out)
    return out


# A kernel over flat rows, exclusive offsets with a leading 0, bonus rows in line, uninitialised tails ------------------------


def kernel_exclusive(target, drafted, ids, offsets, seeds):
    """Slots of each request at its own offset, length + 1 of them; how many are accepted; what lies behind is whatever was in memory."""
    slots, accepted = torch.randint(0, 2, (len(target),)), torch.zeros(len(offsets) - 1, dtype=torch.int64)
    for b, seed in enumerate(seeds):
        rng, here = random.Random(seed), slice(offsets[b], offsets[b + 1] - 1)
        n, token = chain(target[offsets[b] : offsets[b + 1]], drafted[here], ids[here], rng.random)
        slots[offsets[b] : offsets[b] + n], slots[offsets[b] + n], accepted[b] = torch.tensor(ids[here][:n], dtype=torch.int64), token, n
    return slots, accepted


@sv.subject("verify_batch", rule="standard", supports=("seeds", "temperature", UNDEFINED))
def flat_exclusive(p, q, draft, lengths, *, seeds, temperature):
    mine = torch.arange(p.shape[1]) <= lengths[:, None]
    offsets = [0, *(lengths + 1).cumsum(0).tolist()]
    q, draft = torch.cat([q, p[:, :1]], 1)[mine], torch.cat([draft, draft[:, :1]], 1)[mine]
    slots, accepted = kernel_exclusive(p[mine].tolist(), q.tolist(), draft.tolist(), offsets, seeds.tolist())
    return [slots[a : a + n + 1] for a, n in zip(offsets, accepted.tolist(), strict=False)]


# Dense, all places at once, with accumulating counters ----------------------------------------------------------------------


@sv.subject("verify_batch", rule="standard", dtypes=("float32", "float64"), seed="generator", mutates=("p",))
def dense_counters(p, q, draft, lengths, *, generator):
    """Everything masked arithmetic; the accepted lengths grow place by place; the row at the stop becomes the residual in place."""
    rows, places = torch.arange(len(p)), torch.arange(draft.shape[1])
    going, accepted = torch.ones(len(p), dtype=torch.bool), torch.zeros(len(p), dtype=torch.int64)
    for i in places:
        x = draft[:, i]
        going &= (i < lengths) & (torch.rand(len(p), generator=generator, dtype=p.dtype) * q[rows, i, x] < p[rows, i, x])
        accepted += going
    last = p[rows, accepted]
    left = (last - torch.cat([q, torch.zeros_like(q[:, :1])], 1)[rows, accepted]).clamp(min=0)
    weights = torch.where(((accepted < lengths) & (left.sum(-1) > 0))[:, None], left, last)
    tokens = torch.cat([draft, draft[:, :1]], 1)
    tokens[rows, accepted] = torch.multinomial(weights, 1, generator=generator)[:, 0]
    return tokens, accepted


# Vectors: accepted lengths and the token behind -----------------------------------------------------------------------------


@sv.subject(
    "verify_batch",
    rule="standard",
    arrays="list",
    dtypes=("float32", "float64"),
    conventions={"output": "accepted and bonus"},
    supports=("temperature", UNDEFINED),
)
def two_vectors(p, q, draft, lengths, *, temperature):
    """Python lists; a greedy request compares with the argmax and tosses no coin."""
    told = [_one(*request) for request in zip(p, q, draft, lengths, temperature, strict=True)]
    return [n for n, _ in told], [token for _, token in told]


def _one(p, q, draft, length, temperature):
    if temperature:
        return chain(p, q, draft[:length], random.random)
    best = [row.index(max(row)) for row in p[: length + 1]]
    n = next((i for i, x in enumerate(draft[:length]) if x != best[i]), length)
    return n, best[n]


# Others ----------------------------------------------------------------------------------------------------------------------


@sv.subject("verify_batch", rule="standard", rng="generators", supports=("temperature",), conventions={"output": "rows and counts"}, sentinel=0)
def generators_and_counts(p, q, draft, lengths, *, generators, temperature):
    """A generator for each request, slots filled with 0, how many tokens are emitted; the requests are served backwards."""
    out, counts = torch.zeros(p.shape[:2], dtype=torch.int32), torch.zeros(len(p), dtype=torch.int32)
    for b in reversed(range(len(p))):
        n, token = chain(p[b].tolist(), q[b].tolist(), draft[b, : lengths[b]].tolist(), lambda b=b: float(torch.rand((), generator=generators[b])))
        out[b, :n], out[b, n], counts[b] = draft[b, :n], token, n + 1
    return out, counts


@sv.subject("verify_batch", rule="sample-and-match", supports=("temperature", UNDEFINED))
def matches_all_at_once(p, q, draft, lengths, *, temperature):
    """Draws from every row of the target, padding rows made harmless first; a row goes on while the draft is the same; what was drawn is emitted."""
    inside = torch.arange(p.shape[1]) <= lengths[:, None]
    drawn = torch.multinomial(torch.where(inside[..., None], p, torch.ones_like(p)).flatten(0, 1), 1).view(inside.shape)
    same = (drawn[:, :-1] == draft) & inside[:, 1:]
    n = same.long().cumprod(1).sum(1)
    return drawn.where(torch.arange(p.shape[1]) <= n[:, None], -1)


@sv.subject("verify_batch", supports=("seeds",), arrays="numpy")
def philox(p, q, draft, lengths, *, seeds):
    """A counter-based generator for each request, block verification nowhere: the draft of a request is cut to one token, which is as exact."""
    told = [
        chain(p[b], q[b], draft[b, : min(1, n)], np.random.Generator(np.random.Philox(int(seed))).random)
        for b, (n, seed) in enumerate(zip(lengths, seeds, strict=True))
    ]
    return [[*draft[b, :n].tolist(), token] for b, (n, token) in enumerate(told)]
