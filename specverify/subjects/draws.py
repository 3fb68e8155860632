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


@contextmanager
def boundary_draws(pattern: Sequence[str]) -> Iterator[Callable[[], int]]:
    """Replace uniform draws by boundary values, taken in turn from a pattern of "low", "top" and "middle".

    torch.rand, rand_like, Tensor.uniform_, random.random and numpy.random.random are replaced while the context lasts. What a
    subject captured by `from torch import rand` before, and every other primitive, draws as usual.

    Yields:
        A function that tells how many draws were replaced so far.
    """
    turn, taken = itertools.cycle(pattern), itertools.count()
    used = 0

    def value(dtype: str) -> float:
        nonlocal used
        used = next(taken) + 1
        return {LOW: 0.0, TOP: BELOW_ONE.get(dtype, BELOW_ONE["float64"]), MIDDLE: 0.5}[next(turn)]

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(random, "random", lambda: value("float64")))
        if "numpy" in sys.modules:
            stack.enter_context(mock.patch.object(sys.modules["numpy"].random, "random", _numpy_random(value)))
        if "torch" in sys.modules:
            _patch_torch(stack, sys.modules["torch"], value)
        yield lambda: used


def _numpy_random(value: Callable[[str], float]) -> Callable[..., Any]:
    import numpy as np

    def random_(size: Any = None) -> Any:
        if size is None:
            return value("float64")
        return np.array([value("float64") for _ in range(int(np.prod(size)))]).reshape(size)

    return random_


def _patch_torch(stack: ExitStack, torch: Any, value: Callable[[str], float]) -> None:
    rand, rand_like, uniform = torch.rand, torch.rand_like, torch.Tensor.uniform_

    def fill(tensor: Any) -> Any:
        name = str(tensor.dtype).removeprefix("torch.")
        values = [value(name) for _ in range(tensor.numel())]
        return tensor.detach().copy_(torch.tensor(values, dtype=torch.float64).reshape(tensor.shape))

    def uniform_(tensor: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
        unit = (low, high) == (0.0, 1.0)
        return fill(tensor) if unit else uniform(tensor, low, high, generator=generator)

    stack.enter_context(mock.patch.object(torch, "rand", lambda *a, **k: fill(rand(*a, **k))))
    stack.enter_context(mock.patch.object(torch, "rand_like", lambda *a, **k: fill(rand_like(*a, **k))))
    stack.enter_context(mock.patch.object(torch.Tensor, "uniform_", uniform_))
