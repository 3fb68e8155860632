"""Correct twins of a prompt's and a tree's forward pass: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (theory 1d, shared/spec/contracts.md). The first line of each says what is unusual and why it is lawful.
"""

import itertools

import numpy as np
import torch

import specverify as sv

BUFFER = torch.empty(4096)
"""Of rows, in the order in which they are written."""


def paths(tokens, parents):
    """The prompt and the nodes above each node, from the root down, then its own token."""
    length = len(tokens) - len(parents)
    found = []
    for parent, token in zip(parents, tokens[length:], strict=True):
        found.append([*(found[parent] if parent >= 0 else tokens[:length]), token])
    return found


@sv.subject("prefill", arrays="list")
def pre_reads_the_whole_prompt_alone(model, tokens, chunks, parents):
    """Takes neither chunks nor trees, and says so."""
    return [model(tokens[: place + 1]) for place in range(len(tokens))]


@sv.subject("prefill", models="module", supports=("chunks", "tree"))
def pre_paths_as_a_batch(model, tokens, chunks, parents):
    """Runs each node's path as a row of a batch, filled up behind its end: what stands behind a token changes nothing; and cuts no prompt, which is one way to read chunks."""
    length = len(tokens) - len(parents)
    rows = model(tokens[None, :length])[0]
    texts = paths(tokens.tolist(), parents.tolist())
    if not texts:
        return rows
    longest = max(map(len, texts))
    batch = model(torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts]))
    return torch.cat([rows, torch.stack([batch[i, len(text) - 1] for i, text in enumerate(texts)])])


@sv.subject("prefill", models="module", supports=("chunks",), conventions={"returns": "probabilities"})
def pre_probabilities_of_a_batch_of_one(model, tokens, chunks, parents):
    """Gives probabilities, in a batch of one."""
    return torch.cat([model(tokens[None, :end])[:, end - size :] for size, end in zip(chunks, itertools.accumulate(chunks), strict=True)], 1).softmax(-1)


@sv.subject("prefill", models="module")
def pre_logits_from_their_largest(model, tokens, chunks, parents):
    """Takes the largest logit off each row: logits are free up to a number; it does not say what its rows hold."""
    rows = model(tokens[None])[0]
    return rows - rows.max(-1, keepdim=True).values


@sv.subject("prefill", models="module", dtypes=("bfloat16",), conventions={"returns": "logits"})
def pre_half_precision(model, tokens, chunks, parents):
    """Rounds logits to half precision, as it declares."""
    return model(tokens[None])[0].bfloat16()


@sv.subject("prefill", arrays="numpy", supports=("chunks", "tree"))
def pre_keeps_prefixes(model, tokens, chunks, parents):
    """Keeps the rows of prefixes for later calls, by all their ids and with the model: right for whoever asks again."""
    known = vars(model).setdefault("known", {})
    given = [int(token) for token in tokens]
    texts = [given[: place + 1] for place in range(len(given) - len(parents))] + paths(given, parents.tolist())
    for text in map(tuple, texts):
        if text not in known:
            known[text] = model(text)
    return np.stack([known[tuple(text)] for text in texts])


@sv.subject("prefill", supports=("chunks",), conventions={"returns": "log-probabilities"})
def pre_one_buffer(model, tokens, chunks, parents):
    """Writes the rows of every call into one buffer, and gives a view of it: the rows of a call are read before the next."""
    rows = BUFFER[: len(tokens) * model.width].view(len(tokens), -1)
    for place, row in enumerate(rows):
        row[:] = model(tokens[: place + 1]).log()
    return rows


@sv.subject("prefill", arrays="list", supports=("tree",), conventions={"order": "depth-first"})
def pre_depth_first(model, tokens, chunks, parents):
    """Walks down a tree whose nodes stand depth first, with one text that it shortens to each node's parent."""
    length = len(tokens) - len(parents)
    text, stack, rows = tokens[:length], [], [model(tokens[: place + 1]) for place in range(length)]
    for node, parent in enumerate(parents):
        while stack and stack[-1] != parent:
            stack.pop()
            text.pop()
        stack.append(node)
        text.append(tokens[length + node])
        rows.append(model(text))
    return rows


@sv.subject("prefill", supports=("chunks", "tree"), conventions={"order": "parents first"})
def pre_mask_of_ancestors(model, tokens, chunks, parents):
    """Lays prompt and tree into one line, and lets each place see what a mask shows it: ancestors of nodes, in their order."""
    length = len(tokens) - len(parents)
    mask = torch.ones(len(tokens), len(tokens)).tril().bool()
    mask[length:, length:] = torch.eye(len(parents)).bool()
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            mask[length + node] |= mask[length + parent]
    return torch.stack([model(tokens[row]) for row in mask])
