"""Planted faults of `filter_logits`. Each is a subject; the catalogue says what is wrong with it."""

import math

from torch import Tensor

import specverify as sv


def _top_k(logits: Tensor, k: int) -> Tensor:
    border = logits.topk(min(k, logits.shape[-1]), -1).values[..., -1:]
    return logits.masked_fill(logits < border, -math.inf)


def _mass_before(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Mass of what is more probable, in sorted order, and the order."""
    ordered, order = logits.sort(-1, descending=True)
    mass = ordered.double().softmax(-1)
    return mass.cumsum(-1) - mass, order


@sv.subject("filter_logits", name="top-k-one-short", batch=True)
def top_k_one_short(logits: Tensor, top_k: int, top_p: float) -> Tensor:  # noqa: ARG001
    border = logits.topk(min(top_k, logits.shape[-1]), -1).values[..., -1:]
    return logits.masked_fill(logits <= border, -math.inf)


@sv.subject("filter_logits", name="top-p-empties-rows", batch=True)
def top_p_empties_rows(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    if top_p == 1:
        return _top_k(logits, top_k)
    before, order = _mass_before(logits)
    mass = logits.double().softmax(-1).gather(-1, order)
    drop = (before + mass >= top_p).scatter(-1, order, before + mass >= top_p)
    return logits.masked_fill(drop, -math.inf)


@sv.subject("filter_logits", name="top-p-not-unsorted", batch=True)
def top_p_not_unsorted(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    if top_p == 1:
        return _top_k(logits, top_k)
    before, _ = _mass_before(logits)
    return logits.masked_fill(before >= top_p, -math.inf)


@sv.subject("filter_logits", name="top-k-ignored", batch=True)
def top_k_ignored(logits: Tensor, top_k: int, top_p: float) -> Tensor:  # noqa: ARG001  that is the fault
    before, order = _mass_before(logits)
    drop = (before >= top_p).scatter(-1, order, before >= top_p)
    return logits if top_p == 1 else logits.masked_fill(drop, -math.inf)


@sv.subject("filter_logits", name="top-p-forgotten-with-top-k", batch=True)
def top_p_forgotten_with_top_k(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    if top_k < logits.shape[-1]:
        return _top_k(logits, top_k)
    before, order = _mass_before(logits)
    drop = (before >= top_p).scatter(-1, order, before >= top_p)
    return logits if top_p == 1 else logits.masked_fill(drop, -math.inf)
