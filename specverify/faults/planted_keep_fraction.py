"""Planted faults of `keep_fraction`. Each is a subject; the catalogue says what is wrong with it."""

import math

from torch import Tensor

import specverify as sv


@sv.subject("keep_fraction", name="fraction-rounded-down", batch=True)
def fraction_rounded_down(logits: Tensor, thres: float) -> Tensor:
    k = max(1, math.floor((1 - thres) * logits.shape[-1]))
    return logits.masked_fill(logits < logits.topk(k, -1).values[..., -1:], -math.inf)


@sv.subject("keep_fraction", name="fraction-of-the-smallest", batch=True)
def fraction_of_the_smallest(logits: Tensor, thres: float) -> Tensor:
    k = max(1, math.ceil((1 - thres) * logits.shape[-1]))
    return logits.masked_fill(logits > logits.topk(k, -1, largest=False).values[..., -1:], -math.inf)
