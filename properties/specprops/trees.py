"""What a draft tree must be, by looking at every beginning of every path (theory 1d, A1 to A5). Slow, and short enough to be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ROOT = -1
"""Stands for the context, which is no node."""

Prefix = tuple[int, ...]
Mask = Sequence[Sequence[bool]]


def prefixes(paths: Iterable[Sequence[int]]) -> list[Prefix]:
    """The nodes: every distinct non-empty beginning of a path, shorter ones first."""
    return sorted({tuple(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}, key=lambda prefix: (len(prefix), prefix))


def above(nodes: Sequence[Prefix]) -> list[int]:
    """The number of each node's parent among them; ROOT for a child of the context."""
    numbers = {(): ROOT, **{prefix: number for number, prefix in enumerate(nodes)}}
    return [numbers[prefix[:-1]] for prefix in nodes]


def parents(mask: Mask) -> list[int] | None:
    """The tree whose relation ancestor-or-self a mask is (A1), as each node's parent; none if it is the relation of no tree."""
    seen = [frozenset(j for j, sees in enumerate(row) if sees) for row in mask]
    found: list[int] = []
    for node, mine in enumerate(seen):
        rest = mine - {node}
        parent = next((other for other in rest if seen[other] == rest), None) if rest else ROOT
        if node not in mine or parent is None:
            return None
        found.append(parent)
    return found


def children(parents: Sequence[int]) -> dict[int, list[int]]:
    """The children of the context and of each node, in their order."""
    found: dict[int, list[int]] = {node: [] for node in range(ROOT, len(parents))}
    for node, parent in enumerate(parents):
        found[parent].append(node)
    return found


def shape(parents: Sequence[int], labels: Sequence[object]) -> tuple[object, ...]:
    """The tree with its nodes' labels, but without their numbers and order: of two trees that are one up to relabelling, the same."""
    below = children(parents)

    def under(node: int) -> tuple[object, ...]:
        return tuple(sorted(((labels[child], under(child)) for child in below[node]), key=repr))

    return under(ROOT)


def branch(parents: Sequence[int], row: Sequence[int]) -> tuple[int, ...]:
    """The longest beginning of a row that goes from the context down, node after node."""
    found: list[int] = []
    for node in row:
        if node not in range(len(parents)) or parents[node] != (found[-1] if found else ROOT):
            break
        found.append(node)
    return tuple(found)
