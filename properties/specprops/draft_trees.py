"""Draft trees as cases: their nodes in the order that a subject declares, and what may be done to them without changing what is right (theory A4, A5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import trees
from specprops.trees import ROOT, children

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Line = tuple[float, ...]


class Tree(NamedTuple):
    """Nodes with their tokens, and a row of the target for the context and for each node: row 0, and row i + 1."""

    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    rows: tuple[Line, ...]

    def put(self, order: Sequence[int]) -> Tree:
        """The same tree with its nodes in another order; a node that is left out must have no children."""
        place = {ROOT: ROOT, **{node: number for number, node in enumerate(order)}}
        tokens, rows = (self.tokens[node] for node in order), (self.rows[node + 1] for node in order)
        return Tree(tuple(place[self.parents[node]] for node in order), tuple(tokens), (self.rows[0], *rows))

    def hung(self, parent: int, token: int, row: Line) -> Tree:
        """The tree with one node more, the last of all."""
        return Tree((*self.parents, parent), (*self.tokens, token), (*self.rows, row))

    def padded(self, pad: int, rows: Sequence[Line]) -> Tree:
        """The tree with slots behind its nodes that hold none, one for each row."""
        return Tree((*self.parents, *[ROOT] * len(rows)), (*self.tokens, *[pad] * len(rows)), (*self.rows, *rows))

    def emitted(self, path: Sequence[int], token: int) -> tuple[int, ...]:
        """The tokens of a path, and the one after it."""
        return (*(self.tokens[node] for node in path), token)


def order(subject: Description) -> str:
    """How its nodes must stand."""
    return str(subject.conventions.get("order", "breadth-first"))


def standing(tree: Tree, order: str, *, reverse: bool = False) -> Tree:
    """The tree in an order of CONVENTIONS; with `reverse`, siblings the other way round."""
    below = children(tree.parents)
    if order == "parents first" and not reverse:
        return tree
    waiting, found = [ROOT], []
    while waiting:
        node = waiting.pop(0)
        found.append(node)
        siblings = below[node][::-1] if reverse else below[node]
        waiting = [*siblings, *waiting] if order == "depth-first" else [*waiting, *siblings]
    return tree.put(found[1:])


@st.composite
def parents(draw: st.DrawFn, most: int, widest: int) -> tuple[int, ...]:
    """One to `most` nodes, each under the context or a node before it, with up to `widest` children."""
    found: list[int] = []
    for node in range(draw(st.integers(1, most))):
        found.append(draw(st.sampled_from([parent for parent in range(ROOT, node) if found.count(parent) < widest])))
    return tuple(found)


def takes_pads(subject: Description) -> str | None:
    """Why no tree has slots that hold no node."""
    return None if subject.conventions.get("pad", 0) < 0 else "the subject declares no pad below 0, so that every slot holds a node"


def is_path(parents: Sequence[int], path: Sequence[int]) -> bool:
    """Whether a path goes from the context down, node after node."""
    return trees.branch(parents, path) == tuple(path)
