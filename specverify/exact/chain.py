"""A monotone function of one draw: where on the draw's grid it has the value that it has now.

The borders are found by bisection with the very operations of the function, in its dtypes: no inverse, no tolerance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specverify.exact.space import Grid, Interval, Stop

WAYS = 4096
"""Points of the grid that are looked at in one pass: two passes for 24 bits, five for 53."""
LOOKS = 32
"""Points at which a function that must be monotone is looked at, so that one that is not is seen."""


class Hole:
    """Stands for the chain's value among the arguments of an operation."""


HOLE = Hole()


@dataclass(frozen=True)
class Step:
    """One operation on the chain's value.

    Attributes:
        function: of torch, elementwise.
        arguments: all of them, the value's place held by HOLE; tensors have one element.
        keywords: the rest.
        dtype: in which the value enters, or none for its own.
        key: equal for equal steps, across executions.
    """

    function: Callable[..., Tensor]
    arguments: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    dtype: torch.dtype | None
    key: Hashable

    def __call__(self, x: Tensor) -> Tensor:
        """As the function computes it."""
        x = x if self.dtype is None else x.to(self.dtype)
        return self.function(*(x if one is HOLE else one for one in self.arguments), **dict(self.keywords))

    def ideal(self, x: Tensor) -> Tensor:
        """In doubles, without rounding to a narrower type."""
        keywords = {name: value for name, value in self.keywords if name != "dtype"}
        return self.function(*(x if one is HOLE else _double(one) for one in self.arguments), **keywords)


def _double(one: Any) -> Any:
    return one.double() if isinstance(one, Tensor) and one.is_floating_point() else one


KEPT = 4096
"""Chains, and families of keys, that are remembered; then they are forgotten."""
_CELLS: dict[Hashable, list[Interval]] = {}


def room(cache: dict[Any, Any]) -> None:
    """Forget everything when it is much."""
    if len(cache) >= KEPT:
        cache.clear()


@dataclass(frozen=True)
class Chain:
    """A draw and the operations on it since; `dtype` is that of the last, `stepped` says that one made whole numbers of it."""

    base: Grid
    steps: tuple[Step, ...]
    dtype: torch.dtype
    stepped: bool = False

    @property
    def continuous(self) -> bool:
        """Whether it has too many values to be told apart."""
        return self.dtype.is_floating_point and not self.stepped

    @property
    def key(self) -> Hashable:
        """Equal for chains of the same form, whatever draw they start from."""
        return (self.base.form.family, self.base.form.bits, self.base.inside, *(step.key for step in self.steps))

    def values(self, indices: Tensor) -> Tensor:
        """Its values at indices of the grid, (n,) int64."""
        x: Tensor = self.base.form.values(indices)
        for step in self.steps:
            x = step(x)
        return x

    def ideal(self, points: Tensor) -> Tensor:
        """Its values at points of (0, 1), (n,) float64, without rounding."""
        x: Tensor = self.base.form.ideal(points)
        for step in self.steps:
            x = step.ideal(x)
        return x

    def then(self, step: Step, dtype: torch.dtype, *, stepped: bool = False) -> Chain:
        """With one operation more."""
        return Chain(self.base, (*self.steps, step), dtype, self.stepped or stepped or not dtype.is_floating_point)

    def ends(self) -> Tensor:
        """Its values at the first and the last index that are left of the draw: no other is outside of these."""
        return self.values(torch.tensor([self.base.inside[0], self.base.inside[1] - 1]))

    def cell(self) -> Interval:
        """The indices, within what is left of the draw, at which it has the value of this execution; those of equal chains are found once."""
        known = _CELLS.setdefault(self.key, [])
        found = next((cell for cell in known if cell[0] <= self.base.at < cell[1]), None)
        if found is None:
            found = self._cell(self.base.at, *self.base.inside)
            known.append(found)
            room(_CELLS)
        return found

    def _cell(self, at: int, low: int, high: int) -> Interval:
        """The indices from `low` up to but without `high` at which it has the value that it has at `at`; they are looked at here and there, and must be in one piece."""
        looked = sorted({low, min(low + 1, high - 1), *((low + (high - 1 - low) * i // LOOKS) for i in range(1, LOOKS)), max(high - 2, low), high - 1, at})
        same = functools.partial(self._equals, self.values(torch.tensor([at])))
        flags = same(torch.tensor(looked)).tolist()
        first, last = flags.index(True), len(flags) - flags[::-1].index(True)
        if not all(flags[first:last]):
            raise Stop(f"it reads a function of {self.base.label} that is not monotone")
        start = low if first == 0 else _edge(same, looked[first], looked[first - 1])
        return start, high if last == len(flags) else _edge(same, looked[last - 1], looked[last]) + 1

    def _equals(self, here: Tensor, indices: Tensor) -> Tensor:
        found = self.values(indices)
        return (found == here) | (found.isnan() & here.isnan())

    def cells(self, most: int) -> list[tuple[Interval, Any]] | None:
        """All cells within what is left of the draw, with their values; none if there are more than `most`."""
        low, high = self.base.inside
        found: list[tuple[Interval, Any]] = []
        while low < high:
            if len(found) == most:
                return None
            cell = self._cell(low, low, high)
            found.append((cell, self.values(torch.tensor([low])).item()))
            low = cell[1]
        return found


def _edge(same: Callable[[Tensor], Tensor], inside: int, outside: int) -> int:
    """The last index, on the way from one inside to one outside, at which `same` still holds."""
    while abs(outside - inside) > 1:
        step = 1 if outside > inside else -1
        stride = max(1, abs(outside - inside) // WAYS)
        looked = torch.arange(inside, outside, step * stride)[1:]
        if not looked.numel():
            looked = torch.tensor([(inside + outside) // 2])
        flags = same(looked).tolist()
        first = flags.index(False) if False in flags else len(flags)
        if True in flags[first:]:
            raise Stop("it reads a function of a draw that is not monotone")
        inside, outside = (int(looked[first - 1]) if first else inside), (int(looked[first]) if first < len(flags) else outside)
    return inside
