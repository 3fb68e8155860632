"""Planted faults of `residual`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


@sv.subject("residual", name="difference-unclamped", batch=True)
def difference_unclamped(p: Tensor, q: Tensor) -> Tensor:
    return (p - q) / (p - q).clamp(min=0).sum(-1, keepdim=True)


@sv.subject("residual", name="residual-reversed", batch=True)
def residual_reversed(p: Tensor, q: Tensor) -> Tensor:
    left = (q - p).clamp(min=0)
    return left / left.sum(-1, keepdim=True)


@sv.subject("residual", name="residual-over-mass-of-p", batch=True)
def residual_over_mass_of_p(p: Tensor, q: Tensor) -> Tensor:
    left = (p - q).clamp(min=0)
    return left / torch.where(p > q, p, 0).sum(-1, keepdim=True)


@sv.subject("residual", name="residual-lifted", batch=True)
def residual_lifted(p: Tensor, q: Tensor) -> Tensor:
    left = (p - q).clamp(min=0) + 1e-4
    return left / left.sum(-1, keepdim=True)
