"""Correct kernels over packed batches, in the five shapes in which engines call them, each bound in ten lines or fewer: none may ever be accused."""

import itertools
import random

import numpy as np
import torch

import specverify as sv

UNDEFINED = "undefined padding"
WIDE = ("float32", "float64")


def inverse(weights, u):
    """The first token whose cumulative weight exceeds u times the whole."""
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, min(u * sums[-1], np.nextafter(sums[-1], 0)), side="right"))


def chain(target, q, draft, uniform):
    """One request; q None for drafts that were no random choice."""
    for i, x in enumerate(draft):
        drawn = q[i] if q is not None else np.eye(len(target[i]))[x]
        if uniform() * drawn[x] >= target[i][x]:
            left = np.maximum(np.asarray(target[i], float) - drawn, 0)
            return i, inverse(left if left.sum() else target[i], uniform())
    return len(draft), inverse(np.asarray(target[len(draft)], float), uniform())


# Flat, lengths inclusive, a kernel that writes -1 behind each end -------------------------------------------------------------


def kernel_inclusive(out, target, bonus, q, draft, ends):
    start, out[:] = 0, -1
    for b, end in enumerate(ends):
        rows = [*target[start:end], bonus[b]]
        n, token = chain(rows, None if q is None else q[start:end], draft[start:end], np.random.random)
        out[b, :n], out[b, n] = draft[start : start + n], token
        start = end


@sv.subject("verify_packed", rule="standard", arrays="numpy", dtypes=WIDE, sentinel=-1, scratch=("out",), supports=("no q", "int32", UNDEFINED))
def flat_inclusive(batch):
    out = batch.scratch("out")
    kernel_inclusive(out, *batch.flat_inclusive())
    return out


# Flat, lengths exclusive, bonus rows in line, tails as they were --------------------------------------------------------------


def kernel_exclusive(out, rows, seeds, id_map):
    (slots, accepted), (target, q, draft, starts) = out, rows
    for b, seed in enumerate(seeds):
        here, rng = slice(starts[b], starts[b + 1] - 1), random.Random(int(seed))
        ids = draft[here] if id_map is None else id_map[draft[here]]
        drawn = q[here] if id_map is None else np.zeros((len(ids), target.shape[1]), q.dtype)
        if id_map is not None:
            drawn[:, id_map] = q[here]
        n, token = chain(target[starts[b] : starts[b + 1]], drawn, ids, rng.random)
        slots[starts[b] : starts[b] + n], slots[starts[b] + n], accepted[b] = ids[:n], token, n


@sv.subject("verify_packed", rule="standard", arrays="numpy", dtypes=WIDE, scratch=("flat", "accepted"), supports=("seeds", "id map", "int32", UNDEFINED),
            conventions={"output": "in line and accepted"})  # fmt: skip
def flat_exclusive(batch):
    slots, accepted = batch.scratch("flat"), batch.scratch("accepted")
    kernel_exclusive((slots, accepted), batch.flat_exclusive(), batch.seeds, batch.id_map)
    return slots, accepted


# Dense, counters that accumulate place by place, raw logits -------------------------------------------------------------------


def filtered(logits, temperature, top_k, top_p):
    """Probabilities by rank; a greedy request keeps its best token."""
    cold = (temperature == 0)[:, None, None]
    ranked, order = (logits / torch.where(cold, 1, temperature[:, None, None])).sort(dim=-1, descending=True, stable=True)
    ranked = ranked.masked_fill(torch.arange(logits.shape[-1]) >= torch.where(cold, 1, top_k[:, None, None]), -torch.inf)
    p = ranked.softmax(-1)
    p = p.masked_fill(p.cumsum(-1) - p >= torch.where(cold, 1, top_p[:, None, None]), 0)
    return torch.empty_like(p).scatter_(-1, order, p / p.sum(-1, keepdim=True))


def kernel_dense(counters, p, q, draft, lengths, generator):
    going, rows = lengths >= 0, torch.arange(len(lengths))
    for i, x in enumerate(draft.long().T):
        going = going & (i < lengths) & (torch.rand(len(x), generator=generator, dtype=p.dtype) * q[rows, i, x] < p[rows, i, x])
        counters += going
    n = counters.long()
    theirs = torch.cat([q, torch.zeros_like(p[:, :1])], 1)[rows, n]
    left = (p[rows, n] - theirs).clamp_(min=0)
    weights = torch.where(((n < lengths) & (left.sum(-1) > 0))[:, None], left, p[rows, n])
    tokens = torch.cat([draft, draft.new_zeros(len(draft), 1)], 1)
    tokens[rows, n] = torch.multinomial(weights, 1, generator=generator)[:, 0].to(tokens.dtype)
    return tokens


@sv.subject("verify_packed", rule="standard", dtypes=WIDE, seed="generator", scratch=("accepted",), supports=("temperature", "top_k", "top_p", "int32"),
            conventions={"target": "logits"})  # fmt: skip
def dense_counters(batch):
    logits, q, draft = batch.dense(fill=0)
    p = filtered(logits, batch.temperature, batch.top_k, batch.top_p)
    counters = batch.scratch("accepted").zero_()
    return kernel_dense(counters, p, q, draft, batch.lengths, batch.generator), counters


# Vectors: accepted lengths and the token behind, uniform numbers as an argument ----------------------------------------------


def kernel_vectors(target, q, draft, starts, coins):
    told = []
    for a, b in itertools.pairwise(starts):
        numbers = iter(coins[a:b])
        told.append(chain(target[a:b], q[a : b - 1], draft[a : b - 1], lambda numbers=numbers: next(numbers)))
    return tuple(map(list, zip(*told, strict=True)))


@sv.subject("verify_packed", rule="standard", arrays="list", dtypes=WIDE, rng="coins", supports=(UNDEFINED,), conventions={"output": "accepted and bonus"})
def vectors(batch):
    return kernel_vectors(*batch.flat_exclusive(), batch.coins)


# Others ----------------------------------------------------------------------------------------------------------------------


@sv.subject("verify_packed", rule="standard", arrays="numpy", dtypes=WIDE, supports=("seeds", "temperature", "top_k", UNDEFINED),
            conventions={"target": "logits", "output": "flat and counts"})  # fmt: skip
def packed_output(batch):
    """Requests served backwards, each with its own generator; ids one behind the other."""
    target, _, draft, starts = batch.flat_exclusive()
    rows = [served(target, draft, slice(*starts[b : b + 2]), batch, b) for b in reversed(range(len(batch)))][::-1]
    return np.concatenate(rows), np.array([len(row) for row in rows])


def served(target, draft, here, batch, b):
    rng, q = np.random.Generator(np.random.Philox(int(batch.seeds[b]))), batch.flat_exclusive().q[here]
    rows = [probabilities(row, batch.temperature[b], batch.top_k[b]) for row in target[here]]
    n, token = chain(rows, q, draft[here][:-1], rng.random)
    return np.array([*draft[here][:n], token])


def probabilities(row, temperature, top_k):
    if temperature == 0:
        return np.eye(len(row))[row.argmax()]
    cut = np.sort(row)[-top_k]
    weights = np.where(row >= cut, np.exp((row.astype(float) - row.max()) / float(temperature)), 0)
    return weights / weights.sum()


@sv.subject("verify_packed", rule="sample-and-match", dtypes=WIDE, rng="generators", supports=("no q", "temperature", UNDEFINED))
def matches(batch):
    """Draws from every row, and goes on while the draft is the same."""
    target, _, draft, starts = batch.flat_exclusive()
    spans = list(itertools.pairwise(starts.tolist()))
    return [followed(target[a:b], draft[a : b - 1].tolist(), generator) for (a, b), generator in zip(spans, batch.generators, strict=True)]


def followed(rows, draft, generator):
    tokens = []
    for row, x in zip(rows, [*draft, -1], strict=True):
        tokens.append(int(torch.multinomial(row, 1, generator=generator)))
        if tokens[-1] != x:
            break
    return tokens


@sv.subject("verify_packed", rule="standard", conventions={"output": "rows and counts"}, dtypes=WIDE, supports=("seeds", "id map"), mutates=("q",))
def in_place(batch):
    """Turns q into residuals in place, whatever the subject is called with; each request's numbers are hashes of its seed and a place."""
    target, q, draft = batch.dense(fill=0)
    ids = batch.id_map if batch.id_map is not None else torch.arange(batch.vocabulary)
    out, counts = batch.scratch("out"), batch.scratch("emitted")
    for b, (n, seed) in enumerate(zip(batch.lengths.tolist(), batch.seeds.tolist(), strict=True)):
        counts[b] = kernel_in_place(out[b], target[b], q[b], draft[b, :n].tolist(), ids, random.Random(f"{seed}"))
    return out, counts


def kernel_in_place(out, target, q, draft, ids, rng):
    for i, x in enumerate(draft):
        if rng.random() * float(q[i, x]) >= float(target[i, ids[x]]):
            q[i] = (target[i, ids] - q[i]).clamp(min=0)
            left = target[i].clone()
            left[ids] = q[i]
            out[i] = inverse((left if left.sum() > 0 else target[i]).double().numpy(), rng.random())
            return i + 1
        out[i] = ids[x]
    out[len(draft)] = inverse(target[len(draft)].double().numpy(), rng.random())
    return len(draft) + 1
