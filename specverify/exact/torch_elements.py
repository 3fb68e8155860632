"""Operations that map element by element, and casts: what they make of symbolic elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specverify.exact.chain import HOLE, Chain, Step
from specverify.exact.machine import Machine, here, name_of, pure
from specverify.exact.nodes import Depends, Node, Opaque, Table, continuous, settle
from specverify.exact.race import Key
from specverify.exact.torch_choices import duel

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
CONJUNCTIONS = {"logical_and": False, "bitwise_and": False, "logical_or": True, "bitwise_or": True}
"""By name, the value of the first operand that decides the result."""


def pointwise(machine: Machine, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """An operation that maps element by element."""
    operands = [Operand(one, machine.memory.elements(one) if isinstance(one, Tensor) else ()) for one in args]
    result = machine.run(func, args, kwargs)
    settings = {name: value for name, value in kwargs.items() if name != "out"}
    operation = Operation(name_of(func), pure(func), settings, _promoted(name_of(func), operands))
    return machine.mark(result, mapped(machine, operation, operands, result))


@dataclass(frozen=True)
class Operation:
    """An elementwise operation: torch's name for it, the function of tensors, its settings, the dtype of the computation; `origin` tells libraries apart."""

    name: str
    function: Callable[..., Tensor]
    settings: Mapping[str, Any]
    compute: torch.dtype | None
    origin: str = "torch"


def mapped(machine: Machine, operation: Operation, operands: Sequence[Operand], result: Tensor) -> list[Node | None]:
    """What the elements of the result are."""
    rows = [operand.spread(result.size()) for operand in operands]
    mapping = _Mapping(machine, operation, operands, result.dtype)
    made: list[Node | None] = []
    for e in range(result.numel()):
        mine = [row[e] if row else None for row in rows]
        made.append(mapping.node(e, mine) if any(node is not None for node in mine) else None)
    return made


def _promoted(name: str, operands: Sequence[Operand]) -> torch.dtype | None:
    """The dtype in which torch computes with two tensors."""
    given = [operand.given for operand in operands if isinstance(operand.given, (Tensor, float, int, bool)) and not isinstance(operand.given, torch.dtype)]
    both = sum(operand.is_tensor for operand in operands) == 2  # noqa: PLR2004
    return torch.result_type(given[0], given[1]) if both and name not in {"where", "masked_fill"} else None


class Operand:
    """One argument before the operation, which may write into it: elements and their nodes, those of tensors."""

    def __init__(self, given: Any, nodes: Sequence[Node | None]) -> None:
        self.given, self.nodes = given, nodes
        self.is_tensor = isinstance(given, Tensor)
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

    def __init__(self, machine: Machine, operation: Operation, operands: Sequence[Operand], dtype: torch.dtype) -> None:
        self.machine, self.operands, self.dtype = machine, operands, dtype
        self.name, self.function, self.settings = operation.name, operation.function, operation.settings
        self.compute, self.origin = operation.compute, operation.origin

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
        if len(keys) == 2 and isinstance(first, Chain) and self.name in {"eq", "ne"} and _same(keys) and _finite(first):  # noqa: PLR2004
            return Depends(())  # x == x, as isfinite asks
        if len(places) == len(keys) == 2 and self.name in COMPARISONS:  # noqa: PLR2004
            return duel(self.machine, keys, larger_first=self.name in {"gt", "ge"})
        return Opaque(f"it reads what {self.name} made of continuous draws, at {here()}")

    def _step(self, e: int, place: int, chain: Chain) -> Node:
        if self.name in {"isnan", "isinf", "isfinite"} and _finite(chain):
            return Depends(())
        if self.name in {"eq", "ne"}:
            return Depends(((chain.then(self._make(e, place, _side), torch.int8), None),))
        if not self._fits(e, place, chain):
            if not chain.continuous:
                return Depends(((chain, None),))
            return Opaque(f"it reads what {self.name} made of a draw, which is not monotone, at {here()}")
        if self.name in TRUTHS and chain.dtype != torch.bool and not one_sided(chain):
            return Depends(((signed(chain), None),))
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
        if self.name not in ON_ONE_SIDE or not one_sided(chain) or (self.name == "pow" and place == 1 and not self.operands[0].element(e, None) >= 0):
            return False
        if len(set(chain.ends().signbit().tolist())) > 1:  # -0 among positive numbers, or 0 among negative ones, whose quotients have the other sign
            self.machine.walk.narrow(chain.base, signed(chain).cell())
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
            self.origin,
            self.name,
            *("·" if one is HOLE else f"{one.item()} {one.dtype}" if isinstance(one, Tensor) else str(one) for one in arguments),
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

    def _column(self, e: int, operand: Operand, node: Node | None) -> Any:
        """An operand at each outcome of the one variable, in the dtype of the computation."""
        if not isinstance(node, Table):
            return operand.element(e, self.compute)
        return node.values if self.compute is None else node.values.to(self.compute)


def _side(x: Tensor, y: Any, **_: Any) -> Tensor:
    """Below, at or above: equality with a constant as a monotone function."""
    x, y = (y, x) if not isinstance(x, Tensor) else (x, y)
    above: Tensor = (x > y).to(torch.int8) - (x < y).to(torch.int8)
    return above + 2 * (x.isnan() | torch.as_tensor(y).isnan())


def signed(chain: Chain) -> Chain:
    """Below, at or above zero, or none of them."""
    return chain.then(Step(lambda x: _side(x, 0), (HOLE,), (), None, "side"), torch.int8)


def _finite(chain: Chain) -> bool:
    """Whether all its values are finite: they lie between those at its ends."""
    return bool(chain.ends().isfinite().all())


def _same(keys: Sequence[Key]) -> bool:
    """Whether all are the same function of one draw."""
    return len({(key.chain.base.index, key.name) for key in keys if key.chain is not None}) == 1


def one_sided(chain: Chain) -> bool:
    """Whether it keeps its sign."""
    ends = chain.ends()
    return bool((ends >= 0).all() or (ends <= 0).all())


def _within(chain: Chain, dtype: torch.dtype) -> bool:
    """Whether its numbers fit into a type of whole numbers."""
    ends, info = chain.ends().double(), torch.iinfo(dtype)
    return bool(((ends > float(info.min) - 1) & (ends < float(info.max) + 1)).all())


def _eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def cast(node: Node, dtype: torch.dtype) -> Node:
    """The element in another dtype."""
    if isinstance(node, Table) and node.values.dtype != dtype:
        return Table(node.variable, node.values.to(dtype))
    if not isinstance(node, Chain) or node.dtype == dtype:
        return node
    if dtype == torch.bool and not one_sided(node):
        return Depends(((signed(node), None),))
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
