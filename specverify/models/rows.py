"""A cache of tuples behind a model that is asked for ids: rows appended to it by a class that keeps such a cache, and read back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from specverify.models.tuples import SEQUENCE

LAYERS = 2
"""Enough for one that is forgotten to differ from the other."""
VOCABULARY = 2
"""Of the logits, of which nothing is wanted."""


class RowsModel:
    """A model whose key and value of each id are the next rows that it was told, the same in each layer."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        self.k = self.v = torch.empty(0)

    def __call__(self, input_ids: Tensor, past_key_values: Any = None, **_rest: Any) -> SimpleNamespace:
        """Logits (1, T, V), all 0, and the cache with a row more for each id."""
        fresh = [part[-input_ids.shape[1] :][None, None] for part in (self.k, self.v)]
        past = past_key_values or [[part[:, :, :0] for part in fresh]] * LAYERS
        grown = tuple(tuple(torch.cat((old, new), SEQUENCE) for old, new in zip(layer, fresh, strict=True)) for layer in past)
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, VOCABULARY), past_key_values=grown)


class ModelCache:
    """The contract `kv_cache` over a class that keeps the cache of a model: `generate(ids, 1)` reads the ids that are new to it, `rollback(n)` keeps n.

    Args:
        make: a new object of that class, for a model.
    """

    def __init__(self, make: Any) -> None:
        self.model, self.make, self.count = RowsModel(), make, 0
        self.cache = make(self.model)

    def append(self, k: Tensor, v: Tensor) -> None:
        """Rows of as many ids more."""
        if len(k):
            self.model.k, self.model.v = k.clone(), v.clone()
            self.count += len(k)
            self.cache.generate(torch.zeros(1, self.count, dtype=torch.long), 1)

    def length(self) -> int:
        """Rows that it holds."""
        return len(self.rows()[0])

    def rollback(self, to_length: int) -> None:
        """To no row at all is a new object: a loop never goes back behind its prompt."""
        if to_length == 0:
            self.cache = self.make(self.model)
        elif to_length < self.count:
            self.cache.rollback(to_length)
        self.count = min(self.count, to_length)

    def rows(self) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer; an error where layers that were told the same differ."""
        if self.cache._past_key_values is None:  # noqa: SLF001  as the page names it
            return torch.empty(0), torch.empty(0)
        first, *others = self.cache._past_key_values  # noqa: SLF001
        if not all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True)):
            raise AssertionError("layers that were told the same rows hold different ones")
        return first[0][0, 0], first[1][0, 0]
