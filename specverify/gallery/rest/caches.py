"""The caches: made, emptied, written, cut and kept, and what they must hold then."""

from types import SimpleNamespace
from typing import Any

import torch
from rest.model import kv_cache, utils
from torch import Tensor

AHEAD = 64
"""Positions that a cache of ours has room for."""
WIDE = 8
"""Width of memory, for rows of up to as much."""


def caches(layers: int, heads: int, width: int, room: int = AHEAD) -> Any:
    """(pairs, data, lengths) as `initialize_past_key_values` makes them, of a model that has a config alone."""
    sizes = {"num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads, "hidden_size": heads * width, "head_dim": width}
    config = SimpleNamespace(**sizes, max_position_embeddings=room)
    return kv_cache.initialize_past_key_values(SimpleNamespace(config=config, device=torch.device("cpu"), dtype=torch.float32))


def made(layers: int, heads: int, width: int) -> list[Any]:
    """The right caches: empty, of these sizes, each with memory of its own."""
    return [[2 * layers, 1, heads, AHEAD, width], [0] * 2 * layers, [float(i) for i in range(2 * layers)]]


def initialize_past_key_values(layers: int, heads: int, width: int) -> list[Any]:
    """The shape of all memory, the lengths, and what each cache holds after a number of its own was written into every one."""
    pairs, data, lengths = caches(layers, heads, width)
    flat = [cache for pair in pairs for cache in pair]
    written = [cache.cat(torch.full((1, heads, 1, width), float(i))) for i, cache in enumerate(flat)]
    data, lengths = (part[0] if isinstance(part, (list, tuple)) else part for part in (data, lengths))
    emptied = [int(n) - 1 for n in lengths]
    return [list(data.shape), emptied, [float(one.flatten()[0]) for one in written]]


def cleared(layers: int, heads: int, width: int) -> list[int]:
    """The right lengths after a reset."""
    return [0] * 2 * layers


def reset_past_key_values(layers: int, heads: int, width: int) -> list[int]:
    """The lengths that caches have after it, and that they are those of the list it was given."""
    pairs, _, _ = caches(layers, heads, width)
    for pair in pairs:
        for each in pair:
            each.cat(torch.ones(1, heads, 2, width))
    back = utils.reset_past_key_values(pairs)
    return [int(cache.shape[2]) for pair in back for cache in pair]


def history(rows: Tensor, more: Tensor, keep: list[int], before: int) -> list[Tensor]:
    """What a cache holds after two appends, and after keeping some rows behind the first ones."""
    whole = torch.cat((rows, more))
    before, kept = min(before, len(whole)), [i % len(whole) for i in keep]
    return [whole, torch.cat((whole[:before], whole[kept])), torch.tensor([before + len(kept)])]


def holds(rows: Tensor, more: Tensor, keep: list[int], before: int, found: Any) -> bool:
    """Whether a cache holds its history; one without rows is not asked."""
    return len(rows) + len(more) == 0 or alike(found, history(rows, more, keep, before))


def alike(found: Any, right: list[Tensor]) -> bool:
    """Whether arrays are equal, one by one."""
    return len(found) == len(right) and all(a.shape == b.shape and torch.equal(a.double(), b.double()) for a, b in zip(found, right, strict=True))


def kept(rows: Tensor, more: Tensor, keep: list[int], before: int) -> list[Tensor]:
    """Its rows after `cat` twice, then after `copy`, and its length then."""
    if len(rows) + len(more) == 0:
        return []
    cache = kv_cache.KVCache(torch.zeros(1, 1, AHEAD, 2), torch.tensor(0))
    cache.cat(rows[None, None])
    whole = cache.cat(more[None, None])[0, 0].clone()
    before, places = min(before, len(whole)), torch.tensor([i % len(whole) for i in keep])
    cache.copy(places, before, dim=2)
    return [whole, cache.data[0, 0, : int(cache.shape[2])].clone(), torch.tensor([int(cache.shape[2])])]


class Cache:
    """Its caches of two layers, with one head, as one: the same rows in all."""

    def __init__(self, capacity: int) -> None:
        self.pairs, _, self.lengths = caches(2, 1, WIDE, capacity)
        self.width = 0

    def append(self, k: Tensor, v: Tensor) -> None:
        """By `cat`; rows are filled up to the width of the memory."""
        self.width = k.shape[1]
        for each in self.pairs:
            for one, rows in zip(each, (k, v), strict=True):
                one.cat(torch.nn.functional.pad(rows, (0, WIDE - self.width))[None, None])

    def length(self) -> int:
        """As its shape tells."""
        return int(self.pairs[0][0].shape[2])

    def rollback(self, to_length: int) -> None:
        """By the lengths, which the caches share; a length that is not there is refused here."""
        if not 0 <= to_length <= self.length():
            raise ValueError(f"there are {self.length()} rows, not {to_length}")
        self.lengths.fill_(to_length)

    def rows(self) -> tuple[Tensor, Tensor]:
        """Those of the first layer; an error where layers that were told the same differ."""
        first, second = ([cache.data[0, 0, : int(cache.shape[2]), : self.width].clone() for cache in each] for each in self.pairs)
        if not all(torch.equal(a, b) for a, b in zip(first, second, strict=True)):
            raise AssertionError("layers that were told the same rows hold different ones")
        return first[0], first[1]

    def select(self, kept: list[int]) -> None:
        """By `copy` to the start."""
        for each in self.pairs:
            for one in each:
                one.copy(torch.tensor(kept, dtype=torch.long), 0, dim=2)

    def reset(self) -> None:
        """By `reset_past_key_values`."""
        self.pairs = utils.reset_past_key_values(self.pairs)
