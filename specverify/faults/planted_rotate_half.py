"""Planted faults of `rotate_half`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


@sv.subject("rotate_half", name="halves-swapped-without-the-sign")
def halves_swapped_without_the_sign(x: Tensor) -> Tensor:
    return x.roll(x.shape[-1] // 2, -1)


@sv.subject("rotate_half", name="turned-the-other-way")
def turned_the_other_way(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat([x[..., half:], -x[..., :half]], -1)
