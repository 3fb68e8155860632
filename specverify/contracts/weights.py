"""A real model as data of a case: random weights, made again from a seed wherever they are needed. Standard library only."""

from __future__ import annotations

from typing import Any, NamedTuple

VOCABULARY = 32
"""Ids of such a model: many enough that a wrong row seldom has the right token ahead, few enough that drafts of a shaken model are often right."""


class Weights(NamedTuple):
    """What a model is made of.

    Attributes:
        seed: of the weights.
        shaken: by how much others are mixed in, in percent: 0 is the model itself, 10 a drafter that is often right, 100 hardly ever.
        dtype: in which it computes.
    """

    seed: int
    shaken: int
    dtype: str


def is_weights(value: Any) -> bool:
    """Whether an argument of a case is a seed and a percentage."""
    return isinstance(value, list) and [type(one) for one in value] == [int, int] and all(one >= 0 for one in value)
