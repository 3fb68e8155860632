"""What searches the datastore: for the end of a context, and for a tree of drafts."""

from functools import cache
from typing import Any

import torch
from rest.model import utils
from torch import Tensor

from specverify.gallery.rest.caches import AHEAD
from specverify.gallery.rest.datastore import reader
from specverify.gallery.rest.posterior import NUCLEUS, of_the_nucleus


def searched(corpus: list[list[int]], context: list[int], n_min: int, n_max: int, m: int, budget: int) -> list[list[int]]:
    """It looks for one suffix at a time: the longest first, until something is found; the longest paths come back."""
    with reader(corpus, max([*context, *(token for document in corpus for token in document), 0]) + 1) as found:
        for n in range(min(n_max, len(context)), n_min - 1, -1):
            paths = found.search(context[-n:], choices=budget, long=m)[0]
            if paths:
                return [[token for token in path if token >= 0] for path in paths]
    return []


def drafted(paths: list[list[int]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The tree behind a root of id 0, whose continuations are the paths, without that root; ids are numbered, for a small vocabulary."""
    ids = [0, *sorted({token for path in paths for token in path})]
    corpus = [[0, *(ids.index(token, 1) for token in path)] for path in paths]
    logits = torch.nn.functional.one_hot(torch.tensor([0]), len(ids)).float()[None]
    start = torch.zeros(1, 1, dtype=torch.long)
    with reader(corpus, len(ids)) as found:
        _, nodes, told = utils.generate_candidates_and_draft_buffer(logits, start, found, [1], max_num_draft=10 * AHEAD, device="cpu")
    rows, tokens = told["retrieve_indices"], torch.tensor(ids)[nodes[0]]
    mask, positions = told["draft_attn_mask"][0, 0], told["draft_position_ids"]
    return mask[1:, 1:], positions[1:], torch.where(rows > 0, rows - 1, -1)[:, 1:], tokens[1:]


def next_token(probs: Tensor) -> int:
    """The root of the tree, drawn from the whole nucleus."""
    return of_the_nucleus(probs, root)


def root(probs: Tensor) -> int:
    """The first token of every candidate, with a store in which nothing follows it."""
    start = torch.zeros(1, 1, dtype=torch.long)
    return int(utils.generate_candidates_and_draft_buffer(probs.log()[None, None], start, small_store(), [1], top_p=NUCLEUS, device="cpu")[0][0, 0])


@cache
def small_store() -> Any:
    """One document of two ids, whose file is gone by now."""
    with reader([[0, 1]], 2) as found:
        return found
