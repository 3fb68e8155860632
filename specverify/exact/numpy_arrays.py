"""Arrays and scalars of numpy that hold continuous draws: two arrays of one form, of numbers and of nodes, so that views, moves and writes need no code.

It is no subclass of numpy's array: what turns it into one, as C code does, is told and refused, where a subclass would be read silently.
What is discrete after an operation is decided at once, and comes as numpy's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

from specverify.exact.generators import translated
from specverify.exact.machine import RUNNING, Machine, here
from specverify.exact.nodes import Node, Opaque, continuous, settle
from specverify.exact.numbers import Number, Symbol, number
from specverify.exact.space import Hidden, Stop
from specverify.exact.torch_elements import Operand, Operation, cast, mapped

NAMES = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne", "add": "add", "subtract": "sub", "multiply": "mul",
    "divide": "div", "true_divide": "div", "power": "pow", "negative": "neg", "absolute": "abs", "fabs": "abs", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "square": "square", "reciprocal": "reciprocal", "tanh": "tanh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "round", "sign": "sign", "minimum": "minimum", "maximum": "maximum", "fmin": "fmin", "fmax": "fmax",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "logical_not": "logical_not", "logical_and": "logical_and", "logical_or": "logical_or",
}  # fmt: skip
"""numpy's elementwise functions that are followed, with torch's names for them; `positive` and others are no functions of draws that matter."""
MOVES = frozenset(("reshape", "ravel", "flatten", "copy", "transpose", "squeeze", "swapaxes", "take", "repeat", "diagonal"))
"""Methods that move elements about."""


class DrawnArray(Symbol, NDArrayOperatorsMixin):
    """An array, or a scalar, of numpy with continuous draws among its elements.

    Args:
        machine: the execution that the draws belong to.
        values: the numbers that it has in this execution.
        nodes: of the same shape, what each is; none for ordinary numbers.
    """

    __slots__ = ("machine", "nodes", "values")

    def __init__(self, machine: Machine, values: np.ndarray, nodes: np.ndarray) -> None:
        self.machine, self.values, self.nodes = machine, values, nodes

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` is told."""
        return np.ndarray if self.values.ndim else self.values.dtype.type

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    T = property(lambda self: self._both(lambda one: one.T))

    @property
    def tensor(self) -> Tensor:
        """A copy in torch."""
        machine = mine(self)
        with machine.aside():
            return machine.mark(torch.from_numpy(self.values.copy()), listed(self.nodes))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Among torch's arguments, a scalar stands for a Python number."""
        return func(*map(_number, args), **{name: _number(one) for name, one in (kwargs or {}).items()})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """An elementwise function."""
        return applied(ufunc, method, *inputs, **settings)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Any other function of numpy's."""
        from specverify.exact.numpy_functions import called

        return called(func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in MOVES:
            return lambda *arguments, **keywords: self._both(lambda one: getattr(one, name)(*arguments, **keywords))
        if name in {"argmax", "argmin", "max", "min", "argsort", "clip", "any", "all", "nonzero"}:
            return lambda *arguments, **keywords: getattr(np, name)(self, *arguments, **keywords)
        if name.startswith("__array"):
            self._refuse()
        if hasattr(np.ndarray, name):
            raise Stop(f"it takes {name} of an array of continuous draws, at {here()}")
        raise AttributeError(name)

    def _both(self, move: Callable[[Any], Any]) -> Any:
        values = move(self.values)
        return _shown(self.machine, values, move(self.nodes))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return self._both(lambda one: one[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        machine = mine(self)
        given = gathered(value) if symbolic(value) else value
        if not isinstance(given, DrawnArray):
            self.values[key] = given
            self.nodes[key] = None
            return
        self.values[key] = given.values
        nodes = recast(given.nodes, self.dtype)
        self.nodes[key] = nodes if nodes.ndim else nodes[()]
        settled(machine, listed(self.nodes))

    def __contains__(self, one: Any) -> bool:
        return bool(np.any(self == one))

    def __bool__(self) -> bool:
        return bool(nonzero(self)) if self.size == 1 else bool(self.values)  # which raises as numpy does

    def __int__(self) -> int:
        return int(self.astype(np.int64))

    __trunc__ = __int__

    def __floor__(self) -> int:
        return int(np.floor(self))

    def __ceil__(self) -> int:
        return int(np.ceil(self))

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """In another type; whole numbers are decided."""
        return shown(mine(self), self.values.astype(dtype), listed(recast(self.nodes, np.dtype(dtype))))

    def item(self, *place: Any) -> Any:
        """One element as a Python number."""
        value = self.values.item(*place)
        node = self.nodes.item(*place)
        if isinstance(node, Opaque):
            raise Stop(node.reason)
        return value if node is None else number(mine(self), value, node)

    def tolist(self) -> Any:
        """Python numbers, in lists as they lie."""
        return [_listed(one) for one in self] if self.ndim else self.item()

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.setdefault(id(self), self.copy())

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Stop(f"it turns continuous random numbers of numpy into plain ones, at {here()}")

    __array__ = __hash__ = _refuse
    __repr__ = __str__ = __format__ = __float__ = __complex__ = __round__ = __reduce_ex__ = __index__ = _refuse


def _listed(one: Any) -> Any:
    return one.tolist() if hasattr(one, "tolist") else one


def _number(one: Any) -> Any:
    if not isinstance(one, DrawnArray):
        return one
    if one.ndim:
        raise Stop(f"it hands an array of numpy's with continuous draws to torch, at {here()}")
    return one.item().tensor


def nonzero(drawn: DrawnArray) -> Any:
    """Which elements are not zero, decided."""
    found = drawn != 0
    if isinstance(found, DrawnArray):
        raise Stop(next(node.reason for node in listed(found.nodes) if isinstance(node, Opaque)))
    return found


def mine(drawn: DrawnArray) -> Machine:
    """The execution that runs; draws of another are no draws of it."""
    if not RUNNING or RUNNING[-1] is not drawn.machine:
        raise Hidden(f"it uses draws of an execution before, at {here()}")
    return drawn.machine


def listed(nodes: np.ndarray) -> list[Node | None]:
    """In order."""
    return list(nodes.reshape(-1))


def gridded(nodes: Sequence[Node | None], shape: tuple[int, ...]) -> np.ndarray:
    """As an array of objects."""
    flat = np.empty(len(nodes), object)
    for i, node in enumerate(nodes):
        flat[i] = node
    return flat.reshape(shape)


@functools.cache
def torch_type(dtype: np.dtype) -> torch.dtype:
    """Torch's name for a type of numpy's."""
    try:
        return torch.from_numpy(np.empty(0, dtype)).dtype
    except TypeError:
        raise Stop(f"it makes {dtype} of draws, at {here()}") from None


def recast(nodes: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The nodes of the same elements in another type."""
    kind = torch_type(dtype)
    return gridded([None if node is None else cast(node, kind) for node in listed(nodes)], nodes.shape)


def settled(machine: Machine, nodes: Sequence[Node | None]) -> bool:
    """Decide every discrete element; whether continuous ones are left."""
    left = False
    for node in nodes:
        if node is not None and continuous(node):
            left = True
        elif node is not None:
            settle(machine.walk, node)
    return left


def shown(machine: Machine, values: Any, nodes: Sequence[Node | None]) -> Any:
    """What the subject sees of a result: numpy's own array or scalar where nothing continuous is left."""
    if not settled(machine, nodes):
        return values[()]
    kept = gridded([node if node is not None and continuous(node) else None for node in nodes], np.shape(values))
    laid = np.empty_like(values, dtype=object)  # in memory as the values are, so that views of both are views alike
    laid[...] = kept
    return DrawnArray(machine, np.asarray(values), laid)


def _shown(machine: Machine, values: Any, nodes: Any) -> Any:
    """The same of elements that were moved: views stay views."""
    if isinstance(values, np.ndarray):
        return DrawnArray(machine, values, nodes)
    return values if nodes is None else DrawnArray(machine, np.asarray(values), gridded([nodes], ()))


def symbolic(data: Any) -> bool:
    """Whether there is a draw in nested lists."""
    return isinstance(data, Symbol) or (type(data) in {list, tuple} and any(map(symbolic, data)))


def gathered(data: Any) -> Any:
    """Nested lists with draws in them as one array."""
    if isinstance(data, Number):
        machine = RUNNING[-1]
        with machine.aside():
            return DrawnArray(machine, np.asarray(_value(data)), gridded(machine.memory.elements(data.tensor), ()))
    if not isinstance(data, (list, tuple)) or isinstance(data, Symbol):
        return data
    return np.stack([gathered(one) if symbolic(one) else np.asarray(one) for one in data])


def _value(one: Number) -> float:
    with RUNNING[-1].aside():
        return float(one.tensor.detach().numpy())


def applied(ufunc: Any, method: str, *inputs: Any, out: Any = (None,), **settings: Any) -> Any:
    """One of numpy's elementwise functions, by numpy itself, with some operands drawn."""
    name = NAMES.get(ufunc.__name__)
    if name is None or method != "__call__" or settings or any(isinstance(one, Tensor) for one in inputs):
        raise Stop(f"it takes numpy's {ufunc.__name__}{'' if method == '__call__' else '.' + method} of continuous draws, at {here()}")
    machine = RUNNING[-1]
    given = [_operand(one) for one in inputs]
    with machine.aside():
        plain = [_value(one) if isinstance(one, Number) else one.values[()] if isinstance(one, DrawnArray) else one for one in given]
        values = np.asarray(ufunc(*plain))
        with translated(f"numpy's {ufunc.__name__}"):
            nodes = _made(machine, ufunc, name, given, plain, values)
    return shown(machine, values, nodes) if out[0] is None else _written(machine, out[0], values, nodes)


def _operand(one: Any) -> Any:
    """A Python number stays one: it takes part in no promotion of types."""
    if isinstance(one, (Number, int, float)):
        return one
    return gathered(one) if symbolic(one) else np.asarray(one) if isinstance(one, (list, tuple)) else one


def _made(machine: Machine, ufunc: Any, name: str, given: Sequence[Any], plain: Sequence[Any], values: np.ndarray) -> list[Node | None]:
    kind = np.result_type(*plain)
    operands = [Operand(torch.from_numpy(np.array(one, dtype=kind)), _nodes(machine, drawn)) for one, drawn in zip(plain, given, strict=True)]
    operation = Operation(name, _through(ufunc), {}, torch_type(kind), "numpy")
    return mapped(machine, operation, operands, torch.from_numpy(np.array(values)))


def _nodes(machine: Machine, drawn: Any) -> list[Node | None]:
    if isinstance(drawn, DrawnArray):
        mine(drawn)
        return listed(drawn.nodes)
    return machine.memory.elements(drawn.tensor) if isinstance(drawn, Number) else []


@functools.cache
def _through(ufunc: Any) -> Callable[..., Tensor]:
    """Numpy's function of torch's tensors: its logarithm may differ from torch's in the last bit."""

    def function(*given: Tensor) -> Tensor:
        with np.errstate(all="ignore"):
            return torch.from_numpy(np.asarray(ufunc(*(one.numpy() for one in given))))

    return function


def _written(machine: Machine, target: Any, values: np.ndarray, nodes: Sequence[Node | None]) -> Any:
    """Into an array that was given for the result."""
    if settled(machine, nodes) and not isinstance(target, DrawnArray):
        raise Stop(f"it writes continuous draws into a plain array, at {here()}")
    target[...] = shown(machine, values, nodes)
    return target
