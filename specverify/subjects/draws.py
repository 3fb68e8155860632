"""Random numbers around a subject: seeding every generator, and boundary draws put in their place. Runs in the subject's interpreter."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

LOW, TOP, MIDDLE = "low", "top", "middle"
"""The least value of a uniform generator, the greatest, and one half."""

BELOW_ONE = {"float64": 1 - 2.0**-53, "float32": 1 - 2.0**-24, "float16": 1 - 2.0**-11, "bfloat16": 1 - 2.0**-8}
"""The greatest value below 1 of each dtype: what a uniform on [0, 1) can reach."""


def seed_everything(key: int) -> None:
    """Seed the global generators of Python, numpy (its legacy one) and torch, where they are loaded."""
    random.seed(key)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(key % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(key % 2**63)


REPLACED = 4096
"""Numbers that a pattern replaces; then draws are real again, so that a loop which turns down every boundary value ends."""


class _Pattern:
    """Boundary values in turn, and how many were taken."""

    def __init__(self, words: Sequence[str]) -> None:
        self._turn, self.taken = itertools.cycle(words), 0

    @property
    def spent(self) -> bool:
        return self.taken >= REPLACED

    def value(self, dtype: str = "float64") -> float:
        self.taken += 1
        return {LOW: 0.0, TOP: BELOW_ONE.get(dtype, BELOW_ONE["float64"]), MIDDLE: 0.5}[next(self._turn)]


@contextmanager
def boundary_draws(words: Sequence[str]) -> Iterator[Callable[[], int]]:
    """Replace uniform draws by boundary values, taken in turn from a pattern of "low", "top" and "middle".

    torch.rand, rand_like, Tensor.uniform_, random.random and numpy.random.random are replaced while the context lasts. What a
    subject captured by `from torch import rand` before, and every other primitive, draws as usual.

    Yields:
        A function that tells how many numbers were replaced so far.
    """
    pattern = _Pattern(words)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(random, "random", _scalar(pattern, random.random)))
        if "numpy" in sys.modules:
            numpy = sys.modules["numpy"]
            stack.enter_context(mock.patch.object(numpy.random, "random", _shaped(pattern, numpy)))
        if "torch" in sys.modules:
            _patch_torch(stack, sys.modules["torch"], pattern)
        yield lambda: pattern.taken


def _scalar(pattern: _Pattern, real: Callable[[], float]) -> Callable[[], float]:
    return lambda: real() if pattern.spent else pattern.value()


def _shaped(pattern: _Pattern, numpy: Any) -> Callable[..., Any]:
    real = numpy.random.random

    def random_(size: Any = None) -> Any:
        if pattern.spent:
            return real(size)
        drawn = [pattern.value() for _ in range(int(numpy.prod(size if size is not None else 1)))]
        return drawn[0] if size is None else numpy.array(drawn).reshape(size)

    return random_


def _patch_torch(stack: ExitStack, torch: Any, pattern: _Pattern) -> None:
    uniform = torch.Tensor.uniform_

    def fill(tensor: Any) -> Any:
        if pattern.spent:
            return tensor
        name = str(tensor.dtype).removeprefix("torch.")
        values = torch.tensor([pattern.value(name) for _ in range(tensor.numel())], dtype=torch.float64)
        return tensor.detach().copy_(values.reshape(tensor.shape))

    def filled(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **keywords: fill(real(*arguments, **keywords))

    def uniform_(tensor: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
        drawn = uniform(tensor, low, high, generator=generator)
        return fill(drawn) if (low, high) == (0.0, 1.0) else drawn

    stack.enter_context(mock.patch.object(torch, "rand", filled(torch.rand)))
    stack.enter_context(mock.patch.object(torch, "rand_like", filled(torch.rand_like)))
    stack.enter_context(mock.patch.object(torch.Tensor, "uniform_", uniform_))
