"""Random numbers around a subject: seeding every generator, and boundary draws put in their place. Runs in the subject's interpreter."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

BELOW_ONE = {"float64": 1 - 2.0**-53, "float32": 1 - 2.0**-24, "float16": 1 - 2.0**-11, "bfloat16": 1 - 2.0**-8}
"""The greatest value below 1 of each dtype: what a uniform on [0, 1) can reach."""


def part(key: int, name: str) -> int:
    """A 62-bit seed of its own for each generator: two that share one may give the same numbers, and nothing would be independent."""
    return int.from_bytes(hashlib.blake2b(f"{key}/{name}".encode(), digest_size=8).digest(), "little") >> 2


def seed_everything(key: int) -> None:
    """Seed the global generators of Python, numpy (its legacy one) and torch, where they are loaded, each with its part of the key."""
    random.seed(part(key, "python"))
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(part(key, "numpy") % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(part(key, "torch"))


@dataclass
class _Place:
    """One place in the sequence of uniform numbers that is given a bound; all others are as drawn."""

    value: float
    place: int
    passed: int = 0
    dtype: str = ""

    def settle(self, numbers: list[float], dtype: str = "float64") -> list[float]:
        """The next numbers of the sequence, with the bound put in if its place is among them."""
        here = self.place - self.passed
        self.passed += len(numbers)
        if 0 <= here < len(numbers):
            numbers[here], self.dtype = min(self.value, BELOW_ONE.get(dtype, BELOW_ONE["float64"])), dtype
        return numbers


@contextmanager
def put_uniform(value: float, place: int) -> Iterator[Callable[[], tuple[int, str]]]:
    """Put a value in the place of one uniform number, the `place`-th that is drawn; all others are real draws.

    A value of 1 becomes the greatest below 1 that the number's dtype has.

    torch.rand, rand_like, Tensor.uniform_, random.random and numpy.random.random are watched while the context lasts. What a
    subject captured by `from torch import rand` before, and every other primitive, draws as usual.

    Yields:
        A function that tells how many uniform numbers were drawn so far, and the dtype of the one that was put ("" if none was).
    """
    chosen = _Place(value, place)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(random, "random", _scalar(chosen, random.random)))
        if "numpy" in sys.modules:
            numpy = sys.modules["numpy"]
            stack.enter_context(mock.patch.object(numpy.random, "random", _shaped(chosen, numpy)))
        if "torch" in sys.modules:
            _patch_torch(stack, sys.modules["torch"], chosen)
        yield lambda: (chosen.passed, chosen.dtype)


def _scalar(chosen: _Place, real: Callable[[], float]) -> Callable[[], float]:
    return lambda: chosen.settle([real()])[0]


def _shaped(chosen: _Place, numpy: Any) -> Callable[..., Any]:
    real = numpy.random.random

    def random_(size: Any = None) -> Any:
        drawn = real(size)
        settled = chosen.settle(numpy.ravel(drawn).tolist())
        return settled[0] if size is None else numpy.array(settled).reshape(drawn.shape)

    return random_


def _patch_torch(stack: ExitStack, torch: Any, chosen: _Place) -> None:
    uniform = torch.Tensor.uniform_

    def settled(tensor: Any) -> Any:
        numbers = chosen.settle(tensor.detach().double().reshape(-1).tolist(), str(tensor.dtype).removeprefix("torch."))
        return tensor.detach().copy_(torch.tensor(numbers, dtype=torch.float64).reshape(tensor.shape))

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **keywords: settled(real(*arguments, **keywords))

    def uniform_(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
        drawn = uniform(tensor, *arguments, **keywords)
        bounds = {"from": 0.0, "to": 1.0, **keywords, **dict(zip(("from", "to"), arguments, strict=False))}
        return settled(drawn) if (bounds["from"], bounds["to"]) == (0.0, 1.0) else drawn

    stack.enter_context(mock.patch.object(torch, "rand", watched(torch.rand)))
    stack.enter_context(mock.patch.object(torch, "rand_like", watched(torch.rand_like)))
    stack.enter_context(mock.patch.object(torch.Tensor, "uniform_", uniform_))
