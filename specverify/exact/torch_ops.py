"""What torch's operations do to symbolic elements: those that copy, those that map element by element, those that reduce."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from specverify.exact.chain import HOLE, Chain, Step
from specverify.exact.machine import Handler, Machine, bound, here, name_of, pure, tensors
from specverify.exact.nodes import Depends, Node, Opaque, Ranked, Table, continuous, settle
from specverify.exact.race import Key, odds, standing, standing_in_order, without_replacement
from specverify.exact.space import Finite, Stop

DATA: dict[str, tuple[int, ...]] = {
    "clone": (0,), "cat": (0,), "stack": (0,), "index": (0,), "gather": (0,), "index_select": (0,), "where": (1, 2), "masked_fill": (0, 2), "constant_pad_nd": (0, 2),
    "scatter": (0, 3), "copy": (0, 1), "roll": (0,), "flip": (0,), "repeat": (0,), "take": (0,), "tril": (0,), "triu": (0,), "masked_select": (0,), "index_put": (0, 2),
    "fill": (0, 1), "zero": (0,), "index_fill": (0, 3), "index_copy": (0, 3), "_to_copy": (0,), "select_scatter": (0, 1), "slice_scatter": (0, 1),
    "repeat_interleave": (0,), "unfold": (0,), "view_copy": (0,), "expand_copy": (0,), "_unsafe_view": (0,), "lift_fresh_copy": (0,), "diag_embed": (0,),
}  # fmt: skip
"""Operations that move elements about: the arguments whose elements are moved; all other tensors say where, and are decided."""
COMPARISONS = frozenset(("lt", "le", "gt", "ge"))
MONOTONE = COMPARISONS | frozenset(
    ("add", "sub", "rsub", "mul", "neg", "log", "log1p", "log2", "log10", "exp", "exp2", "expm1", "sqrt", "sigmoid", "tanh", "floor", "ceil", "trunc", "round", "relu",
     "clamp", "clamp_min", "clamp_max", "minimum", "maximum", "fmin", "fmax", "erf", "erfinv", "logit", "bitwise_not", "logical_not", "logical_and", "logical_or",
     "bitwise_and", "bitwise_or", "special_ndtri", "sign", "sgn", "cast")
)  # fmt: skip
"""Monotone in each argument, wherever it lies (`mul` by a constant, `bitwise_*` on truth values)."""
ON_ONE_SIDE = frozenset(("div", "reciprocal", "rsqrt", "pow", "abs", "square", "floor_divide", "true_divide"))
"""Monotone where the argument keeps its sign."""
PARTIAL = frozenset(("log", "log1p", "log2", "log10", "sqrt", "rsqrt", "pow", "logit", "erfinv", "special_ndtri"))
"""Have no number for some arguments: where these are is decided at once."""
TRUTHS = frozenset(("logical_not", "logical_and", "logical_or"))
"""Tell zero from all others."""
STEPPING = frozenset(("floor", "ceil", "trunc", "round", "sign", "sgn"))
"""Make whole numbers."""
NEGLIGIBLE = 2.0**-54
"""Chance of winning among ideal numbers that no generator's numbers have: they lie on a grid, and the largest exponential of single precision is near 100."""
MOST = 4096
"""Orders of draws that are told apart."""
CONJUNCTIONS = {"logical_and": False, "bitwise_and": False, "logical_or": True, "bitwise_or": True}
"""By name, the value of the first operand that decides the result."""


def _cast(node: Node, dtype: torch.dtype) -> Node:
    if isinstance(node, Table) and node.values.dtype != dtype:
        return Table(node.variable, node.values.to(dtype))
    if not isinstance(node, Chain) or node.dtype == dtype:
        return node
    if dtype == torch.bool and not _one_sided(node):
        return Depends(((_signed(node), None),))
    if not dtype.is_floating_point and dtype != torch.bool and not _within(node, dtype):
        return Opaque(f"it makes {dtype} of numbers that do not fit, at {here()}") if node.continuous else Depends(((node, None),))
    step = Step(lambda x: x.to(dtype), (HOLE,), (), None, ("cast", str(dtype)))
    if node.continuous and dtype.is_floating_point:
        step = _Widening(step.function, step.arguments, step.keywords, None, step.key)
    return node.then(step, dtype)


class _Widening(Step):
    """A cast between floating types, which an ideal number does not feel."""

    def ideal(self, x: Tensor) -> Tensor:
        return x


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
        return None if node is None else _cast(node, dtype)


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


# element by element ----------------------------------------------------------------------------------------------------------


def pointwise(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """An operation that maps element by element."""
    operands = [_Operand(machine, one) for one in args]
    result = machine.run(func, args, kwargs)
    shape = result.size()
    rows = [operand.spread(shape) for operand in operands]
    settings = {name: value for name, value in kwargs.items() if name != "out"}
    mapping = _Mapping(machine, func, operands, settings, result.dtype)
    made: list[Node | None] = []
    for e in range(result.numel()):
        mine = [row[e] if row else None for row in rows]
        made.append(mapping.node(e, mine) if any(node is not None for node in mine) else None)
    return machine.mark(result, made)


class _Operand:
    """One argument before the operation, which may write into it: elements and their nodes."""

    def __init__(self, machine: Machine, given: Any) -> None:
        self.given = given
        self.is_tensor = isinstance(given, Tensor)
        self.nodes = machine.memory.elements(given) if self.is_tensor else []
        self.values = given.detach().clone() if self.is_tensor else given
        self.flat: Tensor | None = None

    def spread(self, shape: Any) -> list[Node | None]:
        """The nodes broadcast to the result's shape; none if there is none."""
        if not self.is_tensor:
            return []
        self.flat = self.values.expand(shape).reshape(-1)
        if not any(node is not None for node in self.nodes):
            return []
        order = torch.arange(len(self.nodes)).reshape(self.values.size()).expand(shape).reshape(-1).tolist()
        return [self.nodes[i] for i in order]

    def element(self, e: int, dtype: torch.dtype | None) -> Any:
        """The e-th element as a tensor (1,), in the dtype of the computation; numbers as they are."""
        if self.flat is None:
            return self.given
        one = self.flat[e : e + 1]
        return one if dtype is None else one.to(dtype)


class _Mapping:
    """One elementwise operation, and what it makes of the nodes at one place."""

    def __init__(self, machine: Machine, func: Any, operands: Sequence[_Operand], settings: Mapping[str, Any], dtype: torch.dtype) -> None:
        self.machine, self.operands, self.settings, self.dtype = machine, operands, settings, dtype
        self.name, self.function = name_of(func), pure(func)
        given = [operand.given for operand in operands if isinstance(operand.given, (Tensor, float, int, bool)) and not isinstance(operand.given, torch.dtype)]
        tensor_count = sum(operand.is_tensor for operand in operands)
        self.compute = torch.result_type(given[0], given[1]) if tensor_count == 2 and self.name not in {"where", "masked_fill"} else None  # noqa: PLR2004

    def node(self, e: int, nodes: Sequence[Node | None]) -> Node:
        """The node of the e-th element of the result."""
        symbolic = [node for node in nodes if node is not None]
        if any(map(continuous, symbolic)):
            for node in symbolic:
                if not continuous(node):
                    settle(self.machine.walk, node)
            return self._of_continuous(e, [node if node is not None and continuous(node) else None for node in nodes])
        return self._of_discrete(e, nodes, symbolic)

    def _of_continuous(self, e: int, nodes: Sequence[Node | None]) -> Node:
        places = [i for i, node in enumerate(nodes) if node is not None]
        first = nodes[places[0]]
        if len(places) == 1 and isinstance(first, Chain):
            return self._step(e, places[0], first)
        opaque = next((node for node in nodes if isinstance(node, Opaque)), None)
        if opaque is not None:
            return opaque
        keys = [Key(node) for node in nodes if isinstance(node, Chain)]
        if len(places) == len(keys) == 2 and self.name in COMPARISONS:  # noqa: PLR2004
            return duel(self.machine, keys, larger_first=self.name in {"gt", "ge"})
        return Opaque(f"it reads what {self.name} made of continuous draws, at {here()}")

    def _step(self, e: int, place: int, chain: Chain) -> Node:
        if self.name in {"eq", "ne"}:
            return Depends(((chain.then(self._make(e, place, _side), torch.int8), None),))
        if not self._fits(e, place, chain):
            if not chain.continuous:
                return Depends(((chain, None),))
            return Opaque(f"it reads what {self.name} made of a draw, which is not monotone, at {here()}")
        if self.name in TRUTHS and chain.dtype != torch.bool and not _one_sided(chain):
            return Depends(((_signed(chain), None),))
        made = chain.then(self._make(e, place, self.function), self.dtype, stepped=self.name in STEPPING)
        if self.name in PARTIAL and bool(made.ends().isnan().any()):
            self.machine.walk.narrow(made.base, made.then(Step(torch.isnan, (HOLE,), (), None, "isnan"), torch.bool).cell())
        return Depends(((chain, None),)) if self._wraps(made) else made

    def _fits(self, e: int, place: int, chain: Chain) -> bool:
        """Whether it is a monotone function of the draw."""
        if self.name.startswith("bitwise") and chain.dtype != torch.bool:
            return False
        if self.name in MONOTONE or (self.name == "div" and place == 0):
            return True
        if self.name not in ON_ONE_SIDE or not _one_sided(chain) or (self.name == "pow" and place == 1 and not self.operands[0].element(e, None) >= 0):
            return False
        if len(set(chain.ends().signbit().tolist())) > 1:  # -0 among positive numbers, or 0 among negative ones, whose quotients have the other sign
            self.machine.walk.narrow(chain.base, _signed(chain).cell())
        return True

    def _wraps(self, made: Chain) -> bool:
        """Whether whole numbers overflow."""
        if self.dtype.is_floating_point or self.dtype == torch.bool or self.name not in {"add", "sub", "rsub", "mul", "neg", "pow", "square", "abs"}:
            return False
        before, step = Chain(made.base, made.steps[:-1], made.dtype).ends(), made.steps[-1]
        return not torch.equal(step.ideal(before.double()), made.ends().double())

    def _make(self, e: int, place: int, function: Callable[..., Tensor]) -> Step:
        arguments = tuple(HOLE if i == place else operand.element(e, self.compute) for i, operand in enumerate(self.operands))
        key = (
            self.name,
            *("·" if one is HOLE else one.item() if isinstance(one, Tensor) else str(one) for one in arguments),
            str(self.settings),
            str(self.compute),
        )
        self.machine.walk.coarse = max(self.machine.walk.coarse, _eps(self.compute or self.dtype))
        return Step(function, arguments, tuple(self.settings.items()), self.compute, key)

    def _of_discrete(self, e: int, nodes: Sequence[Node | None], symbolic: Sequence[Node]) -> Node:
        tables = [node for node in symbolic if isinstance(node, Table)]
        if len(tables) == len(symbolic) and len({id(table.variable) for table in tables}) == 1:
            given = [self._column(e, operand, node) for operand, node in zip(self.operands, nodes, strict=True)]
            return Table(tables[0].variable, self.function(*given, **self.settings).to(self.dtype))
        if len(symbolic) == 1 and isinstance(symbolic[0], Chain):
            return self._step(e, nodes.index(symbolic[0]), symbolic[0])
        decisive = CONJUNCTIONS.get(self.name) if self.dtype == torch.bool else None
        children = [(node, operand.element(e, None).item()) for operand, node in zip(self.operands, nodes, strict=True) if node is not None]
        if decisive is not None and any(
            node is None and operand.element(e, None).item() is decisive for operand, node in zip(self.operands, nodes, strict=True)
        ):
            return Depends(())
        return Depends(tuple(children), None if decisive is None else lambda value: bool(value) is decisive)

    def _column(self, e: int, operand: _Operand, node: Node | None) -> Any:
        """An operand at each outcome of the one variable, in the dtype of the computation."""
        if not isinstance(node, Table):
            return operand.element(e, self.compute)
        return node.values if self.compute is None else node.values.to(self.compute)


def _side(x: Tensor, y: Any, **_: Any) -> Tensor:
    """Below, at or above: equality with a constant as a monotone function."""
    x, y = (y, x) if not isinstance(x, Tensor) else (x, y)
    above: Tensor = (x > y).to(torch.int8) - (x < y).to(torch.int8)
    return above + 2 * (x.isnan() | torch.as_tensor(y).isnan())


def _signed(chain: Chain) -> Chain:
    """Below, at or above zero, or none of them."""
    return chain.then(Step(lambda x: _side(x, 0), (HOLE,), (), None, "side"), torch.int8)


def _one_sided(chain: Chain) -> bool:
    ends = chain.ends()
    return bool((ends >= 0).all() or (ends <= 0).all())


def _within(chain: Chain, dtype: torch.dtype) -> bool:
    """Whether its numbers fit into a type of whole numbers."""
    ends, info = chain.ends().double(), torch.iinfo(dtype)
    return bool(((ends > float(info.min) - 1) & (ends < float(info.max) + 1)).all())


def _eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


# choices among draws ---------------------------------------------------------------------------------------------------------


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


def extremum(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of argmax, argmin, max and min, for all elements or along one axis."""
    given = args[0]
    if len(args) > 1 and isinstance(args[1], Tensor):
        return pointwise(machine, func, args, kwargs)
    nodes = machine.memory.elements(given)
    if not any(node is not None and continuous(node) for node in nodes):
        return reduced(machine, func, args, kwargs)
    axis = args[1] if len(args) > 1 else kwargs.get("dim")
    order = _lines(given, axis)
    values, before = given.reshape(-1).tolist(), list(nodes)
    result = machine.run(func, args, kwargs)
    lowest = name_of(func).endswith("min")
    races = [_race(machine, [before[i] for i in line], [values[i] for i in line], lowest=lowest, name=name_of(func)) for line in order]
    indices = [Table(race, torch.arange(len(line))) for race, line in zip(races, order, strict=True)]
    best = [Opaque(f"it reads the value of {name_of(func)}, at {here()}")] * len(races)
    if isinstance(result, (tuple, list)):
        machine.mark(result[0], best)
        machine.mark(result[1], indices)
    else:
        machine.mark(result, indices if name_of(func).startswith("arg") else best)
    return result


def ordered(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of sort and topk among draws: which come first, in order."""
    given, named = args[0], bound(func, args, kwargs)
    nodes = machine.memory.elements(given)
    if not any(node is not None and continuous(node) for node in nodes):
        return machine.unknown(func, args, kwargs)
    lowest = not named.get("descending", False) if "topk" not in name_of(func) else not named["largest"]
    order, values, before = _lines(given, named.get("dim", -1)), given.reshape(-1).tolist(), list(nodes)
    result = machine.run(func, args, kwargs)
    count = result[1].shape[named.get("dim", -1)] if result[1].dim() else 1
    made: list[Node] = []
    for line in order:
        keys = _keys(machine, [before[i] for i in line], [values[i] for i in line], lowest=lowest)
        mine = [values[i] for i in line]
        first = sorted(range(len(line)), key=mine.__getitem__, reverse=not lowest)[:count]
        places = list(itertools.permutations(range(len(line)), count))
        made += [Table(podium(machine, keys, places, tuple(first), name_of(func)), torch.tensor(places)[:, i]) for i in range(count)]
    machine.mark(result[0], [Opaque(f"it reads the values of {name_of(func)}, at {here()}")] * len(made))
    machine.mark(result[1], _back(made, _lines(result[1], named.get("dim", -1))))
    return result


def podium(machine: Machine, keys: Sequence[Key], places: Sequence[tuple[int, ...]], first: tuple[int, ...], name: str) -> Finite:
    """The variable of which keys come first, in order; for keys with a closed form alone."""
    chains = [key.chain for key in keys if key.chain is not None]
    if len({chain.base.index for chain in chains}) < len(keys):
        raise Stop(f"it orders functions of one draw in {name}, at {here()}")
    mine = (*_names(keys), len(first))
    known = next((race for race in chains[0].base.races if race.keys == mine), None)
    if known is not None:
        return known
    law = odds(keys)
    if not law.closed or math.perm(len(keys), len(first)) > MOST:
        raise Stop(f"it orders draws that have no closed form in {name}, at {here()}")
    weights = [without_replacement(law.weights, place) for place in places]
    stand = standing_in_order(keys)
    members = tuple(chain.base for chain in chains)
    race = Finite(machine.walk.next_choice(), f"{name} at {here()}", weights, lambda o: stand(places[o]), members, at=places.index(first), keys=mine)
    return machine.enter(race)


def _race(machine: Machine, nodes: Sequence[Node | None], values: Sequence[float], *, lowest: bool, name: str) -> Finite:
    keys = _keys(machine, nodes, values, lowest=lowest)
    winner = min(range(len(values)), key=values.__getitem__) if lowest else max(range(len(values)), key=values.__getitem__)
    return choice(machine, keys, winner, name)


def _keys(machine: Machine, nodes: Sequence[Node | None], values: Sequence[float], *, lowest: bool) -> list[Key]:
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
    order = _lines(args[0], args[1])
    result = machine.run(func, args, kwargs)
    made: list[Node | None] = [None] * len(nodes)
    for line in order:
        whole, group = all(isinstance(nodes[i], Chain) for i in line), object()
        for i in line:
            node = nodes[i]
            made[i] = Ranked(node, group) if whole and isinstance(node, Chain) else Opaque(f"it reads a softmax of draws, at {here()}")
    return machine.mark(result, made)


def searched(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of searchsorted and bucketize: where a draw falls between sorted numbers."""
    borders, given = (args[0], args[1]) if name_of(func) == "searchsorted" else (args[1], args[0])
    if not isinstance(given, Tensor) or machine.memory.symbolic(borders) or kwargs.get("sorter") is not None:
        return machine.unknown(func, args, kwargs)
    nodes = machine.memory.elements(given)
    settings = {name: value for name, value in kwargs.items() if name in {"right", "side", "out_int32"}}
    result = machine.run(func, args, kwargs)
    made: list[Node | None] = []
    for i, node in enumerate(nodes):
        row = borders if borders.dim() == 1 else borders.reshape(-1, borders.shape[-1])[i // max(1, given.shape[-1])]
        find = _finder(row.clone(), settings)
        if isinstance(node, Chain):
            made.append(node.then(Step(find, (HOLE,), (), None, ("searchsorted", tuple(row.tolist()), str(settings))), result.dtype))
        elif isinstance(node, Table):
            made.append(Table(node.variable, find(node.values)))
        elif node is not None and continuous(node):
            made.append(Opaque(f"it looks up what is not a monotone function of one draw, at {here()}"))
        else:
            made.append(None if node is None else Depends(((node, None),)))
    return machine.mark(result, made)


def _finder(row: Tensor, settings: Mapping[str, Any]) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.searchsorted(row.to(x.dtype) if x.dtype != row.dtype else row, x.contiguous(), **settings)


# reductions of discrete elements ---------------------------------------------------------------------------------------------

ENOUGH: dict[str, Callable[[Any], bool]] = {
    "all": lambda value: not value, "any": bool, "prod": lambda value: value == 0, "cumprod": lambda value: value == 0,
}  # fmt: skip
"""By name, the value after which the rest of a line changes nothing."""
SO_FAR = frozenset(("cumsum", "cumprod"))


def reduced(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A reduction along one axis, or of all elements: each result depends on its line, read from left to right."""
    given, name = args[0], name_of(func)
    nodes = machine.memory.elements(given)
    if any(node is not None and continuous(node) for node in nodes) or not any(node is not None for node in nodes):
        return machine.unknown(func, args, kwargs)
    axis = args[1] if len(args) > 1 and not isinstance(args[1], torch.dtype) else kwargs.get("dim")
    order, values = _lines(given, axis), given.reshape(-1).tolist()
    result = machine.run(func, args, kwargs)
    enough = ENOUGH.get(name) or (bool if given.dtype == torch.bool and name in {"argmax", "max", "amax"} else None)
    lines = [tuple((node, values[i]) for i in line if (node := nodes[i]) is not None or enough is not None) for line in order]
    made = [Depends(_until(line, enough), enough) for line in lines]
    if name in SO_FAR:
        made = [Depends(_until(tuple((nodes[i], values[i]) for i in line[: place + 1]), enough), enough) for line in order for place in range(len(line))]
        return machine.mark(result, _back(made, order))
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


def _lines(given: Tensor, axis: Any) -> list[list[int]]:
    """Indices of the elements that each result comes from, in order."""
    places = torch.arange(given.numel()).reshape(given.size())
    axes = [axis] if isinstance(axis, int) else list(axis or range(given.dim()))
    if given.dim() == 0:
        return [[0]]
    kept = [i for i in range(given.dim()) if i not in {one % given.dim() for one in axes}]
    found: list[list[int]] = places.permute(*kept, *sorted(one % given.dim() for one in axes)).reshape(-1, math.prod(given.shape[one] for one in axes)).tolist()
    return found


def _back(made: Sequence[Node], order: Sequence[Sequence[int]]) -> list[Node | None]:
    """Nodes given line by line, in the order of the tensor's elements."""
    places = [i for line in order for i in line]
    found: list[Node | None] = [None] * len(places)
    for node, i in zip(made, places, strict=True):
        found[i] = node
    return found


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
