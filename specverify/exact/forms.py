"""The laws of the numbers that generators draw: on which grid they lie, and the ideal ones that they stand for."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from specverify.exact.space import Form


@functools.cache
def even(dtype: torch.dtype, low: float, high: float, bits: int) -> Form:
    """Uniform numbers on a generator's grid of that many bits."""
    family = ("uniform", low, high, dtype)
    if (low, high) != (0.0, 1.0):
        values: Callable[[Tensor], Tensor] = lambda k: (k.double() * 2.0**-bits).to(dtype) * (high - low) + low  # noqa: E731
        return Form(family, bits, values, lambda u: u * (high - low) + low, _looked_up(values))
    if dtype in (torch.float16, torch.bfloat16):
        return Form(family, bits, _half(dtype), lambda u: u, _looked_up(_half(dtype)))
    return Form(family, bits, lambda k: (k.double() * 2.0**-bits).to(dtype), lambda u: u, lambda k: k * 2.0**-bits)


@functools.cache
def smooth(dtype: torch.dtype, low: float, high: float, bits: int) -> Form:
    """Without the generator's grid: real numbers, as near as the dtype comes to them; neither 0 nor 1 is one."""
    below_one = 1 - torch.finfo(dtype).eps / 2
    values: Callable[[Tensor], Tensor] = lambda k: ((k.double() + 0.5) * 2.0**-bits).to(dtype).clamp(max=below_one) * (high - low) + low  # noqa: E731
    return Form(("smooth", low, high, dtype), bits, values, lambda u: u * (high - low) + low, _looked_up(values))


def _looked_up(values: Callable[[Tensor], Tensor]) -> Callable[[int], float]:
    return lambda k: float(values(torch.tensor([k])))


def _half(dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """The grid of 24 bits rounded to `dtype`, where 1 becomes 0; the indices are turned, so that the values only grow."""
    size = 2**24
    top = math.ceil(size * (1 - (2.0**-12 if dtype == torch.float16 else 2.0**-9)))

    def values(k: Tensor) -> Tensor:
        rounded = ((k + top) % size).double().mul(1 / size).to(dtype)
        return torch.where(rounded == 1, 0, rounded)

    return values


@functools.cache
def waiting(dtype: torch.dtype, rate: float, bits: int) -> Form:
    """Exponential numbers, as ideal ones."""
    ideal: Callable[[Tensor], Tensor] = lambda u: -torch.log1p(-u) / rate  # noqa: E731
    values: Callable[[Tensor], Tensor] = lambda k: ideal((k.double() + 0.5) * 2.0**-bits).to(dtype)  # noqa: E731
    return Form(("exponential", rate, dtype), bits, values, ideal, _looked_up(values))


@functools.cache
def bell(dtype: torch.dtype, mean: float, std: float, bits: int) -> Form:
    """Normal numbers, as ideal ones."""
    ideal: Callable[[Tensor], Tensor] = lambda u: torch.special.ndtri(u) * std + mean  # noqa: E731
    values: Callable[[Tensor], Tensor] = lambda k: ideal((k.double() + 0.5) * 2.0**-bits).to(dtype)  # noqa: E731
    return Form(("normal", mean, std, dtype), bits, values, ideal, _looked_up(values))


@functools.cache
def latest(dtype: torch.dtype, place: float, scale: float, bits: int) -> Form:
    """Gumbel numbers, as ideal ones."""
    ideal: Callable[[Tensor], Tensor] = lambda u: place - (-u.log()).log() * scale  # noqa: E731
    values: Callable[[Tensor], Tensor] = lambda k: ideal((k.double() + 0.5) * 2.0**-bits).to(dtype)  # noqa: E731
    return Form(("gumbel", place, scale, dtype), bits, values, ideal, _looked_up(values))
