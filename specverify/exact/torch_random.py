"""Torch's random operations as variables: what each draws, and on which grid.

A draw is known by the state of its generator: the same state and the same request give the very same numbers. So reseeding, shared
seeds, generators of the subject's own and saved states need no code of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from specverify.exact.chain import Chain
from specverify.exact.forms import bell, even, smooth, waiting
from specverify.exact.machine import Handler, Machine, bound, here, name_of, state_of
from specverify.exact.nodes import Table
from specverify.exact.race import without_replacement
from specverify.exact.space import Form, Stop

BITS = {torch.float64: 53, torch.float32: 24, torch.float16: 24, torch.bfloat16: 24}
"""Of torch's uniform numbers on the CPU; half precision rounds those of 24 bits and takes 1 for 0 (measured)."""
FINE = 53
"""Bits of the grid behind exponentials and normals, which count as ideal: torch's own are finer than their rounding."""
MOST = 4096
"""Outcomes of one finite draw: permutations, ordered samples."""

Made = Sequence[Chain | Table]


def _generator(given: Mapping[str, Any], device: torch.device) -> Any:
    if given.get("generator") is not None:
        return given["generator"]
    return torch.default_generator if device.type == "cpu" else torch.cuda.default_generators[device.index or 0]


def _drawing(make: Callable[[Machine, Tensor, Mapping[str, Any], str], Made]) -> Handler:
    """A handler that lets torch draw, which moves the generator and refuses bad arguments, and then puts the variables' numbers in place.

    `make` gets the machine, the result, all arguments by name, and the draw's label.
    """

    def handler(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        given = bound(func, args, kwargs)
        chances = [one for name, one in given.items() if isinstance(one, Tensor) and not (name == "self" and func._schema.is_mutable)]
        if machine.decide(*chances):
            raise Stop(f"it draws with chances that are themselves continuous draws, at {here()}")
        device = next((one.device for one in given.values() if isinstance(one, Tensor)), torch.device(given.get("device") or "cpu"))
        generator = _generator(given, device)
        before = state_of(generator)
        given = {name: one.clone() if isinstance(one, Tensor) else one for name, one in given.items()}
        result = machine.run(func, args, kwargs)
        machine.generators[id(generator)] = generator
        after = state_of(generator)
        machine.states |= {before, after}
        if result.numel() and after != before:  # a permutation of one draws nothing
            numbers = sorted((name, str(one)) for name, one in given.items() if not isinstance(one, (Tensor, Generator)))
            signature = (name_of(func), tuple(result.shape), str(result.dtype), str(numbers), [one.tolist() for one in chances])
            nodes = machine.reused(before, signature) or make(machine, result, given, f"{name_of(func)} at {here()}")
            machine.drawn[before] = (signature, nodes)
            _put(machine, result, nodes)
        return result

    return handler


def _put(machine: Machine, result: Tensor, nodes: Made) -> None:
    """Write the numbers of this execution, and the nodes beside them."""
    numbers = [node.listed[node.variable.at] if isinstance(node, Table) else node.base.form.number(node.base.at) for node in nodes]
    kind = torch.int64 if isinstance(numbers[0], int) else torch.float64
    result.copy_(torch.tensor(numbers, dtype=kind).reshape(result.shape))
    if machine.watched:
        machine.mark(result, nodes)


def _grids(machine: Machine, result: Tensor, label: str, form: Form) -> Made:
    return [Chain(machine.grid(f"{label} #{i}", form), (), result.dtype) for i in range(result.numel())]


def _uniform(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:
    if result.dtype not in BITS:
        raise Stop(f"it draws {result.dtype}, at {here()}")
    low, high = float(given.get("from", 0.0)), float(given.get("to", 1.0))
    return _grids(machine, result, label, even(result.dtype, low, high, BITS[result.dtype]) if machine.grids else smooth(result.dtype, low, high, FINE))


def _exponential(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:
    machine.walk.idealised = True
    return _grids(machine, result, label, waiting(result.dtype, float(given["lambd"]), FINE))


def _normal(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:
    mean, std = given.get("mean", 0.0), given.get("std", 1.0)
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        raise Stop(f"it draws normals with tensors for mean or deviation, at {here()}")
    machine.walk.idealised = True
    return _grids(machine, result, label, bell(result.dtype, float(mean), float(std), FINE))


def _bernoulli(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:
    chance = given.get("p", given["self"])
    chances = chance.double().expand(result.shape).reshape(-1).tolist() if isinstance(chance, Tensor) else [float(chance)] * result.numel()
    values = torch.tensor([0, 1]).to(result.dtype)
    return [Table(machine.finite(f"{label} #{i}", (1 - p, p)), values) for i, p in enumerate(chances)]


def _randint(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:
    whole = 2 ** torch.finfo(result.dtype).bits if result.is_floating_point() else torch.iinfo(result.dtype).max + 1
    low, high = given.get("low", given.get("from", 0)), given.get("high", given.get("to"))
    high = whole if high is None else high
    if high - low > MOST:
        raise Stop(f"it draws one of {high - low:,} integers, at {here()}")
    values = torch.arange(low, high).to(result.dtype)
    return [Table(machine.finite(f"{label} #{i}", (1.0,) * (high - low)), values) for i in range(result.numel())]


def _randperm(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:  # noqa: ARG001
    n = result.numel()
    if math.factorial(n) > MOST:
        raise Stop(f"it draws one of {n}! permutations, at {here()}")
    every = torch.tensor(list(itertools.permutations(range(n)))).to(result.dtype)
    variable = machine.finite(label, (1.0,) * len(every))
    return [Table(variable, every[:, i]) for i in range(n)]


def _multinomial(machine: Machine, result: Tensor, given: Mapping[str, Any], label: str) -> Made:
    weights, count, again = given["self"].double(), result.shape[-1], bool(given["replacement"])
    rows = weights.reshape(-1, weights.shape[-1]).tolist()
    machine.walk.coarse = max(machine.walk.coarse, torch.finfo(given["self"].dtype).eps)
    made: list[Table] = []
    for r, row in enumerate(rows):
        made += _many(machine, f"{label} #{r}", row, count, again=again)
    return made


def _many(machine: Machine, label: str, row: list[float], count: int, *, again: bool) -> list[Table]:
    if again or count == 1:
        tokens = torch.arange(len(row))
        return [Table(machine.finite(f"{label}.{i}", row), tokens) for i in range(count)]
    if math.perm(len(row), count) > MOST:
        raise Stop(f"it draws {count} of {len(row)} without replacement, at {here()}")
    orders = list(itertools.permutations(range(len(row)), count))
    variable = machine.finite(label, [without_replacement(row, order) for order in orders])
    every = torch.tensor(orders)
    return [Table(variable, every[:, i]) for i in range(count)]


DRAWS: dict[str, Handler] = {
    **dict.fromkeys(("rand", "rand_like", "uniform"), _drawing(_uniform)),
    "exponential": _drawing(_exponential),
    **dict.fromkeys(("randn", "randn_like", "normal"), _drawing(_normal)),
    "bernoulli": _drawing(_bernoulli),
    **dict.fromkeys(("randint", "randint_like", "random"), _drawing(_randint)),
    "randperm": _drawing(_randperm),
    "multinomial": _drawing(_multinomial),
}
"""By name, what torch draws through."""
