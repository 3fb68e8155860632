"""The table of torch's operations that are followed; reductions, searches and reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from specverify.exact.chain import HOLE, Chain, Step
from specverify.exact.machine import Handler, Machine, here, name_of
from specverify.exact.nodes import Depends, Node, Opaque, Table, continuous
from specverify.exact.space import Stop
from specverify.exact.torch_choices import back, lines_of, ordered, race, softmax
from specverify.exact.torch_elements import pointwise
from specverify.exact.torch_moves import DATA, chosen, moved, resized

ENOUGH: dict[str, Callable[[Any], bool]] = {
    "all": lambda value: not value, "any": bool, "prod": lambda value: value == 0, "cumprod": lambda value: value == 0,
}  # fmt: skip
"""By name, the value after which the rest of a line changes nothing."""
SO_FAR = frozenset(("cumsum", "cumprod"))


def extremum(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of argmax, argmin, max and min, for all elements or along one axis."""
    given = args[0]
    if len(args) > 1 and isinstance(args[1], Tensor):
        return pointwise(machine, func, args, kwargs)
    nodes = machine.memory.elements(given)
    if not any(node is not None and continuous(node) for node in nodes):
        return reduced(machine, func, args, kwargs)
    axis = args[1] if len(args) > 1 else kwargs.get("dim")
    order = lines_of(given, axis)
    values, before = given.reshape(-1).tolist(), list(nodes)
    result = machine.run(func, args, kwargs)
    lowest = name_of(func).endswith("min")
    races = [race(machine, [before[i] for i in line], [values[i] for i in line], lowest=lowest, name=name_of(func)) for line in order]
    indices = [Table(race, torch.arange(len(line))) for race, line in zip(races, order, strict=True)]
    best = [Opaque(f"it reads the value of {name_of(func)}, at {here()}")] * len(races)
    if isinstance(result, (tuple, list)):
        machine.mark(result[0], best)
        machine.mark(result[1], indices)
    else:
        machine.mark(result, indices if name_of(func).startswith("arg") else best)
    return result


def searched(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of searchsorted and bucketize: where a draw falls between sorted numbers."""
    borders, given = (args[0], args[1]) if name_of(func) == "searchsorted" else (args[1], args[0])
    if not isinstance(given, Tensor) or kwargs.get("sorter") is not None or machine.decide(borders):
        return machine.unknown(func, args, kwargs)
    nodes = machine.memory.elements(given)
    settings = {name: value for name, value in kwargs.items() if name in {"right", "side", "out_int32"}}
    result = machine.run(func, args, kwargs)
    made: list[Node | None] = []
    for i, node in enumerate(nodes):
        row = borders if borders.dim() == 1 else borders.reshape(-1, borders.shape[-1])[i // max(1, given.shape[-1])]
        find = _finder(row.clone(), settings)
        if isinstance(node, Chain):
            made.append(node.then(Step(find, (HOLE,), (), None, ("searchsorted", str(row.tolist()), row.dtype, str(settings))), result.dtype))
        elif isinstance(node, Table):
            made.append(Table(node.variable, find(node.values)))
        elif node is not None and continuous(node):
            made.append(Opaque(f"it looks up what is not a monotone function of one draw, at {here()}"))
        else:
            made.append(None if node is None else Depends(((node, None),)))
    return machine.mark(result, made)


def _finder(row: Tensor, settings: Mapping[str, Any]) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.searchsorted(row.to(x.dtype) if x.dtype != row.dtype else row, x.contiguous(), **settings)


def reduced(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A reduction along one axis, or of all elements: each result depends on its line, read from left to right."""
    given, name = args[0], name_of(func)
    nodes = machine.memory.elements(given)
    if any(node is not None and continuous(node) for node in nodes) or not any(node is not None for node in nodes):
        return machine.unknown(func, args, kwargs)
    axis = args[1] if len(args) > 1 and not isinstance(args[1], torch.dtype) else kwargs.get("dim")
    order, values = lines_of(given, axis), given.reshape(-1).tolist()
    result = machine.run(func, args, kwargs)
    enough = ENOUGH.get(name) or (bool if given.dtype == torch.bool and name in {"argmax", "max", "amax"} else None)
    lines = [tuple((node, values[i]) for i in line if (node := nodes[i]) is not None or enough is not None) for line in order]
    made = [Depends(_until(line, enough), enough) for line in lines]
    if name in SO_FAR:
        made = [Depends(_until(tuple((nodes[i], values[i]) for i in line[: place + 1]), enough), enough) for line in order for place in range(len(line))]
        return machine.mark(result, back(made, order))
    for one in result if isinstance(result, (tuple, list)) else (result,):
        machine.mark(one, made)
    return result


def _until(line: Sequence[tuple[Node | None, Any]], enough: Callable[[Any], bool] | None) -> tuple[tuple[Node, Any], ...]:
    """The symbolic elements of a line that come before an ordinary one which is enough."""
    kept: list[tuple[Node, Any]] = []
    for node, value in line:
        if node is not None:
            kept.append((node, value))
        elif enough is not None and enough(value):
            break
    return tuple(kept)


def _scalar(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if machine.decide(args[0]):
        (node,) = machine.nodes(args[0])
        raise Stop(node.reason if isinstance(node, Opaque) else f"it reads a continuous random number, at {here()}")
    return machine.run(func, args, kwargs)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(DATA, moved),
    **dict.fromkeys(("where", "masked_fill"), chosen),
    **dict.fromkeys(("all", "any", "sum", "prod", "cumsum", "cumprod", "amax", "amin"), reduced),
    **dict.fromkeys(("sort", "topk"), ordered),
    **dict.fromkeys(("argmax", "argmin", "max", "min"), extremum),
    **dict.fromkeys(("_softmax", "_log_softmax"), softmax),
    **dict.fromkeys(("searchsorted", "bucketize"), searched),
    "resize": resized,
    "_local_scalar_dense": _scalar,
    "pointwise": pointwise,
}
"""By name, what is followed; everything else is decided first, or opaque."""
