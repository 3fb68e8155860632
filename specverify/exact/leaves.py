"""The outcomes that one execution ends in: what is still undecided in the returned value is enumerated, without running again."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specverify.exact.chain import Chain
from specverify.exact.machine import Machine
from specverify.exact.nodes import Table, settle
from specverify.exact.numbers import Symbol
from specverify.exact.space import Finite, Grid, Outcomes, Stop
from specverify.law import Outcome, freeze

MOST = 4096
"""Outcomes that one execution may end in; what would be more is decided in executions of its own."""

Part = tuple[float, Outcomes, Mapping[tuple[int, int], Any]]
"""A part of an undecided variable: its share of what is left, the set, and the values that returned elements have there."""


@dataclass(frozen=True)
class Leaf:
    """One outcome: its share of the execution's mass, and the sets of undecided variables that lead to it."""

    mass: float
    inside: Mapping[int, Outcomes]
    outcome: Outcome


def leaves(machine: Machine, result: Any, project: Callable[[Any], Outcome]) -> list[Leaf]:
    """All outcomes of an execution. A result of other things than tensors, numbers and lists is read as it is, which decides it."""
    if not machine.watched or not _plain(result):
        return [Leaf(1.0, {}, project(result))]
    found = _tensors(result)
    places = _undecided(machine, found)
    for variable, _ in sorted(places, key=lambda one: one[0].index):  # choices among draws first, as theirs are negative: a draw of theirs is refused then
        machine.walk.claim(variable)
    options = [_parts(variable, mine) for variable, mine in places]
    told = []
    machine.paused += 1
    try:
        tell = _teller(result, found) if project is frozen else lambda values: project(_with(result, found, values))
        for parts in itertools.product(*options):
            mass, inside = 1.0, dict[int, Outcomes]()
            values: dict[tuple[int, int], Any] = {}
            for (variable, _), (share, part, mine) in zip(places, parts, strict=True):
                mass, inside[variable.index] = mass * share, part
                values.update(mine)
            told.append(Leaf(mass, inside, tell(values)))
    finally:
        machine.paused -= 1
    return told


def _plain(result: Any) -> bool:
    if isinstance(result, Symbol):
        raise Stop("it returns a continuous random number")
    if isinstance(result, (list, tuple)):
        return type(result) in {list, tuple} and all(map(_plain, result))
    return result is None or isinstance(result, (bool, int, float, str, Tensor))


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    return [tensor for one in result for tensor in _tensors(one)] if isinstance(result, (list, tuple)) else []


Places = list[tuple[Finite | Grid, list[tuple[tuple[int, int], Table | Chain]]]]


def _undecided(machine: Machine, found: Sequence[Tensor]) -> Places:
    """Variables that returned elements are simple functions of; all other elements are decided here."""
    simple: dict[int, tuple[Finite | Grid, list[tuple[tuple[int, int], Table | Chain]]]] = {}
    for number, tensor in enumerate(found):
        for place, node in enumerate(machine.memory.elements(tensor)):
            if isinstance(node, Table) or (isinstance(node, Chain) and not node.continuous):
                variable = node.variable if isinstance(node, Table) else node.base
                simple.setdefault(variable.index, (variable, []))[1].append(((number, place), node))
            elif node is not None:
                settle(machine.walk, node)
    kept: Places = []
    size = 1
    for variable, mine in simple.values():
        width = len(variable.inside) if isinstance(variable, Finite) else 64
        if size * width > MOST or (isinstance(variable, Grid) and len(mine) > 1):
            for _, node in mine:
                settle(machine.walk, node)
        else:
            size *= width
            kept.append((variable, mine))
    return kept


def _parts(variable: Finite | Grid, mine: Sequence[tuple[tuple[int, int], Table | Chain]]) -> list[Part]:
    whole = variable.mass(variable.inside)
    if isinstance(variable, Finite):
        tables = {place: node.listed for place, node in mine if isinstance(node, Table)}
        return [
            (variable.mass(frozenset((o,))) / whole, frozenset((o,)), {place: values[o] for place, values in tables.items()}) for o in sorted(variable.inside)
        ]
    ((place, chain),) = mine
    assert isinstance(chain, Chain)
    cells = chain.cells(MOST)
    if cells is None:
        raise Stop("it returns one of more numbers than can be told apart")
    return [(variable.mass(cell) / whole, cell, {place: value}) for cell, value in cells]


def _with(result: Any, found: Sequence[Tensor], values: Mapping[tuple[int, int], Any]) -> Any:
    """The result with other values in some elements."""
    fresh = iter([_changed(tensor, {place: v for (number, place), v in values.items() if number == i}) for i, tensor in enumerate(found)])

    def rebuilt(one: Any) -> Any:
        if isinstance(one, Tensor):
            return next(fresh)
        return type(one)(map(rebuilt, one)) if isinstance(one, (list, tuple)) else one

    return rebuilt(result)


def frozen(result: Any) -> Outcome:
    """The outcome that a result is by itself: tensors, arrays, lists and dicts as nested tuples."""
    if isinstance(result, Tensor) or _is_array(result):
        return freeze(result.tolist())
    if isinstance(result, (list, tuple)):
        return tuple(frozen(one) for one in result)
    if isinstance(result, dict):
        return tuple(sorted(((name, frozen(one)) for name, one in result.items()), key=lambda one: repr(one[0])))
    try:
        hash(result)
    except TypeError as error:
        raise Stop(f"it returns a {type(result).__name__}; `project` can make an outcome of it") from error
    return result


def _is_array(result: Any) -> bool:
    return "numpy" in sys.modules and isinstance(result, sys.modules["numpy"].ndarray)


def _teller(result: Any, found: Sequence[Tensor]) -> Callable[[Mapping[tuple[int, int], Any]], Outcome]:
    """The same with other values in some elements, without a tensor for each outcome."""
    numbers = iter(range(len(found)))

    def template(one: Any) -> Any:
        if isinstance(one, Tensor):
            number = next(numbers)
            return _shaped([_Element((number, place), value) for place, value in enumerate(one.reshape(-1).tolist())], list(one.shape))
        return tuple(map(template, one)) if isinstance(one, (list, tuple)) else one

    whole = template(result)

    def told(one: Any, values: Mapping[tuple[int, int], Any]) -> Any:
        if isinstance(one, _Element):
            return values.get(one.place, one.value)
        return tuple([told(part, values) for part in one]) if isinstance(one, tuple) else one

    return lambda values: told(whole, values)


class _Element(NamedTuple):
    """Of a returned tensor: its place, and its value in this execution."""

    place: tuple[int, int]
    value: Any


def _shaped(flat: list[Any], shape: list[int]) -> Any:
    if not shape:
        return flat[0]
    size = len(flat) // max(1, shape[0])
    return tuple(_shaped(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0]))


def _changed(tensor: Tensor, values: Mapping[int, Any]) -> Tensor:
    if not values:
        return tensor
    flat = tensor.detach().clone().contiguous().reshape(-1)
    for place, value in values.items():
        flat[place] = value
    return flat.reshape(tensor.shape) if tensor.dim() else torch.as_tensor(flat[0])
