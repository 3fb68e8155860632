"""A continuous draw as a Python number: `torch.rand(1).item()` gives one, and comparing it decides.

It is no float: what turns it into one, as C code does, is told and refused, where a subclass of float would be read silently.
"""

from __future__ import annotations

import abc
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from specverify.exact.chain import Chain
from specverify.exact.machine import Machine
from specverify.exact.space import Stop
from specverify.exact.torch_elements import cast

Function = Callable[..., Tensor]


class Symbol:
    """What stands for continuous draws outside of torch's tensors."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def tensor(self) -> Tensor:
        """The draws as a tensor that is followed."""


class Number(Symbol):
    """A number that remembers the draw it came from; arithmetic and comparisons go through torch, where they are followed.

    Args:
        tensor: of shape (), float64.
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    @property
    def tensor(self) -> Tensor:
        """The number, of shape ()."""
        return self._tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Among torch's own arguments it stands for its tensor."""
        return func(*map(_tensor, args), **{name: _tensor(one) for name, one in (kwargs or {}).items()})

    def __bool__(self) -> bool:
        return bool(self.tensor != 0)

    def __int__(self) -> int:
        return int(self.tensor.trunc().long())

    __trunc__ = __int__

    def __floor__(self) -> int:
        return int(self.tensor.floor().long())

    def __ceil__(self) -> int:
        return int(self.tensor.ceil().long())

    def __hash__(self) -> int:
        raise Stop("it hashes a continuous random number")

    def _refuse(self, *_: Any) -> Any:
        raise Stop("it turns a continuous random number into a plain one")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """Among numpy's numbers and arrays it stands for a Python number."""
        from specverify.exact.numpy_arrays import applied

        return applied(ufunc, method, *inputs, **settings)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """In numpy's functions, for an array of one number."""
        from specverify.exact.numpy_functions import called

        return called(func, args, kwargs)

    __array__ = _refuse
    __repr__ = __str__ = __format__ = __float__ = __round__ = __reduce_ex__ = __index__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _refuse


numbers.Real.register(Number)


def _tensor(one: Any) -> Any:
    if isinstance(one, Number):
        return one.tensor
    return type(one)(map(_tensor, one)) if type(one) in {list, tuple} else one


def _binary(function: Function, *, turned: bool = False) -> Callable[[Number, Any], Any]:
    def method(self: Number, other: Any) -> Any:
        if not isinstance(other, (int, float, Number)) or hasattr(type(other), "__array_priority__"):  # numpy's numbers compute with it as with any other
            return NotImplemented
        result = function(_plain(other), self.tensor) if turned else function(self.tensor, _plain(other))
        return bool(result) if result.dtype == torch.bool else result.item()

    return method


def number(machine: Machine, value: float, chain: Chain) -> Any:
    """A draw as a Python number: followed, or plain in a replay."""
    if not machine.watched:
        return value
    with machine.aside():
        return Number(machine.mark(torch.scalar_tensor(value, dtype=torch.float64), [cast(chain, torch.float64)]))


def _plain(one: Any) -> Tensor:
    return one.tensor if isinstance(one, Number) else torch.scalar_tensor(one, dtype=torch.float64)


_ARITHMETIC: dict[str, Function] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "truediv": torch.div, "pow": torch.pow}
_COMPARISONS: dict[str, Function] = {"lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "eq": torch.eq, "ne": torch.ne}
_UNARY: dict[str, Function] = {"neg": torch.neg, "abs": torch.abs, "pos": torch.clone}
for _name, _function in (_ARITHMETIC | _COMPARISONS).items():
    setattr(Number, f"__{_name}__", _binary(_function))
for _name, _function in _ARITHMETIC.items():
    setattr(Number, f"__r{_name}__", _binary(_function, turned=True))
for _name, _function in _UNARY.items():
    setattr(Number, f"__{_name}__", lambda self, _function=_function: _function(self.tensor).item())

MATHS: dict[str, Function] = {
    "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "exp": torch.exp, "expm1": torch.expm1, "sqrt": torch.sqrt, "tanh": torch.tanh,
    "fabs": torch.abs,
}  # fmt: skip
"""Functions of `math` that follow a number."""


def followed(name: str) -> Callable[..., Any]:
    """A function of `math` that follows numbers, and is itself for all others."""
    real = getattr(math, name)

    def function(x: Any, *rest: Any) -> Any:
        if not isinstance(x, Number):
            return real(x, *rest)
        value = MATHS[name](x.tensor).item()
        return value / real(*rest) if rest else value

    return function
