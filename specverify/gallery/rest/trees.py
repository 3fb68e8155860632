"""Trees in the repository's form: nodes sorted by depth, a row of nodes for each leaf, and rows that are filled up."""

import torch
from torch import Tensor

PAD = -2
"""What fills paths up."""


def tree(paths: list[list[int]]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """Nodes from the root, as their paths, sorted by depth; and the rows of nodes from the root to each leaf."""
    nodes = sorted({tuple(path[:depth]) for path in paths for depth in range(len(path) + 1)} | {()}, key=lambda node: (len(node), node))
    leaves = [node for node in nodes if not any(other[:-1] == node and other for other in nodes)]
    return nodes, [[nodes.index(leaf[:depth]) for depth in range(len(leaf) + 1)] for leaf in leaves]


def padded(rows: list[list[int]], pad: int = -1) -> Tensor:
    """Rows of one length."""
    return torch.tensor([[*row, *[pad] * (max(map(len, rows)) - len(row))] for row in rows])


def branches(parents: Tensor) -> tuple[list[int], list[list[int]]]:
    """The node above each, the root first, which is node 0; and the nodes from it to each leaf."""
    above = [-1, *(parents + 1).tolist()]
    return above, [path_to(leaf, above) for leaf in range(len(above)) if leaf not in above[1:]]


def path_to(node: int, above: list[int]) -> list[int]:
    """From the root."""
    return [node] if node == 0 else [*path_to(above[node], above), node]
