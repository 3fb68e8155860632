"""A table as the model that many loops are written for: called with ids and a cache of tuples, (k, v) for each layer with the sequence on axis 2.

The cache holds ids and positions in the place of keys and values (`cached`): one that is stale, shifted or not cut gives another row, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from specverify.contracts.table_models import Prefix
from specverify.models.cached import read
from specverify.models.seen import NO_MASS

SEQUENCE = 2
"""The axis of keys and values that grows."""


class TupleCache:
    """What `read` asks of a cache, over one layer's tuple (k, v), or none."""

    def __init__(self, past: Any) -> None:
        self.layers = tuple(past) if past is not None else ()

    def get_seq_length(self) -> int:
        """Ids that it holds."""
        return int(self.layers[0][0].shape[SEQUENCE]) if self.layers else 0

    def update(self, keys: Tensor, values: Tensor, _layer: int, _how: Any) -> tuple[Tensor, Tensor]:
        """All keys and values, these added."""
        old = self.layers[0] if self.layers else (keys[:, :, :0], values[:, :, :0])
        self.layers = ((torch.cat((old[0], keys), SEQUENCE), torch.cat((old[1], values), SEQUENCE)),)
        return self.layers[0]


class TupleModel:
    """A model that returns `.logits` (B, T, V) and `.past_key_values`.

    Args:
        rows: a prefix to the row (V,) of probabilities behind it, such as a `TableModel`.
    """

    device = torch.device("cpu")
    training = False

    def __init__(self, rows: Callable[[Prefix], Tensor]) -> None:
        self.rows = rows

    def eval(self) -> TupleModel:
        """Itself, as of a module."""
        return self

    def __call__(self, input_ids: Tensor, past_key_values: Any = None, **_rest: Any) -> SimpleNamespace:
        """Logits behind each of the ids, which follow those of the cache; the cache that is given stays as it is."""
        cache = TupleCache(past_key_values)
        seen = read(cache, input_ids, None, None, None)
        logits = torch.stack([torch.stack([self.rows(one).log().clamp(min=NO_MASS) for one in row]) for row in seen])
        return SimpleNamespace(logits=logits, past_key_values=cache.layers)
