"""What an element of a tensor is, as a function of random choices, and what reading it decides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from specverify.exact.chain import Chain
from specverify.exact.space import Finite, Stop, Walk


@dataclass
class Table:
    """A function of one finite variable: its value at each outcome."""

    variable: Finite
    values: Tensor

    @functools.cached_property
    def listed(self) -> list[Any]:
        """The values as Python numbers."""
        return list(self.values.tolist())


@dataclass
class Depends:
    """A function of other elements, which reading decides from left to right until `enough` is seen; each comes with its present value."""

    children: tuple[tuple[Node, Any], ...]
    enough: Callable[[Any], bool] | None = None
    settled: bool = False


@dataclass
class Ranked:
    """Ordered as its chain is, among the elements of one group (the softmax of draws); nothing else is known of it."""

    chain: Chain
    group: object


@dataclass
class Opaque:
    """A function of draws that is not followed; to read it ends the exploration."""

    reason: str


Node = Chain | Table | Depends | Ranked | Opaque


def continuous(node: Node) -> bool:
    """Whether it takes more values than can be told apart."""
    return isinstance(node, (Ranked, Opaque)) or (isinstance(node, Chain) and node.continuous)


def settle(walk: Walk, node: Node) -> None:
    """Narrow the box to where the element keeps its present value."""
    match node:
        case Chain() if not node.continuous:
            walk.narrow(node.base, node.cell())
        case Table(variable=variable):
            listed = node.listed
            walk.narrow(variable, frozenset(outcome for outcome in variable.inside if listed[outcome] == listed[variable.at]))
        case Depends(settled=False):
            node.settled = True
            for child, value in node.children:
                settle(walk, child)
                if node.enough is not None and node.enough(value):
                    break
        case Opaque(reason=reason):
            raise Stop(reason)
        case Chain() | Ranked():
            raise Stop("it reads a continuous random number")
