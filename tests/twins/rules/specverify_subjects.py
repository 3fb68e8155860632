"""Correct twins of loops by other exact rules, of other schedules, and with numbers from elsewhere: each lawful, each tempting.

Written from the mathematics alone (shared/spec/theory.md 1a, 1c). The first line of each says what is unusual and why it is lawful.
"""

import hashlib
import itertools
import math
import os
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import specverify as sv


def shaped(row, temperature, top_k, top_p):
    """A row at a temperature, cut by top-k and top-p; the one-hot argmax at temperature 0."""
    row = np.asarray(row, dtype=np.float64)
    if temperature == 0:
        return (np.arange(len(row)) == row.argmax()).astype(float)
    powers = row ** (1 / temperature)
    order = np.argsort(-powers, kind="stable")
    before = np.cumsum(powers[order]) - powers[order]
    powers[order[(np.arange(len(order)) >= top_k) | (before >= top_p * powers[order[:top_k]].sum())]] = 0
    return powers / powers.sum()


def pick(row, u):
    """A token by inverse CDF."""
    u, last = u * math.fsum(row), 0
    for token, x in enumerate(map(float, row)):
        if x > 0:
            last = token
            if u < x:
                return token
            u -= x
    return last


def left(p, q):
    """The residual; p where nothing is left."""
    rest = np.maximum(p - q, 0)
    return rest / rest.sum() if rest.any() else p


def judged(p_behind, drafted, q, number, *, bonus=True):
    """Accepted drafts and the token behind them, by the standard rule."""
    for place, x in enumerate(drafted):
        p = p_behind(drafted[:place])
        if number() * q[place][x] >= p[x]:
            return [*drafted[:place], pick(left(p, q[place]), number())]
    return [*drafted, pick(p_behind(drafted), number())] if bonus else drafted


def drafts(q_behind, count, number):
    """Drafts and their rows."""
    drafted, q = [], []
    for _ in range(count):
        q.append(q_behind(drafted))
        drafted.append(pick(q[-1], number()))
    return drafted, q


def written(one_round):
    """A loop around a round: (behind the target, behind the draft, text so far, gamma, eos) to new tokens; `behind` gives the row behind a text and more."""

    def loop(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        def behind(model, text, more=()):
            return shaped(model([*text, *more]), temperature, top_k, top_p)

        new = []
        while len(new) < max_new_tokens and (eos is None or eos not in new):
            text = [*prompt, *new]
            new += one_round(partial(behind, target), partial(behind, draft), text, gamma, eos)
            new = new[: new.index(eos) + 1] if eos in new else new
        return new[:max_new_tokens]

    return loop


def twin(one_round):
    """Declare a round as a whole loop of its name."""
    sv.subject("generate", name=one_round.__name__, arrays="list")(written(one_round))
    return one_round


def standard(p, q, text, count, number):
    """A round of the textbook's."""
    return judged(partial(p, text), *drafts(partial(q, text), count, number), number)


@twin
def gen_one_gumbel_noise(p, q, text, gamma, eos):
    """Draft and target choose by one Gumbel noise a place, and the target's own choice is emitted: each is a race of its own."""
    noise = np.random.gumbel(size=(gamma + 1, len(p(text))))
    drafted, out = [], []
    with np.errstate(divide="ignore"):
        for place in range(gamma):
            drafted.append(int(np.argmax(np.log(q(text, drafted)) + noise[place])))
        while out == drafted[: len(out)] and len(out) <= gamma:
            out.append(int(np.argmax(np.log(p(text, out)) + noise[len(out)])))
    return out


@twin
def gen_blocks(p, q, text, gamma, eos):
    """Block verification (2403.10444): the longest prefix whose own test passes; other accepted lengths, the same text."""
    drafted, rows = drafts(partial(q, text), gamma, random.random)
    ps, weights, best = [p(text, drafted[:place]) for place in range(gamma + 1)], [1.0], 0
    for place, x in enumerate(drafted, 1):
        weight = min(weights[-1] * ps[place - 1][x] / rows[place - 1][x], 1.0)
        weights.append(weight)
        rest = np.maximum(weight * ps[place] - rows[place], 0).sum() if place < gamma else 0.0
        chance = weight if place == gamma else rest / (rest + 1 - weight) if rest + 1 > weight else 1.0
        best = place if random.random() < chance else best
    behind = ps[gamma] if best == gamma else np.maximum(weights[best] * ps[best] - rows[best], 0)
    return [*drafted[:best], pick(behind if behind.any() else ps[best], random.random())]


@twin
def gen_two_children(p, q, text, gamma, eos):
    """Two children of each node, drawn without replacement, each tried on what the one before has left."""
    out = []
    while len(out) < gamma:
        rest, row, found = p(text, out), q(text, out), None
        for _ in range(min(2, np.count_nonzero(row))):
            x = pick(row, random.random())
            if random.random() * row[x] < rest[x]:
                found = x
                break
            rest, row = left(rest, row), np.where(np.arange(len(row)) == x, 0, row)
            row = row / row.sum() if row.any() else row
        if found is None:
            return [*out, pick(rest, random.random())]
        out.append(found)
    return [*out, pick(p(text, out), random.random())]


@twin
def gen_looks_up(p, q, text, gamma, eos):
    """Drafts what followed the last id before, nothing where it is new; the draft model is not asked."""
    at = max((place for place, token in enumerate(text[:-1]) if token == text[-1]), default=len(text))
    drafted = text[at + 1 : at + 1 + gamma]
    points = [np.arange(len(p(text))) == x for x in drafted]
    return judged(partial(p, text), drafted, points, random.random)


AMOUNT = [3]


@twin
def gen_amount_kept_over_calls(p, q, text, gamma, eos):
    """How many are drafted, at times more than gamma, depends on how many were accepted before, in other calls too."""
    out = standard(p, q, text, AMOUNT[0], random.random)
    AMOUNT[0] = min(6, AMOUNT[0] + 2) if len(out) > AMOUNT[0] else max(1, AMOUNT[0] - 1)
    return out


@twin
def gen_amount_drawn(p, q, text, gamma, eos):
    """How many are drafted, none at times, is drawn."""
    return standard(p, q, text, random.randint(0, gamma), random.random)


@twin
def gen_ends_unsure(p, q, text, gamma, eos):
    """Drafts no more before a row that is unsure, nor behind an end, and then draws no bonus behind that: what is looked at was there before the draw."""
    drafted, rows = [], []
    while len(drafted) < gamma and eos not in drafted and q(text, drafted).max() > 0.6:
        rows.append(q(text, drafted))
        drafted.append(pick(rows[-1], random.random()))
    return judged(partial(p, text), drafted, rows, random.random, bonus=eos is None or eos not in drafted)


@twin
def gen_drafts_ahead(p, q, text, gamma, eos):
    """Drafts on before its drafts are judged, and throws that away where one of them is rejected; there is no bonus token between the two (2408.11850)."""
    drafted, rows = drafts(partial(q, text), gamma, random.random)
    ahead = drafts(partial(q, [*text, *drafted]), gamma, random.random)
    out = judged(partial(p, text), drafted, rows, random.random, bonus=False)
    return out + judged(partial(p, [*text, *out]), *ahead, random.random) if out == drafted else out


@twin
def gen_three_stages(p, q, text, gamma, eos):
    """Guesses are judged by the draft model, and what it writes by the target (2308.04623)."""
    drafted, rows = [], []
    while len(drafted) < gamma:
        rows.append(q(text, drafted))
        flat = np.full(len(rows[-1]), 1 / len(rows[-1]))
        drafted += judged(lambda _: rows[-1], [random.randrange(len(flat))], [flat], random.random, bonus=False)
    return judged(partial(p, text), drafted, rows, random.random)


@twin
def gen_numbers_up_front(p, q, text, gamma, eos):
    """All numbers of a round are drawn before it, and some are never used."""
    return standard(p, q, text, gamma, iter(np.random.random_sample(3 * gamma + 2).tolist()).__next__)


SALT, COUNT = os.urandom(8), itertools.count()


def hashed():
    """53 bits of a hash of a counter."""
    return (int.from_bytes(hashlib.blake2b(SALT + next(COUNT).to_bytes(8, "little"), digest_size=8).digest(), "little") >> 11) * 2.0**-53


@twin
def gen_hash_of_a_counter(p, q, text, gamma, eos):
    """A counter-based generator of its own: no library is asked, and nothing can be seeded."""
    return standard(p, q, text, gamma, hashed)


@twin
def gen_a_generator_a_round(p, q, text, gamma, eos):
    """A new generator for each round, seeded by how many there were before."""
    return standard(p, q, text, gamma, random.Random(f"round {next(COUNT)}").random)


POOL = ThreadPoolExecutor(2)


@twin
def gen_drafts_in_a_thread(p, q, text, gamma, eos):
    """Draws its drafts in a thread of a pool that was there before."""
    return judged(partial(p, text), *POOL.submit(drafts, partial(q, text), gamma, random.random).result(), random.random)
