"""Planted faults of `positive_part`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


@sv.subject("positive_part", name="max-as-normaliser", batch=True)
def max_as_normaliser(x: Tensor) -> Tensor:
    positive = x.clamp(min=0)
    return positive / positive.amax(-1, keepdim=True)


@sv.subject("positive_part", name="absolute-residual", batch=True)
def absolute_residual(x: Tensor) -> Tensor:
    return x.abs() / x.abs().sum(-1, keepdim=True)


@sv.subject("positive_part", name="softmax-residual", batch=True)
def softmax_residual(x: Tensor) -> Tensor:
    return torch.softmax(x.clamp(min=0), -1)


@sv.subject("positive_part", name="floor-in-residual", batch=True)
def floor_in_residual(x: Tensor) -> Tensor:
    positive = x.clamp(min=1e-6)
    return positive / positive.sum(-1, keepdim=True)


@sv.subject("positive_part", name="batch-normaliser", batch=True)
def batch_normaliser(x: Tensor) -> Tensor:
    positive = x.clamp(min=0)
    return positive / positive.sum()
