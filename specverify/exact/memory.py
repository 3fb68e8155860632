"""Shadow memory: which element of which storage is a function of random choices. Views share storage, so they need no code of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specverify.exact.nodes import Node
from specverify.exact.space import Stop


class Memory:
    """Nodes beside storages, none for ordinary numbers. Storages are kept alive, since a freed one's address is used again."""

    def __init__(self) -> None:
        self._shadows: dict[int, tuple[Any, list[Node | None], torch.dtype]] = {}

    def known(self, tensor: Tensor) -> bool:
        """Whether its storage has a shadow."""
        return tensor.layout == torch.strided and tensor.untyped_storage()._cdata in self._shadows

    def symbolic(self, tensor: Tensor) -> bool:
        """Whether any of its elements is."""
        return self.known(tensor) and any(node is not None for node in self.elements(tensor))

    def elements(self, tensor: Tensor) -> list[Node | None]:
        """The nodes of its elements, in order."""
        shadow = self._shadows.get(tensor.untyped_storage()._cdata) if tensor.layout == torch.strided else None
        if shadow is None:
            return [None] * tensor.numel()
        storage, nodes, dtype = shadow
        if tensor.dtype.itemsize != dtype.itemsize:
            if any(node is not None for node in nodes):
                raise Stop(f"it looks at {dtype} draws as {tensor.dtype}")
            return [None] * tensor.numel()
        self._follow(storage, nodes, dtype)
        found = [nodes[place] for place in places(tensor)]
        if tensor.dtype != dtype and any(node is not None for node in found):
            raise Stop(f"it looks at {dtype} draws as {tensor.dtype}")
        return found

    def write(self, tensor: Tensor, nodes: Sequence[Node | None]) -> None:
        """Say what its elements are now, in order."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._shadows:
            if all(node is None for node in nodes):
                return
            self._shadows[storage._cdata] = (storage, [None] * (storage.nbytes() // tensor.dtype.itemsize), tensor.dtype)
        _, shadow, dtype = self._shadows[storage._cdata]
        if dtype != tensor.dtype:
            if any(node is not None for node in (*shadow, *nodes)):
                raise Stop(f"it writes {tensor.dtype} over {dtype} draws")
            return
        self._follow(storage, shadow, dtype)
        for place, node in zip(places(tensor), nodes, strict=True):
            shadow[place] = node

    @staticmethod
    def _follow(storage: Any, nodes: list[Node | None], dtype: torch.dtype) -> None:
        """A storage may have been resized."""
        missing = storage.nbytes() // dtype.itemsize - len(nodes)
        if missing > 0:
            nodes.extend([None] * missing)


def places(tensor: Tensor) -> Sequence[int]:
    """Where its elements stand in its storage, in order."""
    found: Sequence[int] = (int(tensor.storage_offset()),)
    for size, stride in zip(tensor.size(), tensor.stride(), strict=True):
        found = [place + i * stride for place in found for i in range(size)]
    return found
