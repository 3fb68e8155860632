"""A probability law over finitely many outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Outcome = Any
"""A hashable value: nested tuples of ints, bools and strings; an exception is ("raised", TypeName)."""


def freeze(value: object) -> Outcome:
    """Turn nested lists (as JSON brings them) into the nested tuples that an outcome is."""
    return tuple(freeze(item) for item in value) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Law:
    """Outcomes with their probabilities; those of probability zero are left out.

    Attributes:
        probabilities: outcome to probability; they sum to 1 within rounding.
    """

    probabilities: Mapping[Outcome, float]

    @classmethod
    def of(cls, weights: Mapping[Outcome, float]) -> Law:
        """The law proportional to non-negative weights."""
        total = math.fsum(weights.values())
        return cls({outcome: weight / total for outcome, weight in weights.items() if weight > 0})

    @classmethod
    def empirical(cls, counts: Mapping[Outcome, int]) -> Law:
        """The relative frequencies of counts."""
        return cls.of(counts)

    def __getitem__(self, outcome: Outcome) -> float:
        return self.probabilities.get(outcome, 0.0)

    def total_variation(self, other: Law) -> float:
        """Half the L1 distance, a number from 0 to 1."""
        support = self.probabilities.keys() | other.probabilities.keys()
        return math.fsum(abs(self[x] - other[x]) for x in support) / 2

    def project(self, onto: Callable[[Outcome], Outcome]) -> Law:
        """The law of a function of the outcome."""
        image: dict[Outcome, float] = {}
        for outcome, probability in self.probabilities.items():
            image[onto(outcome)] = image.get(onto(outcome), 0.0) + probability
        return Law(image)


def product_law(rows: Iterable[Sequence[float]]) -> Law:
    """The law of independent tokens, one from each row; outcomes are tuples of token ids. Rows are normalised first."""
    columns = []
    for row in rows:
        total = math.fsum(row)
        columns.append([(token, weight / total) for token, weight in enumerate(row) if weight > 0])
    cells = itertools.product(*columns)
    masses = {tuple(token for token, _ in cell): math.prod(weight for _, weight in cell) for cell in cells}
    return Law({outcome: mass for outcome, mass in masses.items() if mass > 0})  # a product of subnormals may be none
