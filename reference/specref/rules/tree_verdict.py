"""What a tree rule is given, what it says, and the walk from the root that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from specref.draws import inverse_cdf
from specref.rules.verdict import PAD, row_at
from specref.trees import NONE, Trees


class TreeVerdict(NamedTuple):
    """The outcome of one verification; D is the number of nodes of the batch's longest branch.

    Attributes:
        tokens: (B, D + 1) int64: the tokens of the accepted path, the token that is emitted after them, then PAD.
        path: (B, D) int64: the numbers of the accepted nodes, then PAD.
        accepted: (B,) int64: how many nodes were accepted.
    """

    tokens: Tensor
    path: Tensor
    accepted: Tensor


class TreeRound(NamedTuple):
    """What a rule decides by, for B trees of up to N nodes.

    Attributes:
        p: rows of the target, (B, N + 1, V): row 0 after the context, row i + 1 after node i.
        q: the laws that the children of the context and of each node were drawn from, (B, N + 1, V); rows without children are not read. None for
            children that are no random choice.
        trees: the drafts.
        coins: (B, N) float64, a uniform on [0, 1) for each node.
        last: (B,) float64, the uniform that draws the emitted token.
    """

    p: Tensor
    q: Tensor | None
    trees: Trees
    coins: Tensor
    last: Tensor

    def children(self, place: Tensor, width: int) -> Tensor:
        """The first children of each row's place, (B,) to (B, width)."""
        return self.trees.children[torch.arange(place.shape[0], device=place.device), place, :width]

    def token(self, node: Tensor) -> Tensor:
        """The tokens of nodes, (B, …); 0 for NONE."""
        return of_nodes(self.trees.tokens, node)


class TreeRule(Protocol):
    """Decides what becomes of a tree of drafts.

    A rule is a function of its round, uniforms included: it loops over depths and siblings but not over rows or vocabulary, does not wait for the device,
    copies no more than one row of each tree at a time, and a row's verdict depends on that row alone.
    """

    @property
    def exact(self) -> bool:
        """Whether the emitted tokens, completed by the target, follow the product of the target's rows."""

    @property
    def needs_q(self) -> bool:
        """Whether it reads the laws of the children."""

    def __call__(self, given: TreeRound) -> TreeVerdict:
        """Accept a path from the root of each tree, and emit one token more."""


class Step(NamedTuple):
    """What became of the children of one place.

    Attributes:
        node: (B,) int64, the child that was accepted, or NONE.
        left: weights of the token that is emitted if none was, (B, V).
    """

    node: Tensor
    left: Tensor


def of_nodes(values: Tensor, node: Tensor) -> Tensor:
    """The values of nodes, (B, N) and (B, …) to (B, …); 0 for NONE."""
    rows = torch.nn.functional.pad(values, (1, 0))
    return rows.gather(1, (node + 1).reshape(node.shape[0], -1)).reshape(node.shape)


def of_tokens(rows: Tensor, token: Tensor) -> Tensor:
    """One entry of each row, (B, V) and (B,) to (B,) float64."""
    return rows.gather(1, token[:, None])[:, 0].double()


def walk(given: TreeRound, step: Callable[[Tensor, Tensor], Step]) -> TreeVerdict:
    """From the root to the first place none of whose children is accepted; there the token is drawn from what is left, at a leaf from the row of p.

    Args:
        given: the round.
        step: tries the children of a place: the place's row number, (B,), and the nodes, (B, siblings), filled up with NONE.
    """
    place = torch.zeros_like(given.trees.sizes)
    going = torch.ones_like(place, dtype=torch.bool)
    left, path = row_at(given.p, place), []
    for width in given.trees.widths:
        nodes = torch.where(going[:, None], given.children(place, width), NONE)
        node, rest = step(place, nodes)
        left = torch.where(going[:, None], rest, left)
        going = node != NONE
        place = torch.where(going, node + 1, place)
        path.append(node)
    left = torch.where(going[:, None], row_at(given.p, place), left)
    return tree_verdict(given, path, inverse_cdf(left, given.last))


def follow(given: TreeRound, say: Callable[[Tensor], Tensor]) -> TreeVerdict:
    """From the root to the child that is what the target says, while there is one; what it says last is emitted.

    Args:
        given: the round.
        say: the target's own token behind a place, (B,) to (B,).
    """
    place = torch.zeros_like(given.trees.sizes)
    said, path = say(place), []
    for width in given.trees.widths:
        nodes = given.children(place, width)
        same = (nodes != NONE) & (given.token(nodes) == said[:, None])
        first = same.long().argmax(1, keepdim=True)
        node = torch.where(same.any(1), nodes.gather(1, first)[:, 0], NONE)
        place = torch.where(node != NONE, node + 1, place)
        said = say(place)
        path.append(node)
    return tree_verdict(given, path, said)


def tree_verdict(given: TreeRound, path: list[Tensor], emitted: Tensor) -> TreeVerdict:
    """The tokens of the path, the emitted token, PAD."""
    nodes = torch.stack([*path, torch.full_like(given.trees.sizes, NONE)], 1)
    accepted = (nodes != NONE).sum(1)
    tokens = torch.where(nodes != NONE, given.token(nodes), PAD)
    places = torch.arange(nodes.shape[1], device=nodes.device)
    return TreeVerdict(torch.where(places == accepted[:, None], emitted[:, None], tokens), nodes[:, :-1], accepted)
