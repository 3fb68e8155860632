"""Rows over large vocabularies, named by (family, seed) and built alike on both sides of the pipe.

Only additions, multiplications and divisions of IEEE doubles and `random.Random` are used, so the bytes are the same on every platform.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from specverify.contracts.arrays import Array, array


@dataclass(frozen=True)
class Family:
    """Rows that are described, not listed.

    Attributes:
        name: one of FAMILIES.
        seed: picks the rows among their family.
        dtype: of the array it stands for.
        shape: (..., V).
    """

    name: str
    seed: int
    dtype: str
    shape: tuple[int, ...]

    def expand(self) -> Array:
        """The array itself."""
        rng = random.Random(f"{self.name}/{self.seed}")
        rows = [FAMILIES[self.name](self.shape[-1], rng) for _ in range(math.prod(self.shape[:-1]))]
        return array(self.dtype, self.shape, (x for row in rows for x in row))


def _normalised(weights: list[float]) -> list[float]:
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _zipf(width: int, rng: random.Random) -> list[float]:
    """Weights 1, 1/2, 1/3 … in random places."""
    weights = [1.0 / (rank + 1) for rank in range(width)]
    rng.shuffle(weights)
    return _normalised(weights)


def _sparse(width: int, rng: random.Random) -> list[float]:
    """A handful of tokens carry everything, the first and the last of the vocabulary never."""
    weights = [0.0] * width
    for token in rng.sample(range(1, width - 1), min(5, width - 2)):
        weights[token] = float(rng.randint(1, 8))
    return _normalised(weights)


def _edges(width: int, rng: random.Random) -> list[float]:
    """Only the first and the last token of the vocabulary."""
    weights = [0.0] * width
    weights[0], weights[-1] = float(rng.randint(1, 4)), float(rng.randint(1, 4))
    return _normalised(weights)


def _difference(width: int, rng: random.Random) -> list[float]:
    """P - q of two Zipf rows: what a residual starts from."""
    return [a - b for a, b in zip(_zipf(width, rng), _zipf(width, rng), strict=True)]


FAMILIES: dict[str, Callable[[int, random.Random], list[float]]] = {"zipf": _zipf, "sparse": _sparse, "edges": _edges, "difference": _difference}


def expand(value: object) -> object:
    """A family's array; anything else as it is."""
    return value.expand() if isinstance(value, Family) else value
