"""Planted faults of `warp`. Each is a subject; the catalogue says what is wrong with it."""

import math

from torch import Tensor

import specverify as sv


def _warp(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """The right warper: temperature, top-k with ties kept, top-p with the boundary token kept."""
    logits = logits.double() / max(temperature, 1e-6)
    logits = logits.masked_fill(logits < logits.topk(min(top_k, logits.shape[-1]), -1).values[..., -1:], -math.inf)
    ordered, order = logits.sort(-1, descending=True)
    mass = ordered.softmax(-1)
    drop = mass.cumsum(-1) - mass >= top_p
    return logits.masked_fill(drop.scatter(-1, order, drop), -math.inf).softmax(-1).float()


@sv.subject("warp", name="temperature-ignored", batch=True)
def temperature_ignored(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:  # noqa: ARG001  that is the fault
    return _warp(logits, 1.0, top_k, top_p)


@sv.subject("warp", name="temperature-twice", batch=True)
def temperature_twice(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    return _warp(logits / max(temperature, 1e-6), temperature, top_k, top_p)


@sv.subject("warp", name="kept-not-renormalised", batch=True)
def kept_not_renormalised(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    full = _warp(logits, temperature, logits.shape[-1], 1.0)
    return full * (_warp(logits, temperature, top_k, top_p) > 0)


@sv.subject("warp", name="top-p-of-the-tail", batch=True)
def top_p_of_the_tail(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    if top_p == 1:
        return _warp(logits, temperature, top_k, top_p)
    mass = _warp(logits, temperature, top_k, 1.0)
    ordered, order = mass.sort(-1)
    drop = ordered.cumsum(-1) - ordered >= top_p
    kept = mass.masked_fill(drop.scatter(-1, order, drop), 0)
    return kept / kept.sum(-1, keepdim=True)


@sv.subject("warp", name="filters-in-another-order", batch=True, conventions={"filters": "top_k first"})
def filters_in_another_order(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    width = logits.shape[-1]
    kept = (_warp(logits, temperature, top_k, 1.0) > 0) & (_warp(logits, temperature, width, top_p) > 0)
    return _warp(logits.masked_fill(~kept, -math.inf), temperature, width, 1.0)
