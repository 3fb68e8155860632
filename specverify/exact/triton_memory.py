"""Memory as a Triton kernel sees it, by address: led back to the storages of its arguments, and to the nodes beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specverify.exact.block import Array, Block, bare, block, none_of, plain, torch_dtype
from specverify.exact.machine import Machine, here
from specverify.exact.nodes import Node
from specverify.exact.space import Stop
from specverify.exact.torch_elements import cast


@dataclass(frozen=True)
class _Region:
    """The whole storage of an argument, as a flat tensor of the argument's dtype."""

    start: int
    flat: Tensor

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.start + self.flat.numel() * self.flat.itemsize


_REGIONS: dict[int, _Region] = {}
"""By first address: the arguments of the kernel that runs now."""


def forget() -> None:
    """A kernel starts."""
    _REGIONS.clear()


def symbolic(machine: Machine) -> bool:
    """Whether draws stand in its arguments."""
    return any(machine.memory.symbolic(region.flat) for region in _REGIONS.values())


def argument(machine: Machine, genuine: Callable[..., Any], given: Any) -> Any:
    """An argument as the kernel gets it: of a tensor its address, which is no read of what stands there."""
    if not isinstance(given, Tensor):
        return genuine(given)
    storage = given.untyped_storage()
    machine.paused += 1
    try:
        flat = torch.empty(0, dtype=given.dtype).set_(storage, 0, (storage.nbytes() // given.itemsize,), (1,))
        _REGIONS[storage.data_ptr()] = _Region(storage.data_ptr(), flat)
        return genuine(given)
    finally:
        machine.paused -= 1


def load(machine: Machine, genuine: Callable[..., Any], builder: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
    """Of create_masked_load: addresses and mask are decided."""
    places, inside = _places(ptrs, mask)
    found = genuine(builder, ptrs, mask, None if other is None else type(other)(bare(other.data), other.dtype), *rest, **named)
    nodes = none_of(places.shape)
    if other is not None and isinstance(other.data, Block):
        nodes[~inside] = other.data.nodes[~inside]
    for region, index, at in _visited(machine, places, inside, found.data.dtype.itemsize):
        nodes.flat[at] = _seen(machine, region, index, found.data.dtype)
    return type(found)(block(found.data, nodes), found.dtype)


def store(machine: Machine, genuine: Callable[..., Any], builder: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
    """Of create_masked_store."""
    places, inside = _places(ptrs, mask)
    values = np.broadcast_to(bare(value.data), places.shape)
    nodes = np.broadcast_to(value.data.nodes, places.shape) if isinstance(value.data, Block) else none_of(places.shape)
    visited = _visited(machine, places, inside, values.dtype.itemsize, symbolic=isinstance(value.data, Block))
    result = genuine(builder, ptrs, type(value)(values, value.dtype), mask, *rest)
    for region, index, at in visited:
        _put(machine, region, index, nodes.flat[at], values.dtype)
    return result


def atomic(machine: Machine, genuine: Callable[..., Any], builder: Any, *given: Any) -> Any:
    """Of atomic operations: all that they read is decided."""
    handles = [one for one in given if hasattr(one, "data") and hasattr(one, "dtype")]
    for one in handles:
        one.data = plain(one.data)
    places, value, last = handles[0].data, handles[1], handles[-1]
    inside = np.broadcast_to(last.data if last.data.dtype == bool else np.True_, places.shape)
    visited = _visited(machine, places, inside, value.data.dtype.itemsize)
    for region, index, _ in visited:
        machine.decide(region.flat[index])
    result = genuine(builder, *given)
    for region, index, _ in visited:
        _put(machine, region, index, None, value.data.dtype)
    return result


def _places(ptrs: Any, mask: Any) -> tuple[Array, Array]:
    """Addresses and mask, decided, in their handles too."""
    ptrs.data, mask.data = plain(ptrs.data), plain(mask.data)
    return ptrs.data, np.broadcast_to(mask.data, ptrs.data.shape)


def _visited(machine: Machine, places: Array, inside: Array, size: int, *, symbolic: bool = False) -> list[tuple[_Region, int, int]]:
    """For each address that is used: its region, the index of the element there, and the place in the block; `symbolic` if draws are to be put there."""
    found = []
    for at, (place, used) in enumerate(zip(places.flat, inside.flat, strict=True)):
        if used:
            region = next((one for one in _REGIONS.values() if one.start <= place and place + size <= one.end), None)
            if region is None:
                raise Stop(f"a Triton kernel uses memory outside of its arguments, at {here()}")
            offset = int(place) - region.start
            if size == region.flat.itemsize and offset % size == 0:
                found.append((region, offset // size, at))
            elif symbolic or machine.memory.symbolic(region.flat):
                raise Stop(f"a Triton kernel looks at {region.flat.dtype} in pieces of {size} bytes, at {here()}")
    return found


def _seen(machine: Machine, region: _Region, index: int, dtype: np.dtype[Any]) -> Node | None:
    if not machine.memory.known(region.flat):
        return None
    node = machine.memory.elements(region.flat)[index]
    return None if node is None else _as(node, region.flat.dtype, torch_dtype(dtype))


def _put(machine: Machine, region: _Region, index: int, node: Node | None, dtype: np.dtype[Any]) -> None:
    if node is None and not machine.memory.known(region.flat):
        return
    nodes = machine.memory.elements(region.flat)
    nodes[index] = None if node is None else _as(node, torch_dtype(dtype), region.flat.dtype)
    machine.memory.write(region.flat, nodes)


def _as(node: Node, before: torch.dtype, after: torch.dtype) -> Node:
    """A node of one dtype where another is seen: truth values are bytes in a kernel."""
    if before == after:
        return node
    if torch.bool in {before, after} and {before, after} <= {torch.bool, torch.int8, torch.uint8}:
        return cast(node, after)
    raise Stop(f"a Triton kernel looks at {before} draws as {after}, at {here()}")
