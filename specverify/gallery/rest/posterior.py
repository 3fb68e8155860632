"""The step on a tree: what is accepted at temperature 0, and which token matches above it."""

from collections.abc import Callable

import torch
from rest.model import utils
from torch import Tensor

from specverify.gallery.rest.trees import PAD, branches, padded

NUCLEUS = 1 - 2.0**-20
"""It wants top-p below 1."""


def greedy(logits: Tensor, parents: Tensor, tokens: Tensor) -> tuple[list[int], int]:
    """At temperature 0: a row for each leaf, the root first, padded as it pads; the next token is the argmax where it stops."""
    _, rows = branches(parents)
    ids = padded([[int(tokens[node - 1]) if node else 0 for node in row] for row in rows], PAD)
    best, accepted = (int(one) for one in utils.evaluate_posterior(logits[padded(rows)], ids, 0.0))
    path = rows[best][: accepted + 1]
    return [node - 1 for node in path[1:]], int(logits[path[-1]].argmax())


def of_the_nucleus(probs: Tensor, draw: Callable[[Tensor], int]) -> int:
    """A draw of theirs among tokens of a mass that a nucleus of this size cannot leave out, each at least 2^-19; the others, together, are drawn here."""
    tail = probs.where(probs < 2 * (1 - NUCLEUS), 0)
    if not tail.any():
        return draw(probs)
    if int(torch.multinomial(torch.stack((1 - tail.sum(), tail.sum())), 1)):
        return int(torch.multinomial(tail, 1))
    return draw((probs - tail) / (1 - tail.sum()))


def get_nucleus_posterior_mask(probs: Tensor) -> int:
    """A token matches where it was drawn at its node: each token is a leaf of one root, so that one matches, and follows the row.

    Tokens without mass are no leaves.
    """
    return of_the_nucleus(probs, matched)


def matched(probs: Tensor) -> int:
    """The one leaf that matches."""
    leaves = probs.nonzero()[:, 0]
    candidates = torch.stack((torch.zeros_like(leaves), leaves), 1)
    mask = utils.get_nucleus_posterior_mask(probs.log().expand(len(leaves), 2, -1), candidates, 1.0, NUCLEUS)
    (drawn,) = leaves[mask[:, 0].bool()].tolist()
    return int(drawn)
