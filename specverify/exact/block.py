"""A block of a Triton kernel with the nodes of its elements: it stands in for the numpy array that the interpreter computes with.

numpy hands its functions over to it. What only moves elements moves their nodes alike; what torch computes too is followed as torch's
operation, provided that both give the same numbers; everything else decides the block first, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

from specverify.exact.machine import RUNNING, here
from specverify.exact.nodes import Node, Opaque, continuous, settle
from specverify.exact.space import Stop

Function = Callable[..., Any]
Array = np.ndarray[Any, Any]

MOVES = frozenset(("broadcast_to", "expand_dims", "squeeze", "transpose", "reshape", "concatenate", "stack", "flip"))
"""Functions of numpy that move elements about."""
FOLLOWED: Mapping[str, Function] = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "negative": torch.neg, "floor": torch.floor, "ceil": torch.ceil,
    "less": torch.lt, "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge, "equal": torch.eq, "not_equal": torch.ne,
    "minimum": torch.minimum, "maximum": torch.maximum, "fmin": torch.fmin, "fmax": torch.fmax,
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "invert": torch.bitwise_not, "where": torch.where,
    "sum": torch.sum, "cumsum": torch.cumsum, "nanmax": torch.amax, "nanmin": torch.amin, "nanargmax": torch.argmax, "nanargmin": torch.argmin,
}  # fmt: skip
"""Functions of numpy that torch computes alike."""
ROUNDED: Mapping[str, Function] = {
    "exp": torch.exp, "exp2": torch.exp2, "log": torch.log, "log2": torch.log2, "sqrt": torch.sqrt,
}  # fmt: skip
"""Functions that numpy and torch round differently: an exploration takes torch's, in its replays too."""
KEYWORDS = {"axis": "dim", "keepdims": "keepdim"}
"""By numpy's name, torch's."""


class Block(NDArrayOperatorsMixin):
    """Numbers of this execution, and beside them what they are as functions of random choices.

    Args:
        values: any shape; never written into.
        nodes: of the same shape, objects; None for ordinary numbers.
    """

    def __init__(self, values: Array, nodes: Array) -> None:
        self.values, self.nodes = values, nodes

    def plain(self) -> Array:
        """The numbers, decided; continuous ones are refused."""
        for node in self.nodes.flat:
            if node is not None and continuous(node):
                raise Stop(node.reason if isinstance(node, Opaque) else f"it reads a continuous random number, at {here()}")
            if node is not None:
                settle(RUNNING[-1].walk, node)
        return self.values

    def tensor(self) -> Tensor:
        """As a tensor of its own, followed."""
        return RUNNING[-1].mark(torch.from_numpy(np.array(self.values)), [*self.nodes.flat])

    def moved(self, function: Function) -> Block:
        """The same elements elsewhere."""
        return Block(np.asarray(function(self.values)), _objects(function(self.nodes)))

    def __array__(self, *arguments: Any, **keywords: Any) -> Array:
        return np.array(self.plain(), *arguments, **keywords)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if "out" in keywords:
            raise Stop(f"it writes into a block of draws, at {here()}")
        if method != "__call__":
            return _plainly(getattr(ufunc, method), inputs, keywords)
        return _called(ufunc, inputs, keywords)

    def __array_function__(self, function: Function, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if function.__name__ in MOVES:
            values, nodes = (function(*_each(take, args), **kwargs) for take in (bare, _nodes))
            return Block(np.asarray(values), _objects(nodes))
        return _called(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.values if name in {"dtype", "shape", "size", "ndim", "itemsize"} else self.plain(), name)

    def __getitem__(self, place: Any) -> Block:
        return self.moved(lambda x: x[place])

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.plain())

    def __int__(self) -> int:
        return int(self.plain())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.plain())

    def reshape(self, *shape: Any) -> Block:
        """As of arrays."""
        return self.moved(lambda x: x.reshape(*shape))

    def flatten(self) -> Block:
        """As of arrays."""
        return self.moved(np.ravel)

    def squeeze(self) -> Block:
        """As of arrays."""
        return self.moved(np.squeeze)

    def copy(self) -> Block:
        """As of arrays."""
        return self.moved(np.copy)

    def view(self, dtype: Any) -> Any:
        """As of arrays; other bits than its own are refused of what is continuous."""
        return self if np.dtype(dtype) == self.values.dtype else self.plain().view(dtype)

    def astype(self, dtype: Any) -> Any:
        """As of arrays."""
        if np.dtype(dtype) == self.values.dtype:
            return self
        return _computed(lambda x: x.astype(dtype), lambda x: x.to(torch_dtype(np.dtype(dtype))), (self,), {})


def bare(one: Any) -> Any:
    """The numbers of a block; all else as it is."""
    return one.values if isinstance(one, Block) else one


def plain(one: Any) -> Any:
    """The decided numbers of a block; all else as it is."""
    return one.plain() if isinstance(one, Block) else one


def block(values: Array, nodes: Array) -> Any:
    """A block, or the array alone where all numbers are ordinary."""
    return Block(values, nodes) if any(node is not None for node in nodes.flat) else values


def none_of(shape: tuple[int, ...]) -> Array:
    """The nodes of ordinary numbers."""
    return np.full(shape, None, dtype=object)


def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """Of the same name."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


def rounded(function: Any) -> Function:
    """A function of numpy, with the numbers that torch gives where the two differ."""
    follow = ROUNDED.get(function.__name__)
    if follow is None:
        return function  # type: ignore[no-any-return]
    return lambda x: follow(torch.from_numpy(np.array(x))).numpy()


def _nodes(one: Any) -> Any:
    if isinstance(one, Block):
        return one.nodes
    return none_of(one.shape) if isinstance(one, np.ndarray) else one


def _each(take: Function, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments, and those in lists, taken one by one."""
    return tuple(type(one)(_each(take, tuple(one))) if type(one) in {list, tuple} else take(one) for one in args)


def _objects(found: Any) -> Array:
    """An array of nodes: numpy gives a single element without one."""
    if isinstance(found, np.ndarray):
        return found
    array = none_of(())
    array[()] = found
    return array


def _called(function: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    name: str = function.__name__
    if not keywords.keys() <= KEYWORDS.keys():
        return _plainly(function, args, keywords)
    if name in ROUNDED:
        return _computed(rounded(function), ROUNDED[name], args, {})
    return _computed(function, FOLLOWED[name], args, keywords) if name in FOLLOWED else _plainly(function, args, keywords)


def _computed(function: Function, follow: Function, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """What numpy gives, with the nodes of what torch gives, if both are the same."""
    values = np.asarray(function(*map(bare, args), **keywords))
    theirs = {KEYWORDS[name]: value for name, value in keywords.items() if value is not None and (name != "keepdims" or value)}
    try:
        found = follow(*(one.tensor() if isinstance(one, Block) else torch.from_numpy(np.array(one)) for one in args), **theirs)
    except (RuntimeError, TypeError):
        return _plainly(function, args, keywords)
    nodes: list[Node | None] = RUNNING[-1].memory.elements(found)
    same = found.dtype == torch_dtype(values.dtype) and tuple(found.shape) == values.shape
    if not same or not np.array_equal(np.asarray(_numbers(found)), values, equal_nan=values.dtype.kind == "f"):
        return _plainly(function, args, keywords)
    marked = none_of(values.shape)
    marked.flat[:] = nodes
    return block(values, marked)


def _numbers(found: Tensor) -> Any:
    """The numbers of this execution, undecided."""
    machine = RUNNING[-1]
    machine.paused += 1
    try:
        return found.detach().numpy()
    finally:
        machine.paused -= 1


def _plainly(function: Function, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Decided first, then as ever."""
    return function(*_each(plain, args), **{name: plain(one) for name, one in keywords.items()})
