"""What is kept of a tree after a step: the text, the next row, and the rows of the caches."""

import inspect
from typing import Any

import torch
from rest.model import utils

from specverify.gallery.rest.caches import caches
from specverify.gallery.rest.trees import PAD, padded, tree

NAMES = {
    "input": "input_ids",
    "candidates": "candidates",
    "best": "best",
    "accept": "accepted",
    "retrieve": "retrieve",
    "output": "outputs",
    "logits": "logits",
    "new": "new",
    "length": "lengths",
    "data": "data",
}
"""What a parameter is, by what its name has in it."""


def arranged(function: Any, values: dict[str, Any]) -> list[Any]:
    """The values in the order of a function's parameters, told apart by their names."""
    order = []
    for name in inspect.signature(function).parameters:
        kind = next((kind for word, kind in NAMES.items() if name.startswith(word)), None) or next((kind for word, kind in NAMES.items() if word in name), None)
        if kind is None:
            raise TypeError(f"{function.__name__} has a parameter {name}, which this entry does not know")
        order.append(values[kind])
    return order


def accepted(paths: list[list[int]], prompt: list[int], leaf: int, depth: int) -> list[Any]:
    """The right text, number of new tokens, node whose row is next, and rows that both caches hold: the prompt's, then those of the path."""
    nodes, rows = tree(paths)
    path = rows[leaf % len(rows)]
    path = path[: min(depth, len(path) - 1) + 1]
    text = [*prompt, *(nodes[node][-1] if node else 0 for node in path)]
    return [text, 5 + len(path), path[-1], [*range(len(prompt)), *(len(prompt) + node for node in path)], True]


def update_inference_inputs(paths: list[list[int]], prompt: list[int], leaf: int, depth: int) -> list[Any]:
    """One leaf's path accepted to a depth, of a tree behind a prompt; five tokens were new before. Rows of the caches are numbers."""
    nodes, rows = tree(paths)
    pairs, data, lengths = caches(1, 1, 1)
    written = torch.arange(float(len(prompt) + len(nodes)))[None, None, :, None]
    for each in pairs[0]:
        each.cat(written)
    best = leaf % len(rows)
    values = {
        "input_ids": torch.tensor([prompt]), "candidates": padded([[nodes[node][-1] if node else 0 for node in row] for row in rows], PAD),
        "best": torch.tensor(best), "accepted": torch.tensor(min(depth, len(rows[best]) - 1)), "retrieve": padded(rows), "outputs": None,
        "logits": padded(rows)[..., None].float(), "new": 5, "data": data, "lengths": lengths,
    }  # fmt: skip
    ids, logits, new = utils.update_inference_inputs(*arranged(utils.update_inference_inputs, values))
    first, second = ([int(x) for x in cache.data[0, 0, : int(cache.shape[2]), 0]] for cache in pairs[0])
    return [ids[0].tolist(), int(new), int(logits.reshape(-1)[0]), first, first == second]
