"""Draft trees: one as numbers of the host, a batch of them as tensors (theory: 1d, A1 to A3).

Nodes are numbered from 0 in breadth-first order; the root is the context and no node. So rows that stand for contexts, of
probabilities or of children, have one more: row 0 is that of the root, row i + 1 that of node i.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

NONE = -1
"""Stands where there is no node: the parent of a child of the root, a child that is missing, a place behind a tree's last node."""


@dataclass(frozen=True)
class Tree:
    """A tree of draft tokens.

    Siblings are tried in the order in which they stand. Equal siblings are two nodes: draws with replacement may repeat, and a rule that was derived for
    k draws must see k of them.

    Attributes:
        tokens: the token of each node, (N,).
        parents: the number of each node's parent, (N,); NONE for a child of the root. They never decrease: that is what makes the order breadth-first.

    Raises:
        ValueError: lengths that differ, a negative token, a parent that does not come before its child, another order.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.parents):
            raise ValueError(f"a tree of {len(self.tokens)} tokens has {len(self.parents)} parents; it needs one for each")
        for node, (token, parent) in enumerate(zip(self.tokens, self.parents, strict=True)):
            if token < 0:
                raise ValueError(f"tokens, node {node}: {token} is no token")
            if not NONE <= parent < node:
                raise ValueError(f"parents, node {node}: {parent} is neither {NONE} nor a node before it")
        if any(later < earlier for earlier, later in pairwise(self.parents)):
            raise ValueError("parents must never decrease: nodes stand in breadth-first order, siblings side by side")

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[int]], *, merge: bool = True) -> Tree:
        """The tree whose branches are the given paths.

        Args:
            paths: token ids from the root on; an empty one adds nothing.
            merge: whether paths share their common beginning, as in a trie; siblings stand in the order in which the paths bring them. Otherwise each
                path is a branch of its own from the root, equal ones too: so stand paths that were drawn independently.

        Returns:
            The tree; without any path the empty one, a plain decoding step (theory: A8).
        """
        level = [(NONE, [tuple(path) for path in paths])]
        tokens: list[int] = []
        parents: list[int] = []
        while level:
            below = []
            for parent, rest in level:
                for token, tails in _branches(rest, merge=merge):
                    below.append((len(tokens), tails))
                    tokens.append(token)
                    parents.append(parent)
            level = below
        return cls(tuple(tokens), tuple(parents))

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def depths(self) -> tuple[int, ...]:
        """The number of nodes above each, (N,): 0 for a child of the root."""
        found: list[int] = []
        for parent in self.parents:
            found.append(0 if parent == NONE else found[parent] + 1)
        return tuple(found)

    @property
    def widths(self) -> tuple[int, ...]:
        """The most siblings that stand side by side at each depth; as many numbers as the longest branch has nodes."""
        depths = self.depths
        widest: dict[int, int] = {}
        for parent, siblings in Counter(self.parents).items():
            depth = 0 if parent == NONE else depths[parent] + 1
            widest[depth] = max(widest.get(depth, 0), siblings)
        return tuple(widest[depth] for depth in sorted(widest))

    def mask(self) -> Tensor:
        """What each node attends to among the nodes, (N, N) bool: entry (i, j) says whether j is i or an ancestor of i (A1)."""
        return pack([self]).mask()[0]

    def positions(self, length: int) -> Tensor:
        """Where each node stands behind a context that fills positions 0 … length - 1, (N,) int64: length + depth (A2)."""
        return torch.tensor(self.depths, dtype=torch.int64) + length

    def retrieve(self) -> Tensor:
        """The branches, from a child of the root to a leaf: node numbers filled up with NONE, (leaves, longest) int64, in the order of the leaves (A3)."""
        above = [branch for node, branch in enumerate(self.branches) if node not in self.parents]
        longest = len(self.widths)
        rows = [_filled(branch, longest) for branch in above]
        return torch.tensor(rows, dtype=torch.int64).reshape(len(rows), longest)

    @property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """For each node the numbers of its ancestors and itself, from a child of the root down."""
        found: list[tuple[int, ...]] = []
        for node, parent in enumerate(self.parents):
            found.append((*(found[parent] if parent != NONE else ()), node))
        return tuple(found)


def _branches(paths: list[tuple[int, ...]], *, merge: bool) -> list[tuple[int, list[tuple[int, ...]]]]:
    """First tokens, each with what follows it."""
    if not merge:
        return [(path[0], [path[1:]]) for path in paths if path]
    tails: dict[int, list[tuple[int, ...]]] = {}
    for path in paths:
        if path:
            tails.setdefault(path[0], []).append(path[1:])
    return list(tails.items())


class Trees(NamedTuple):
    """A batch of trees, the smaller ones filled up with NONE behind their own nodes.

    Attributes:
        tokens: token ids, (B, N) int64.
        parents: node numbers, (B, N) int64.
        children: node numbers in the order of siblings, (B, N + 1, K) int64; row 0 holds the children of the root, row i + 1 those of node i.
        depths: nodes above each, (B, N) int64.
        sizes: how many nodes each tree has, (B,) int64.
        widths: for each depth the most siblings that stand side by side in any tree. The host knows it, so that a walk knows when to end.
    """

    tokens: Tensor
    parents: Tensor
    children: Tensor
    depths: Tensor
    sizes: Tensor
    widths: tuple[int, ...]

    @property
    def drafted(self) -> Tensor:
        """Which places hold nodes, (B, N) bool."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.sizes[:, None]

    def mask(self) -> Tensor:
        """Ancestor or self, (B, N, N) bool (A1); a place without a node attends to itself, so that no row is empty."""
        rows, nodes = self.tokens.shape
        numbers = torch.arange(1, nodes + 1, device=self.tokens.device).expand(rows, nodes)
        above = torch.nn.functional.pad(self.parents + 1, (1, 0))  # numbers with the root as 0, its own parent
        found = torch.zeros((rows, nodes, nodes + 1), dtype=torch.bool, device=self.tokens.device)
        for _ in self.widths:
            found.scatter_(2, numbers[..., None], value=True)
            numbers = above.gather(1, numbers)
        return found[..., 1:]

    def positions(self, lengths: Tensor) -> Tensor:
        """Where each node stands, (B, N) int64: its context's length, (B,), and its depth (A2). Places without a node stand behind the context too."""
        return lengths[:, None] + self.depths.clamp(min=0)


def pack(trees: Sequence[Tree], device: torch.device | str = "cpu") -> Trees:
    """The trees of a batch as tensors.

    Raises:
        ValueError: no tree at all.
    """
    if not trees:
        raise ValueError("a batch needs at least one tree")
    size, widths = max(map(len, trees)), _widest([tree.widths for tree in trees])
    widest = max(widths, default=0)

    def tensor(rows: Sequence[object], *shape: int) -> Tensor:
        return torch.tensor(rows, dtype=torch.int64, device=device).reshape(len(trees), *shape)

    return Trees(
        tensor([_filled(tree.tokens, size) for tree in trees], size),
        tensor([_filled(tree.parents, size) for tree in trees], size),
        tensor([_children(tree, size, widest) for tree in trees], size + 1, widest),
        tensor([_filled(tree.depths, size) for tree in trees], size),
        tensor([len(tree) for tree in trees]),
        widths,
    )


def _filled(row: Sequence[int], size: int) -> list[int]:
    return [*row, *[NONE] * (size - len(row))]


def _widest(widths: list[tuple[int, ...]]) -> tuple[int, ...]:
    longest = max(map(len, widths))
    return tuple(max(row[depth] for row in widths if depth < len(row)) for depth in range(longest))


def _children(tree: Tree, size: int, widest: int) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(size + 1)]
    for node, parent in enumerate(tree.parents):
        rows[parent + 1].append(node)
    return [_filled(row, widest) for row in rows]


def kept(path: Tensor) -> Tensor:
    """From which of the N new cache places each of the first D takes what it holds, so that an accepted path stands in one piece.

    Place j takes that of the path's j-th node; behind the path each keeps its own, and is to be cropped.

    Args:
        path: node numbers filled up with NONE, (B, D) int64, as `TreeVerdict.path`.

    Returns:
        Places, (B, D) int64, counted from the place of node 0.
    """
    return torch.where(path == NONE, torch.arange(path.shape[1], device=path.device), path)
