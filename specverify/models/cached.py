"""Ids and positions in the place of keys and values: what each query of a model finds in its cache."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from specverify.contracts.table_models import Prefix
from specverify.models.seen import prefix

PADDING = 2
"""Axes of a mask (B, keys); one for each query has four, (B, 1, T, keys)."""


def read(cache: Any, ids: Tensor, mask: Tensor | None, position: Tensor | None, place: Tensor | None) -> list[list[Prefix]]:
    """What each query of each row sees, these ids added to the cache.

    Args:
        cache: of transformers, or none.
        ids: (B, T).
        mask: of keys (B, keys), of queries and keys (B, 1, T, keys), bool or added to scores, or none.
        position: of each id, (B, T) or (1, T); where it stands in the cache, if none is told.
        place: of each id in the cache, (T,); behind what is there, if none is told.
    """
    start = 0 if cache is None else int(cache.get_seq_length())
    place = torch.arange(start, start + ids.shape[1]) if place is None else place.cpu()
    positions = (place[None].to(ids.device) if position is None else position).expand(ids.shape)
    tokens, places = _kept(cache, ids, positions, place)
    visible = _visible(mask, place, len(tokens), len(tokens[0]))
    return [
        [prefix([entry for entry, seen in zip(zip(at, row, strict=True), query, strict=False) if seen]) for query in queries]
        for row, at, queries in zip(tokens, places, visible, strict=True)
    ]


def as_told(output: type, cache: Any) -> dict[str, Any]:
    """The cache by the name that it has in an output of the library, which changed between versions."""
    return {"past_key_values" if "past_key_values" in {told.name for told in fields(output)} else "cache": cache}


def as_given(model: Any, cache: Any) -> dict[str, Any]:
    """The cache by the name that a model of the library takes it by."""
    return {"cache" if "cache" in signature(model.forward).parameters else "past_key_values": cache}


def _kept(cache: Any, ids: Tensor, positions: Tensor, place: Tensor) -> tuple[list[list[int]], list[list[int]]]:
    """Ids and positions of all that the cache holds, with these added; single precision holds whole numbers up to 2^24."""
    keys, values = ids[:, None, :, None].float(), positions[:, None, :, None].float()
    if cache is not None:
        keys, values = cache.update(keys, values, 0, {"cache_position": place})
    return keys[:, 0, :, 0].long().tolist(), values[:, 0, :, 0].long().tolist()


def _visible(mask: Tensor | None, place: Tensor, batch: int, keys: int) -> list[list[list[bool]]]:
    """(B, T, keys): what each query sees; nothing behind itself."""
    before = (torch.arange(keys)[None] <= place[:, None]).expand(batch, -1, -1)
    if mask is None:
        return _lists(before)
    shown = mask[:, None] if mask.dim() == PADDING else mask[:, 0]
    shown = shown >= 0 if shown.is_floating_point() and mask.dim() > PADDING else shown.bool()
    width = min(keys, shown.shape[-1])
    return _lists(before[..., :width] & shown[..., :width].cpu())


def _lists(seen: Tensor) -> list[list[list[bool]]]:
    lists: list[list[list[bool]]] = seen.tolist()
    return lists
