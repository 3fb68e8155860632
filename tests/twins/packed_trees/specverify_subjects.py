"""Correct kernels over packed batches of draft trees, in the styles in which engines call them, each bound in ten lines or fewer: none may ever be accused.

Written from the mathematics alone (shared/spec/theory.md 1c, 1d).
"""

import numpy as np
import torch

import specverify as sv

UNDEFINED = "undefined padding"
WIDE = ("float32", "float64")


# Recursive, on Python lists ---------------------------------------------------------------------------------------------------


def scanned(weights, u):
    """The first token whose cumulative weight exceeds u times the whole; none of weight zero."""
    left, last = u * sum(weights), 0
    for token, weight in enumerate(weights):
        if weight > 0:
            if left < weight:
                return token
            left, last = left - weight, token
    return last


def walked(slot, tokens, first, sibling, target, coins):
    """One number at each place: it falls on a child, in their order, or on what is left of the row behind them."""
    row, child = list(target[slot]), first[slot]
    u = coins[slot] * sum(row)
    while child != 0:
        weight, row[tokens[child]] = row[tokens[child]], 0.0
        if u < weight:
            return [tokens[child], *walked(child, tokens, first, sibling, target, coins)]
        u, child = u - weight, sibling[child]
    return [scanned(row, u / sum(row) if sum(row) > 0 else 0.0)] if sum(row) > 0 else [scanned(target[slot], coins[slot])]


@sv.subject("verify_tree_lcrs", siblings="deterministic", rule="standard", arrays="list", dtypes=WIDE, rng="coins", supports=(UNDEFINED, "temperature"))
def recursive_lists(batch):
    """Lists that end with 0, the context's slot, which is nobody's child."""
    tokens, first, sibling, target, _ = batch.lcrs(end=0)
    return [walked(0, *rows) for rows in zip(tokens, first, sibling, target, batch.coins, strict=True)]


# numpy with coins, a kernel that writes slots ---------------------------------------------------------------------------------


def kernel_slots(path, bonus, links, coins, *, replacement):
    tokens, first, sibling, target, q = links
    for b, row in enumerate(path):
        row[:], slot, n = -1, 0, 0
        left, drawn, child = target[b, 0].astype(float), q[b, 0].astype(float), first[b, 0]
        while child >= 0:
            x = tokens[b, child]
            if coins[b, child] * drawn[x] < left[x]:
                row[n], slot, n = child, child, n + 1
                left, drawn, child = target[b, slot].astype(float), q[b, slot].astype(float), first[b, slot]
                continue
            rest = np.maximum(left - drawn, 0)
            left = rest / rest.sum() if rest.sum() > 0 else left
            drawn[x] = drawn[x] if replacement else 0
            drawn = drawn / drawn.sum() if drawn.sum() > 0 else drawn
            child = sibling[b, child]
        sums = np.cumsum(left)
        bonus[b] = np.searchsorted(sums, min(coins[b, 0] * sums[-1], np.nextafter(sums[-1], 0)), side="right")


@sv.subject("verify_tree_lcrs", siblings="with-replacement", rule="standard", arrays="numpy", dtypes=WIDE, rng="coins", scratch=("path", "accepted"),
            supports=("int32", UNDEFINED), conventions={"output": "path and token"})  # fmt: skip
def numpy_with_replacement(batch):
    path, bonus = batch.scratch("path"), batch.scratch("accepted")
    kernel_slots(path, bonus, batch.lcrs(end=-1), batch.coins, replacement=True)
    return path, bonus


@sv.subject("verify_tree_lcrs", siblings="without-replacement", rule="standard", arrays="numpy", dtypes=WIDE, rng="coins", scratch=("path",),
            supports=(UNDEFINED, "temperature"), conventions={"output": "path and token", "order": "depth-first"})  # fmt: skip
def numpy_without_replacement(batch):
    """Nodes stand depth first; lists end with -7."""
    path, bonus = batch.scratch("path"), batch.scratch("accepted")
    kernel_slots(path, bonus, batch.lcrs(end=-7), batch.coins, replacement=False)
    return path, bonus


# torch, all requests at once, level by level ----------------------------------------------------------------------------------


def residual(p, q):
    left = (p - q).clamp_(min=0)
    total = left.sum(-1, keepdim=True)
    return torch.where(total > 0, left / total.clamp(min=1e-30), p)


def kernel_levels(out, links, generator):
    """One sibling of every request in a step; requests that are done stand still. Counts of what is emitted."""
    tokens, first, sibling, target, q = links
    b, end = torch.arange(len(tokens)), tokens.shape[1]
    n, left, drawn, child = torch.zeros_like(b), target[:, 0], q[:, 0], first[:, 0].long()
    for _ in range(end - 1):
        going, here = child < end, child.clamp(max=end - 1)
        x = torch.where(going, tokens[b, here], 0).long()
        taken = going & (torch.rand(len(b), generator=generator, dtype=target.dtype) * drawn[b, x] < left[b, x])
        out[b[taken], n[taken]] = x[taken].to(out.dtype)
        left = torch.where(taken[:, None], target[b, here], torch.where(going[:, None], residual(left, drawn), left))
        drawn = torch.where(taken[:, None], q[b, here], drawn)
        n, child = n + taken, torch.where(taken, first[b, here], torch.where(going, sibling[b, here], child)).long()
    out[b, n] = torch.multinomial(left, 1, generator=generator)[:, 0].to(out.dtype)
    return n + 1


@sv.subject("verify_tree_lcrs", siblings="with-replacement", rule="standard", dtypes=WIDE, seed="generator", scratch=("out",), supports=("int32", "temperature"),
            conventions={"output": "rows and counts"})  # fmt: skip
def torch_by_level(batch):
    """Lists end with S, one past the last slot; no link is followed where a request is done."""
    out = batch.scratch("out")
    return out, kernel_levels(out, batch.lcrs(end=batch.slots), batch.generator)


# Draws that are matched, generators of each request ---------------------------------------------------------------------------


def matched(tokens, first, sibling, target, generator):
    """Draws from the row of each place, once, and goes to the first child that equals it: q is not read."""
    row, slot = [], 0
    while slot >= 0:
        row.append(int(torch.multinomial(target[slot], 1, generator=generator)))
        slot = first[slot]
        while slot >= 0 and tokens[slot] != row[-1]:
            slot = sibling[slot]
    return row


@sv.subject(
    "verify_tree_lcrs",
    siblings="without-replacement",
    rule="sample-and-match",
    dtypes=WIDE,
    rng="generators",
    supports=(UNDEFINED,),
    conventions={"order": "parents first"},
)
def matches(batch):
    tokens, first, sibling, target, _ = batch.lcrs()
    return [matched(*rows) for rows in zip(tokens.tolist(), first.tolist(), sibling.tolist(), target, batch.generators, strict=True)]


# Requests served backwards, a seed of their own, ids one behind the other -----------------------------------------------------


def served(tokens, first, sibling, target, q, rng):
    """Weights that are never normalised: what is left of p and q is compared by cross multiplication."""
    row, slot = [], 0
    while True:
        left, drawn, child = target[slot].astype(float), q[slot].astype(float), first[slot]
        while child >= 0 and rng.random() * drawn[tokens[child]] * left.sum() >= left[tokens[child]] * drawn.sum():
            rest = np.maximum(left * drawn.sum() - drawn * left.sum(), 0)
            left, drawn[tokens[child]], child = rest if rest.sum() > 0 else left, 0, sibling[child]
        if child < 0:
            return [*row, int(rng.choice(len(left), p=left / left.sum()))]
        row, slot = [*row, int(tokens[child])], child


@sv.subject("verify_tree_lcrs", siblings="without-replacement", rule="standard", arrays="numpy", dtypes=WIDE, supports=("seeds", "int32", UNDEFINED),
            conventions={"output": "flat and counts"})  # fmt: skip
def flat_ids(batch):
    links = batch.lcrs(end=-1)
    rows = [served(*(part[b] for part in links), np.random.Generator(np.random.Philox(int(batch.seeds[b])))) for b in reversed(range(len(batch)))][::-1]
    return np.concatenate(rows), np.array([len(row) for row in rows])
