"""Planted faults of `ratio`. Each is a subject; the catalogue says what is wrong with it."""

from torch import Tensor

import specverify as sv


@sv.subject("ratio", name="ratio-reversed", batch=True)
def ratio_reversed(num: Tensor, den: Tensor) -> Tensor:
    return den / num.clamp(min=1e-10)


@sv.subject("ratio", name="ratio-heavy-guard", batch=True)
def ratio_heavy_guard(num: Tensor, den: Tensor) -> Tensor:
    return num / (den + 0.01)


@sv.subject("ratio", name="guard-that-is-none", batch=True, conventions={"eps": 1e-10})
def guard_that_is_none(num: Tensor, den: Tensor) -> Tensor:
    return num / den
