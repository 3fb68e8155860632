"""Many arguments as one object, made in the subject's world. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specverify.contracts.arrays import FLOATS, Array, array

Into = Callable[[Array], Any]
"""From plain values to the subject's kind of array."""

SCRATCH = "scratch"
"""The view of buffers for output."""
BLANK = 0
"""What fills a buffer that the subject does not declare in `scratch`."""


@dataclass(frozen=True)
class Bundle:
    """What a contract's one argument will be, before it is known which arrays the subject takes."""

    make: Callable[[Into], Any]


class Handed:
    """The arrays of one call, each made once, so that what a kernel writes into one stays written. A name is a view's, a slash, and what it holds there."""

    def __init__(self, into: Into) -> None:
        self._into = into
        self.kept: dict[str, tuple[Array, Any]] = {}

    def give(self, name: str, make: Callable[[], Array]) -> Any:
        """The array of that name in the subject's world."""
        if name not in self.kept:
            plain = make()
            self.kept[name] = (plain, self._into(plain))
        return self.kept[name][1]

    def written(self, plain: Callable[[Any], object]) -> list[str]:
        """What was written into, but for buffers; `plain` reads an array back. As text, in which NaN is what it was."""
        given = [(name.rpartition("/"), pair) for name, pair in self.kept.items()]
        return [name for (view, _, name), (before, now) in given if view != SCRATCH and repr(plain(now)) != repr(plain(self._into(before)))]


def filled(dtype: str, shape: tuple[int, ...], poison: float) -> Array:
    """A buffer as an engine finds it: floats are NaN where the others are poisoned."""
    size = 1
    for side in shape:
        size *= side
    return array(dtype, shape, [float("nan") if dtype in FLOATS and poison else poison] * size)


def poison_of(case: Mapping[str, object], name: str) -> float:
    """What stands in a buffer: the case's number where the subject declares it as scratch."""
    declared, poison = case.get("scratch", ()), case.get("poison", BLANK)
    assert isinstance(declared, (list, tuple))
    return poison if name in declared and isinstance(poison, int) else BLANK
