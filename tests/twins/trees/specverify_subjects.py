"""Correct twins of draft trees: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (shared/spec/theory.md 1c, 1d). The first line of each says what is unusual and why it is lawful.
"""

import itertools

import numpy as np
import torch

import specverify as sv

# tree_buffers ----------------------------------------------------------------------------------------------------------------


@sv.subject("tree_buffers")
def trb_depth_first(paths):
    """Numbers nodes depth first, tells their tokens, and fills rows up to a fixed width: any order is right, and pads may be many."""
    tokens, parents, depths, rows = [], [], [], []

    def grow(parent, depth, tails):
        heads = dict.fromkeys(tail[0] for tail in tails if tail)
        for head in heads:
            node = len(tokens)
            tokens.append(head)
            parents.append(parent)
            depths.append(depth)
            grow(node, depth + 1, [tail[1:] for tail in tails if tail and tail[0] == head])
        if not heads and parent >= 0:
            rows.append(parent)

    grow(-1, 1, paths)
    mask = torch.eye(len(tokens))
    for node, parent in enumerate(parents):
        if parent >= 0:
            mask[node] += mask[parent]
    retrieve = torch.full((len(rows), 8), -1, dtype=torch.int32)
    for i, leaf in enumerate(rows):
        branch = mask[leaf].nonzero()[:, 0]
        retrieve[i, : len(branch)] = branch
    return mask, mask.sum(-1).int(), retrieve, torch.tensor(tokens, dtype=torch.int32)


@sv.subject("tree_buffers", conventions={"pad": -100})
def trb_sorted_paths(paths):
    """Sorts paths and shares beginnings with the one before; numpy, and a pad of its own that is declared."""
    nodes = sorted({tuple(path[:n]) for path in paths for n in range(1, len(path) + 1)})
    mask = np.array([[a[: len(b)] == b for b in nodes] for a in nodes], dtype=np.int8).reshape(len(nodes), len(nodes))
    leaves = [a for a in nodes if not any(b[:-1] == a for b in nodes)]
    deepest = max(map(len, leaves), default=0)
    rows = np.full((len(leaves), deepest), -100)
    for row, leaf in zip(rows, leaves, strict=True):
        row[: len(leaf)] = [nodes.index(leaf[:n]) for n in range(1, len(leaf) + 1)]
    return mask, mask.sum(1, dtype=np.int64), rows


@sv.subject("tree_buffers")
def trb_context_cut_off(paths):
    """Builds the tree with a node for the context, as Medusa's buffers have it, and cuts that off; a matrix power closes the relation."""
    nodes = [(), *sorted({tuple(path[:n]) for path in paths for n in range(1, len(path) + 1)}, key=len)]
    step = torch.tensor([[bool(a) and a[:-1] == b for b in nodes] for a in nodes]).double()
    mask = (torch.eye(len(nodes)).double() + step).matrix_power(len(nodes)) > 0
    leaves = (step.sum(0) == 0).nonzero()[:, 0].tolist()
    rows = [[i for i in range(len(nodes)) if mask[leaf, i]] for leaf in leaves]
    rows = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    return mask[1:, 1:], mask.sum(1)[1:] - 1, rows[:, 1:] - 1


@sv.subject("tree_buffers")
def trb_row_for_each_path(paths):
    """Keeps a row for each path given, the repeated ones and those that begin another too: wasteful, and right for who compares argmaxes. Rows are ragged."""
    numbers = {}
    for path, n in itertools.product(paths, range(1, 9)):
        numbers.setdefault(tuple(path[:n]), len(numbers)) if n <= len(path) else None
    found = list(numbers)
    mask = [[a[: len(b)] == b for b in found] for a in found]
    return mask, [len(a) for a in found], [[numbers[tuple(path[:n])] for n in range(1, len(path) + 1)] for path in paths]
