"""Correct twins of whole rounds: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (shared/spec/theory.md 1a, 1c). The first line of each says what is unusual and why it is lawful.
"""

import random
from collections import defaultdict

import numpy as np
import torch

import specverify as sv

RNG = np.random.default_rng(11)


@sv.subject("draft_and_verify", arrays="numpy", rule="standard", conventions={"drafting": "rows", "without_drafts": "plain"})
def drv_numpy_generator(target, draft, prefix, gamma):
    """A numpy Generator of its own that runs on from call to call, q as one array, token ids as numpy integers."""
    text, q = list(prefix), np.zeros((gamma, len(target(prefix))), dtype=np.float32)
    for i in range(gamma):
        q[i] = draft(text)
        text.append(RNG.choice(len(q[i]), p=q[i].astype(float) / q[i].sum(dtype=float)))
    drafted = np.array(text[len(prefix) :], dtype=np.int64)
    for i, x in enumerate(drafted):
        p = target(text[: len(prefix) + i])
        if RNG.random() * q[i, x] >= p[x]:
            left = np.maximum(p.astype(float) - q[i], 0)
            left = left if left.any() else p.astype(float)
            return np.append(drafted[:i], RNG.choice(len(p), p=left / left.sum())), q, drafted
    last = target(text).astype(float)
    return np.append(drafted, RNG.choice(len(last), p=last / last.sum())), q, drafted


@sv.subject("draft_and_verify", arrays="list", rule="standard", conventions={"drafting": "rows"})
def drv_plain_python(target, draft, prefix, gamma):
    """Python's random and lists; p is read lazily, row by row, drafts are not told, and 0 drafts are refused, undeclared: an advisory."""
    if gamma < 1:
        raise ValueError("gamma must be at least 1")
    text, q = prefix, []
    for _ in range(gamma):
        q.append(draft(text))
        text += tuple(random.choices(range(len(q[-1])), q[-1]))
    for place, x in enumerate(text[len(prefix) :]):
        p = target(text[: len(prefix) + place])
        if random.random() * q[place][x] >= p[x]:
            left = [max(0.0, a - b) for a, b in zip(p, q[place], strict=True)]
            return (*text[len(prefix) : len(prefix) + place], *random.choices(range(len(p)), left if sum(left) else p)), q
    return (*text[len(prefix) :], *random.choices(range(len(q[0])), target(text))), q


@sv.subject("draft_and_verify", seed="generator", rule="standard", dtypes=("float32", "float64"), conventions={"drafting": "rows", "without_drafts": "plain"})
def drv_all_rows_at_once(target, draft, prefix, gamma, generator):
    """Reads the whole text anew as a model without a cache does, tests all drafts at once and returns a mapping; more numbers are drawn than are used."""
    context = torch.tensor(prefix)
    q = []
    for _ in range(gamma):
        q.append(draft(context))
        context = torch.cat([context, torch.multinomial(q[-1], 1, generator=generator)])
    p = torch.stack([target(context[:end]) for end in range(1, len(context) + 1)])[len(prefix) - 1 :]
    drafted, q = context[len(prefix) :], torch.stack(q) if q else p[:0]
    own = torch.arange(gamma)
    n = int((torch.rand(gamma, generator=generator, dtype=torch.float64) * q[own, drafted] < p[own, drafted]).long().cumprod(0).sum())
    left = (p[n] - q[n]).clamp(min=0) if n < gamma else p[n]
    last = torch.multinomial(left if left.sum() > 0 else p[n], 1, generator=generator)
    return {"tokens": torch.cat([drafted[:n], last]), "q": q, "drafted": drafted}


@sv.subject("draft_and_verify", arrays="list", rule="sample-and-match", conventions={"drafting": "rows", "without_drafts": "plain"})
def drv_sample_and_match(target, draft, prefix, gamma):
    """Draws the target's token at each place and emits it, be it the draft or not: exact, and never reads q."""
    drafted, q, tokens = [], [], []
    for _ in range(gamma):
        q.append(draft((*prefix, *drafted)))
        drafted += random.choices(range(len(q[-1])), q[-1])
    for place in range(gamma + 1):
        row = target((*prefix, *tokens))
        tokens += random.choices(range(len(row)), row)
        if tokens[-1:] != drafted[place : place + 1]:
            break
    return tokens, q, drafted


SEEN = defaultdict(lambda: [1.0] * 16)


@sv.subject("draft_and_verify", arrays="list", rule="standard", conventions={"drafting": "own"})
def drv_drafter_with_a_memory(target, draft, prefix, gamma):
    """Drafts by counts of what it has emitted behind each token, in all calls before: q may depend on anything that is already fixed (theory S7). The draft model is not asked."""
    drafted, q, tokens = [], [], []
    width = len(draft(prefix))
    for _ in range(gamma):
        counts = SEEN[(*prefix, *drafted)[-1]][:width]
        q.append([x / sum(counts) for x in counts])
        drafted += random.choices(range(width), q[-1])
    for place, x in enumerate(drafted):
        p = target((*prefix, *drafted[:place]))
        if random.random() * q[place][x] >= p[x]:
            left = [max(0.0, a - b) for a, b in zip(p, q[place], strict=True)]
            tokens = [*drafted[:place], *random.choices(range(width), left if sum(left) else p)]
            break
    else:
        tokens = [*drafted, *random.choices(range(width), target((*prefix, *drafted)))]
    for before, token in zip((prefix[-1], *tokens), tokens, strict=False):
        SEEN[before][token] += 0.25
    return tokens, q, drafted


@sv.subject("draft_and_verify", arrays="list", seed="int", rng="counter", rule="standard", conventions={"drafting": "rows", "without_drafts": "plain"})
def drv_counter_based(target, draft, prefix, gamma, seed):
    """Every number is a function of seed, position in the text and purpose; drafts of a place and its test differ by the purpose, rounds never share a number that was used."""

    def number(place, purpose):
        return random.Random(f"{seed}/{len(prefix)}/{place}/{purpose}").random()

    def pick(row, u):
        u, last = u * sum(row), 0
        for token, x in enumerate(row):
            if x > 0:
                last = token
                if u < x:
                    return token
                u -= x
        return last

    drafted, q = [], []
    for place in range(gamma):
        q.append(draft([*prefix, *drafted]))
        drafted.append(pick(q[-1], number(place, "draft")))
    for place, x in enumerate(drafted):
        p = target([*prefix, *drafted[:place]])
        if number(place, "test") * q[place][x] >= p[x]:
            left = [max(0.0, a - b) for a, b in zip(p, q[place], strict=True)]
            return [*drafted[:place], pick(left if sum(left) else p, number(place, "token"))], q, drafted
    return [*drafted, pick(target([*prefix, *drafted]), number(gamma, "token"))], q, drafted


@sv.subject("draft_and_verify", rule="block", conventions={"drafting": "rows", "without_drafts": "plain"})
def drv_block(target, draft, prefix, gamma):
    """Block verification (2403.10444): the longest prefix whose own test passes, the replacement from what its weight leaves."""
    text, q = list(prefix), []
    for _ in range(gamma):
        q.append(draft(text).double())
        text.append(int(torch.multinomial(q[-1], 1)))
    p = [target(text[: len(prefix) + i]).double() for i in range(gamma + 1)]
    drafted, weights, best = text[len(prefix) :], [1.0], 0
    for i, x in enumerate(drafted):
        weights.append(min(weights[-1] * float(p[i][x] / q[i][x]), 1.0))
        left = float((weights[-1] * p[i + 1] - q[i + 1]).clamp(min=0).sum()) if i + 1 < gamma else 0.0
        rest = left + 1 - weights[-1]
        chance = weights[-1] if i + 1 == gamma else left / rest if rest > 0 else 1.0
        best = i + 1 if float(torch.rand((), dtype=torch.float64)) < chance else best
    left = p[gamma] if best == gamma else (weights[best] * p[best] - q[best]).clamp(min=0)
    last = torch.multinomial(left if left.sum() > 0 else p[best], 1)
    return torch.tensor([*drafted[:best], int(last)]), [row.float() for row in q], drafted


@sv.subject("draft_and_verify", arrays="list", rule="standard", conventions={"drafting": "own", "without_drafts": "plain"})
def drv_greedy_drafts_that_stop_early(target, draft, prefix, gamma):
    """Drafts the argmax, so that q is one-hot, and stops behind a token that the draft model is not sure of: a stop that is decided by tokens kept. Drafts may be fewer than gamma."""
    drafted, q, sure = [], [], True
    while len(drafted) < gamma and sure:
        row = draft((*prefix, *drafted))
        drafted.append(row.index(max(row)))
        q.append([float(token == drafted[-1]) for token in range(len(row))])
        sure = max(row) > 0.6
    for place, x in enumerate(drafted):
        p = target((*prefix, *drafted[:place]))
        if random.random() >= p[x]:
            return [*drafted[:place], *random.choices(range(len(p)), [0.0 if token == x else y for token, y in enumerate(p)])], q, drafted
    p = target((*prefix, *drafted))
    return [*drafted, *random.choices(range(len(p)), p)], q, drafted


ROWS = {}


@sv.subject("draft_and_verify", rule="standard", conventions={"drafting": "rows", "without_drafts": "plain"})
def drv_remembers_rows(target, draft, prefix, gamma):
    """Keeps the target's rows of one text for its next rounds, as a cache does, and looks at the row behind each draft before it is known whether that is needed."""
    if ROWS.get("model") is not target:
        ROWS.clear()
        ROWS["model"] = target

    def row(text):
        if text not in ROWS:
            ROWS[text] = target(text)
        return ROWS[text]

    drafted, q = (), []
    row(prefix)
    for _ in range(gamma):
        q.append(draft(prefix + drafted))
        drafted += (int(torch.multinomial(q[-1], 1)),)
        row(prefix + drafted)
    for i, x in enumerate(drafted):
        p = row(prefix + drafted[:i])
        if torch.rand((), dtype=torch.float64) * q[i][x] >= p[x]:
            left = (p - q[i]).clamp(min=0)
            return [*drafted[:i], int(torch.multinomial(left if left.sum() > 0 else p, 1))], q, drafted
    return [*drafted, int(torch.multinomial(row(prefix + drafted), 1))], q, drafted
