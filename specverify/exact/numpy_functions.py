"""numpy's functions of drawn arrays that are no elementwise ones: moves, choices, searches. What is not in the table is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specverify.exact.chain import HOLE, Chain, Step
from specverify.exact.generators import translated
from specverify.exact.machine import RUNNING, here
from specverify.exact.nodes import Node, Opaque
from specverify.exact.numbers import Symbol
from specverify.exact.numpy_arrays import DrawnArray, gathered, gridded, listed, mine, nonzero, recast, shown, symbolic
from specverify.exact.space import Stop
from specverify.exact.torch_choices import keys_of, podium, race

Function = Callable[..., Any]


def called(func: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A function of numpy's with draws among its arguments."""
    handler = FUNCTIONS.get(func.__name__)
    given = [gathered(one) if isinstance(one, Symbol) else one for one in args]
    if handler is None or any(isinstance(one, Symbol) for one in kwargs.values()):
        raise Stop(f"it takes numpy's {func.__name__} of continuous draws, at {here()}")
    try:
        return handler(func, *given, **kwargs)
    except TypeError as error:
        raise Stop(f"it takes numpy's {func.__name__} of continuous draws in a way that is not followed ({error}), at {here()}") from error


def _moved(func: Function, data: Any, *rest: Any, **settings: Any) -> Any:
    """The elements of one array, moved about."""
    _plain(rest)
    values = func(data.values, *rest, **settings)
    return _wrapped(data.machine, values, func(data.nodes, *rest, **settings))


def _wrapped(machine: Any, values: Any, nodes: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return type(values)(_wrapped(machine, one, other) for one, other in zip(values, nodes, strict=True))
    return DrawnArray(machine, values, nodes) if isinstance(values, np.ndarray) else shown(machine, np.asarray(values), [nodes])


def _joined(func: Function, arrays: Sequence[Any], *rest: Any, **settings: Any) -> Any:
    """The elements of several arrays, in one."""
    given = [gathered(one) for one in arrays]
    values = func([one.values if isinstance(one, DrawnArray) else one for one in given], *rest, **settings)
    nodes = func([_nodes_of(one) for one in given], *rest, **settings)
    return _with(values, nodes)


def _with(values: Any, nodes: np.ndarray) -> Any:
    return shown(RUNNING[-1], values, listed(recast(nodes, values.dtype)))


def _nodes_of(one: Any) -> np.ndarray:
    return one.nodes if isinstance(one, DrawnArray) else np.full(np.shape(one), None)


def _where(func: Function, mask: Any, *options: Any) -> Any:
    """By a mask, which is decided."""
    mask = nonzero(mask) if isinstance(mask, DrawnArray) else mask
    if not options:
        return func(mask)
    values = func(mask, *(one.values if isinstance(one, DrawnArray) else one for one in options))
    return _with(values, func(mask, *map(_nodes_of, options)))


def _clip(func: Function, data: Any, low: Any = None, high: Any = None) -> Any:  # noqa: ARG001
    data = data if low is None else np.maximum(data, low)
    return data if high is None else np.minimum(data, high)


def _plain(given: Sequence[Any]) -> None:
    if any(map(symbolic, given)):
        raise Stop(f"a move of elements is led by continuous draws, at {here()}")


def _lines(data: DrawnArray, axis: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and nodes with the axis last; of all elements, with none."""
    both = (data.values, data.nodes)
    values, nodes = (one.reshape(-1) if axis is None else np.moveaxis(one, axis, -1) for one in both)
    return values, nodes


def _extreme(func: Function, data: DrawnArray, axis: Any = None) -> Any:
    """Of argmax and argmin: which element of each line, decided; of max and min, a number that nobody may read."""
    plain = func(data.values, axis=axis)
    if not func.__name__.startswith("arg"):
        node = Opaque(f"it reads the value of numpy's {func.__name__}, at {here()}")
        return shown(mine(data), np.asarray(plain), [node] * np.size(plain))
    values, nodes = _lines(data, axis)
    rows = zip(values.reshape(-1, values.shape[-1]), nodes.reshape(-1, nodes.shape[-1]), strict=True)
    with translated(f"numpy's {func.__name__}"):
        for row, mine_ in rows:
            _raced(data, func.__name__, row.tolist(), list(mine_))
    return plain


def _raced(data: DrawnArray, name: str, row: list[float], nodes: list[Node | None]) -> None:
    machine = mine(data)
    if any(node is not None for node in nodes):
        with machine.aside():
            machine.walk.choose(race(machine, nodes, row, lowest=name == "argmin", name=f"numpy's {name}"))


def _argsort(func: Function, data: DrawnArray, axis: Any = -1, kind: Any = None) -> Any:
    """The order of each line, decided."""
    plain = func(data.values, axis=axis, kind=kind)
    values, nodes = _lines(data, axis)
    rows = zip(values.reshape(-1, values.shape[-1]), nodes.reshape(-1, nodes.shape[-1]), strict=True)
    with translated("numpy's argsort"):
        for row, mine_ in rows:
            _ordered(data, row.tolist(), list(mine_))
    return plain


def _ordered(data: DrawnArray, row: list[float], nodes: list[Node | None]) -> None:
    machine = mine(data)
    if any(node is not None for node in nodes):
        with machine.aside():
            keys = keys_of(machine, nodes, row, lowest=True)
            places = list(itertools.permutations(range(len(row))))
            order = tuple(sorted(range(len(row)), key=row.__getitem__))
            machine.walk.choose(podium(machine, keys, places, order, "numpy's argsort"))


def _sort(func: Function, data: DrawnArray, axis: Any = -1) -> Any:
    values = func(data.values, axis=axis)
    return DrawnArray(mine(data), values, gridded([Opaque(f"it reads the values of numpy's sort, at {here()}")] * values.size, values.shape))


def _searchsorted(func: Function, borders: Any, given: Any, side: str = "left") -> Any:
    """Where draws fall between sorted numbers, decided."""
    _plain([borders])
    return _found(given, lambda x: func(borders, x, side), ("searchsorted", str(np.asarray(borders).tolist()), str(np.asarray(borders).dtype), side))


def _digitize(func: Function, given: Any, bins: Any, right: bool = False) -> Any:  # noqa: FBT001
    _plain([bins])
    return _found(given, lambda x: func(x, bins, right), ("digitize", str(np.asarray(bins).tolist()), str(np.asarray(bins).dtype), right))


def _found(given: DrawnArray, find: Callable[[Any], Any], key: Any) -> Any:
    values = np.asarray(find(given.values))
    step = Step(lambda x: _tensor(find(x.numpy())), (HOLE,), (), None, ("numpy", *key))
    if not all(node is None or isinstance(node, Chain) for node in listed(given.nodes)):
        raise Stop(f"it looks up what is not a monotone function of one draw, at {here()}")
    machine = mine(given)
    with machine.aside(), translated(f"numpy's {key[0]}"):
        nodes = [None if node is None else node.then(step, torch.int64) for node in listed(given.nodes)]  # type: ignore[union-attr]
        return shown(machine, values, nodes)


def _tensor(found: Any) -> Tensor:
    return torch.from_numpy(np.asarray(found))


def _of_truth(func: Function, data: DrawnArray, *rest: Any, **settings: Any) -> Any:
    """Of what looks at whether elements are zero."""
    return func(nonzero(data), *rest, **settings)


def _of_form(func: Function, data: DrawnArray, *rest: Any, **settings: Any) -> Any:
    """Of what looks at the form alone."""
    return func(data.values, *rest, **settings)


FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(
        ("reshape", "ravel", "transpose", "squeeze", "expand_dims", "take", "take_along_axis", "flip", "flipud", "fliplr", "roll", "repeat", "tile", "broadcast_to",
         "atleast_1d", "atleast_2d", "copy", "swapaxes", "moveaxis", "split", "array_split", "delete", "diagonal", "rot90"), _moved),
    **dict.fromkeys(("concatenate", "stack", "vstack", "hstack", "column_stack"), _joined),
    **dict.fromkeys(("argmax", "argmin", "max", "min", "amax", "amin"), _extreme),
    **dict.fromkeys(("any", "all", "count_nonzero", "nonzero", "flatnonzero"), _of_truth),
    **dict.fromkeys(("shape", "ndim", "size", "zeros_like", "ones_like", "empty_like", "full_like"), _of_form),
    "where": _where, "clip": _clip, "argsort": _argsort, "sort": _sort, "searchsorted": _searchsorted, "digitize": _digitize,
}  # fmt: skip
"""By name, what is followed."""


def arrays(real: Function) -> Function:
    """numpy.array and its like, of draws too."""

    def function(data: Any, *arguments: Any, **keywords: Any) -> Any:
        if not RUNNING or not symbolic(data):
            return real(data, *arguments, **keywords)
        dtype = keywords.pop("dtype", arguments[0] if arguments else None)
        given = gathered(data)
        copied = given if real.__name__.startswith("as") and given is data else given.copy()
        return copied if dtype is None else copied.astype(dtype)

    return function
