"""Planted faults of `repeat_kv`. Each is a subject; the catalogue says what is wrong with it."""

from torch import Tensor

import specverify as sv


@sv.subject("repeat_kv", name="heads-tiled")
def heads_tiled(kv: Tensor, n: int) -> Tensor:
    return kv.repeat(1, n, 1, 1)


@sv.subject("repeat_kv", name="times-and-heads-mixed")
def times_and_heads_mixed(kv: Tensor, n: int) -> Tensor:
    batch, heads, length, width = kv.shape
    return kv.repeat_interleave(n, 2).reshape(batch, heads * n, length, width)
