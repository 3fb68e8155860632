"""Choices among draws: argmax of keys, sorts, top-k, softmaxes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from specverify.exact.chain import HOLE, Chain, Step
from specverify.exact.machine import Machine, bound, here, name_of
from specverify.exact.nodes import Node, Opaque, Ranked, Table, continuous, settle
from specverify.exact.race import Key, odds, standing, standing_in_order, without_replacement
from specverify.exact.space import Finite, Stop

NEGLIGIBLE = 2.0**-54
"""Chance of winning among ideal numbers that no generator's numbers have: they lie on a grid, and the largest exponential of single precision is near 100."""
MOST = 4096
"""Orders of draws that are told apart."""


def choice(machine: Machine, keys: Sequence[Key], winner: int, name: str) -> Finite:
    """The variable of which key is the largest; the same keys are compared once."""
    chains = [key.chain for key in keys if key.chain is not None]
    if len({chain.base.index for chain in chains}) < len(chains):
        raise Stop(f"it compares functions of one draw in {name}, at {here()}")
    known = next((race for race in chains[0].base.races if race.keys == _names(keys)), None)
    if known is not None:
        return known
    law = odds(keys)
    machine.walk.integrated |= not law.closed
    members = tuple(chain.base for chain in chains)
    weights = [weight if weight >= NEGLIGIBLE * sum(law.weights) else 0.0 for weight in law.weights]
    race = Finite(machine.walk.next_choice(), f"{name} at {here()}", weights, standing(keys), members, at=winner, keys=_names(keys))
    return machine.enter(race)


def _names(keys: Sequence[Key]) -> tuple[object, ...]:
    return tuple((key.chain.base.index, key.name) if key.chain is not None else key.constant for key in keys)


def duel(machine: Machine, keys: Sequence[Key], *, larger_first: bool) -> Node:
    """Which of two draws is larger, as a truth value."""
    one, other = (key.chain.values(torch.tensor([key.chain.base.at])).item() for key in keys if key.chain is not None)
    race = choice(machine, keys, 0 if one > other else 1, "comparison")
    return Table(race, torch.tensor([larger_first, not larger_first]))


def ordered(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of sort and topk among draws: which come first, in order."""
    given, named = args[0], bound(func, args, kwargs)
    nodes = machine.memory.elements(given)
    if not any(node is not None and continuous(node) for node in nodes):
        return machine.unknown(func, args, kwargs)
    lowest = not named.get("descending", False) if "topk" not in name_of(func) else not named["largest"]
    order, values, before = lines_of(given, named.get("dim", -1)), given.reshape(-1).tolist(), list(nodes)
    result = machine.run(func, args, kwargs)
    count = result[1].shape[named.get("dim", -1)] if result[1].dim() else 1
    made: list[Node] = []
    for line in order:
        keys = keys_of(machine, [before[i] for i in line], [values[i] for i in line], lowest=lowest)
        mine = [values[i] for i in line]
        first = sorted(range(len(line)), key=mine.__getitem__, reverse=not lowest)[:count]
        places = list(itertools.permutations(range(len(line)), count))
        made += [Table(podium(machine, keys, places, tuple(first), name_of(func)), torch.tensor(places)[:, i]) for i in range(count)]
    machine.mark(result[0], [Opaque(f"it reads the values of {name_of(func)}, at {here()}")] * len(made))
    machine.mark(result[1], back(made, lines_of(result[1], named.get("dim", -1))))
    return result


def podium(machine: Machine, keys: Sequence[Key], places: Sequence[tuple[int, ...]], first: tuple[int, ...], name: str) -> Finite:
    """The variable of which keys come first, in order; for keys with a closed form alone, and such that never change and lose to all of them."""
    chains = [key.chain for key in keys if key.chain is not None]
    if len({chain.base.index for chain in chains}) < len(chains):
        raise Stop(f"it orders functions of one draw in {name}, at {here()}")
    mine = (*_names(keys), len(first))
    known = next((race for race in chains[0].base.races if race.keys == mine), None)
    if known is not None:
        return known
    law = odds(keys)
    if not law.closed or math.perm(len(keys), len(first)) > MOST or sum(weight > 0 for weight in law.weights) < len(first):
        raise Stop(f"it orders draws that have no closed form in {name}, at {here()}")
    weights = [without_replacement(law.weights, place) if all(law.weights[i] > 0 for i in place) else 0.0 for place in places]
    stand = standing_in_order(keys)
    members = tuple(chain.base for chain in chains)
    race = Finite(machine.walk.next_choice(), f"{name} at {here()}", weights, lambda o: stand(places[o]), members, at=places.index(first), keys=mine)
    return machine.enter(race)


def race(machine: Machine, nodes: Sequence[Node | None], values: Sequence[float], *, lowest: bool, name: str) -> Finite:
    """The variable of which element of a line is the largest, or the smallest."""
    keys = keys_of(machine, nodes, values, lowest=lowest)
    winner = min(range(len(values)), key=values.__getitem__) if lowest else max(range(len(values)), key=values.__getitem__)
    return choice(machine, keys, winner, name)


def keys_of(machine: Machine, nodes: Sequence[Node | None], values: Sequence[float], *, lowest: bool) -> list[Key]:
    """The contenders of a line; of the smallest, with the sign turned."""
    groups = {id(node.group) for node in nodes if isinstance(node, Ranked)}
    if len(groups) > 1 or (groups and not all(isinstance(node, Ranked) for node in nodes)):
        raise Stop(f"it compares softmaxes of different draws, at {here()}")
    keys = []
    for node, value in zip(nodes, values, strict=True):
        if isinstance(node, Opaque):
            raise Stop(node.reason)
        if node is not None and not continuous(node):
            settle(machine.walk, node)
        chain = node.chain if isinstance(node, Ranked) else node if isinstance(node, Chain) else None
        chain = chain.then(Step(torch.neg, (HOLE,), (), None, "neg"), chain.dtype) if chain is not None and lowest else chain
        keys.append(Key(chain, -math.inf if chain is not None else (-value if lowest else value)))
    return keys


def softmax(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The order along the axis is kept; the values are not followed."""
    nodes = machine.memory.elements(args[0])
    if not any(node is not None and continuous(node) for node in nodes):
        return machine.unknown(func, args, kwargs)
    order = lines_of(args[0], args[1])
    result = machine.run(func, args, kwargs)
    made: list[Node | None] = [None] * len(nodes)
    for line in order:
        whole, group = all(isinstance(nodes[i], Chain) for i in line), object()
        for i in line:
            node = nodes[i]
            made[i] = Ranked(node, group) if whole and isinstance(node, Chain) else Opaque(f"it reads a softmax of draws, at {here()}")
    return machine.mark(result, made)


def lines_of(given: Tensor, axis: Any) -> list[list[int]]:
    """Indices of the elements that each result comes from, in order."""
    places = torch.arange(given.numel()).reshape(given.size())
    axes = [axis] if isinstance(axis, int) else list(axis or range(given.dim()))
    if given.dim() == 0:
        return [[0]]
    kept = [i for i in range(given.dim()) if i not in {one % given.dim() for one in axes}]
    found: list[list[int]] = places.permute(*kept, *sorted(one % given.dim() for one in axes)).reshape(-1, math.prod(given.shape[one] for one in axes)).tolist()
    return found


def back(made: Sequence[Node], order: Sequence[Sequence[int]]) -> list[Node | None]:
    """Nodes given line by line, in the order of the tensor's elements."""
    places = [i for line in order for i in line]
    found: list[Node | None] = [None] * len(places)
    for node, i in zip(made, places, strict=True):
        found[i] = node
    return found
