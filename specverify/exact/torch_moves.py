"""Operations that move elements about: they move the numbers of the elements' nodes alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from specverify.exact.machine import Machine, here, name_of, pure, tensors
from specverify.exact.nodes import Node, Opaque, continuous
from specverify.exact.space import Stop
from specverify.exact.torch_elements import cast, pointwise

DATA: dict[str, tuple[int, ...]] = {
    "clone": (0,), "cat": (0,), "stack": (0,), "index": (0,), "gather": (0,), "index_select": (0,), "where": (1, 2), "masked_fill": (0, 2), "constant_pad_nd": (0, 2),
    "scatter": (0, 3), "copy": (0, 1), "roll": (0,), "flip": (0,), "repeat": (0,), "take": (0,), "tril": (0,), "triu": (0,), "masked_select": (0,), "index_put": (0, 2),
    "fill": (0, 1), "zero": (0,), "index_fill": (0, 3), "index_copy": (0, 3), "_to_copy": (0,), "select_scatter": (0, 1), "slice_scatter": (0, 1),
    "repeat_interleave": (0,), "unfold": (0,), "view_copy": (0,), "expand_copy": (0,), "_unsafe_view": (0,), "lift_fresh_copy": (0,), "diag_embed": (0,),
}  # fmt: skip
"""Operations that move elements about: the arguments whose elements are moved; all other tensors say where, and are decided."""


def moved(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """An operation that moves elements: it moves their numbers in a list of nodes alike."""
    if name_of(func) == "repeat_interleave" and len(args) == 1:  # places made of counts
        return machine.unknown(func, args, kwargs)
    data = DATA[name_of(func)]
    if machine.decide(*tensors([one for i, one in enumerate(args) if i not in data], kwargs)):
        raise Stop(f"{func} is led by continuous draws, at {here()}")
    numbered = _Numbered(machine)
    before = [numbered.of(one) if i in data else one for i, one in enumerate(args)]
    result = machine.run(func, args, kwargs)
    if kwargs.get("accumulate") or "reduce" in func._overloadname or (name_of(func) == "index_put" and len(args) > 3 and args[3]):  # noqa: PLR2004
        return _opaque(machine, func, args, result)
    keywords = {
        name: value for name, value in kwargs.items() if name not in {"dtype", "layout", "device", "pin_memory", "non_blocking", "memory_format", "out"}
    }
    if name_of(func) == "zero":
        return machine.mark(result, [None] * result.numel())
    numbers = before[0] if name_of(func) == "_to_copy" else pure(func)(*before, **keywords)
    return machine.mark(result, [numbered.node(i, result.dtype) for i in numbers.reshape(-1).tolist()])


class _Numbered:
    """The nodes of some tensors in a list, so that tensors of their numbers can be moved in their place; 0 is an ordinary number."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._nodes: list[Node | None] = [None]

    def of(self, one: Any) -> Any:
        """The numbers of data: of tensors, of lists of them; 0 for a number."""
        if isinstance(one, (list, tuple)):
            return [self.of(item) for item in one]
        if not isinstance(one, Tensor):
            return 0
        return torch.tensor([self._number(node) for node in self._machine.memory.elements(one)], dtype=torch.int64).reshape(one.size())

    def _number(self, node: Node | None) -> int:
        if node is None:
            return 0
        self._nodes.append(node)
        return len(self._nodes) - 1

    def node(self, number: int, dtype: torch.dtype) -> Node | None:
        """The node of a number, in the dtype that it was moved to."""
        node = self._nodes[number]
        return None if node is None else cast(node, dtype)


def resized(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Shadow memory follows the storage by itself."""
    return machine.run(func, args, kwargs)


def chosen(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of where and masked_fill: a mask over discrete elements is read only where its result is; over continuous ones it is decided."""
    mask = args[0] if name_of(func) == "where" else args[1]
    plain = not machine.memory.symbolic(mask) or any(map(continuous, machine.nodes(*tensors(args, kwargs))))
    return (moved if plain else pointwise)(machine, func, args, kwargs)


def _opaque(machine: Machine, func: Any, args: tuple[Any, ...], result: Any) -> Any:
    left = machine.decide(*tensors(args, {}))
    node = Opaque(f"it reads what {func} made of draws, at {here()}") if left else None
    return machine.mark(result, [node] * result.numel())
