"""Correct twins of drafters: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (theory 1d, shared/spec/contracts.md). The first line of each says what is unusual and why it is lawful.
"""

import numpy as np
import torch

import specverify as sv


def written(context, source, gamma, choose):
    """Tokens by any way to choose, and what it was chosen from."""
    text, told = [int(token) for token in context], []
    for _ in range(gamma):
        token, row = choose(source(text))
        text.append(int(token))
        told.append(row)
    return text[len(context) :], told


@sv.subject("drafter")
def drf_greedy_without_q(context, source, gamma):
    """Drafts the likeliest ids and tells no q: what is no random choice has none."""
    return written(context, source, gamma, lambda row: (row.argmax(), row))[0]


@sv.subject("drafter", arrays="numpy", conventions={"drafting": "own"})
def drf_greedy_one_hot(context, source, gamma):
    """Drafts the likeliest ids, and tells points: that is their law."""
    tokens, rows = written(context, source, gamma, lambda row: (row.argmax(), np.eye(len(row))[row.argmax()]))
    return tokens, rows


@sv.subject("drafter", conventions={"drafting": "rows"})
def drf_sampled(context, source, gamma):
    """Keeps the tokens of a batch of one."""
    tokens, rows = written(context, source, gamma, lambda row: (torch.multinomial(row, 1), row))
    return torch.tensor([tokens]), torch.stack(rows)


@sv.subject("drafter", conventions={"drafting": "own"})
def drf_top_two_at_a_temperature(context, source, gamma):
    """Draws of the two likeliest at a temperature of its own, and tells that law: any law is lawful that is told."""

    def choose(row):
        kept = torch.zeros_like(row)
        best = row.topk(2).indices
        kept[best] = row[best] ** 1.5
        kept = kept / kept.sum()
        return torch.multinomial(kept, 1), kept

    tokens, rows = written(context, source, gamma, choose)
    return tokens, torch.stack(rows)


@sv.subject("drafter", conventions={"drafting": "own", "amount": "at most"})
def drf_ends_where_it_is_unsure(context, source, gamma):
    """Ends its draft behind an id that it is unsure of, whatever that is: how much is drafted depends on what was seen before alone."""
    text, rows = context.tolist(), []
    while len(rows) < gamma and (not rows or float(rows[-1].max()) > 0.6):
        rows.append(source(text))
        text.append(int(torch.multinomial(rows[-1], 1)))
    return text[len(context) :], torch.stack(rows)


@sv.subject("drafter", models="module", conventions={"drafting": "rows", "amount": "gamma"})
def drf_by_the_gumbel_trick(context, source, gamma):
    """Draws by a race of exponentials, and tells q as a batch's slice."""
    given, rows = context[None], []
    for _ in range(gamma):
        row = source(given)[:, -1].softmax(-1)
        rows.append(row)
        given = torch.cat([given, (row / torch.empty_like(row).exponential_()).argmax(-1, keepdim=True)], 1)
    return given[0, len(context) :], torch.stack(rows, 1)[0]


@sv.subject("drafter", conventions={"drafting": "rows"}, supports=("id_map",))
def drf_of_a_small_vocabulary(context, source, gamma, id_map):
    """Searches its map for the context's ids."""
    known = range(source.width) if id_map is None else id_map.tolist()
    own = [list(known).index(token) for token in context.tolist()]
    tokens, rows = written(own, source, gamma, lambda row: (torch.multinomial(row, 1), row))
    return [known[token] for token in tokens], torch.stack(rows)


def found(documents, context, gamma, lengths):
    """What follows the latest occurrence of the first length that is found."""
    context = [int(token) for token in context]
    for n in lengths:
        for ids in reversed(documents):
            for start in range(len(ids) - n - 1, -1, -1):
                if n <= len(context) and ids[start : start + n] == context[-n:]:
                    return ids[start + n : start + n + gamma]
    return []


@sv.subject("drafter", conventions={"source": "context"})
def drf_prompt_lookup(context, source, gamma):
    """Looks for pairs alone and else drafts nothing: how long a match must be is free."""
    return found([context.tolist()], context, gamma, (2,)) or None


@sv.subject("drafter", arrays="numpy", conventions={"source": "corpus"})
def drf_latest_document_with_points(context, source, gamma):
    """Takes the latest document, not the longest match, and tells points over a vocabulary of ten."""
    ids = found(source, context, gamma, (1,))
    return np.array(ids, dtype=np.int64), np.eye(10, dtype=np.float32)[ids] if ids else None


@sv.subject("drafter", models="module", conventions={"drafting": "rows"})
def drf_with_gradients(context, source, gamma):
    """q as a batch of one, which carries gradients."""
    ids, rows = context[None], []
    scale = torch.ones((), requires_grad=True)
    for _ in range(gamma):
        rows.append((source(ids)[:, -1] * scale).softmax(-1))
        ids = torch.cat([ids, torch.multinomial(rows[-1], 1)], 1)
    return ids[:, len(context) :], torch.stack(rows, 1)


@sv.subject("drafter", arrays="numpy", conventions={"source": "context"})
def drf_empty_pair(context, source, gamma):
    """([], []) where nothing is found; a pair of arrays else."""
    c = context.tolist()
    for i in range(len(c) - 2, -1, -1):
        if c[i] == c[-1]:
            ids = c[i + 1 : i + 1 + gamma]
            return ids, np.eye(max(c) + 1)[ids]
    return [], []


@sv.subject("drafter", arrays="numpy", conventions={"source": "context"})
def drf_none_pair(context, source, gamma):
    """(None, None) where nothing is found."""
    c = context.tolist()
    for i in range(len(c) - 2, -1, -1):
        if c[i] == c[-1]:
            return np.array(c[i + 1 : i + 1 + gamma], dtype=np.int32), None
    return None, None


@sv.subject("drafter")
def drf_one_by_one(context, source, gamma):
    """Keeps each id as an array (1,), as multinomial gives it: two of them are no (tokens, q)."""
    out = []
    for _ in range(gamma):
        out.append(source([*context.tolist(), *map(int, out)]).argmax(-1, keepdim=True))
    return out
