"""From logits to the law that tokens are drawn from: temperature, top-k, top-p, min-p, in this order.

The same function serves target and draft rows, the bonus row and plain decoding, so that p is one law everywhere (theory: S11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn from logits: the parameters of `warp`, kept together.

    Raises:
        ValueError: a parameter out of its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        _check_parameters(self.temperature, self.top_k, self.top_p, self.min_p)

    def __call__(self, logits: Tensor, *, check: bool = True) -> Tensor:
        """Probabilities, (..., V) float32 or wider."""
        return warp(logits, self.temperature, self.top_k, self.top_p, self.min_p, check=check)


def warp(logits: Tensor, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, *, check: bool = True) -> Tensor:
    """Probabilities of the next token.

    Each filter sees the law that the one before it left. What is off (temperature 1, top_k 0 or at least V, top_p 1, min_p 0)
    changes no bit.

    Args:
        logits: (..., V), any floating dtype; -inf is a token that never comes. Computed in float32, or wider as given.
        temperature: divides the logits; 0 gives all mass to the largest, the lowest index among equals.
        top_k: the k largest stay, those that equal the k-th too.
        top_p: the smallest set of the likeliest tokens whose mass reaches top_p stays, the token that reaches it included (1904.09751).
        min_p: tokens at least min_p times as likely as the likeliest stay.
        check: whether the rows are looked at first, which waits for the device.

    Returns:
        Rows of probabilities, (..., V), float32 or wider.

    Raises:
        ValueError: a parameter out of its range; logits that are NaN or +inf, or a row without a finite one.
    """
    _check_parameters(temperature, top_k, top_p, min_p)
    if check:
        check_logits("logits", logits)
    rows = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if temperature == 0:
        return torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)
    rows = (
        rows if temperature == 1 else (rows - rows.amax(-1, keepdim=True)) / max(temperature, torch.finfo(rows.dtype).tiny)
    )  # the largest is 0: nothing overflows
    if 0 < top_k < rows.shape[-1]:
        rows = rows.masked_fill(rows < rows.topk(top_k).values[..., -1:], -math.inf)
    probs = rows.softmax(-1)
    if top_p < 1:
        probs = _renormalised(probs, _nucleus(probs, top_p))
    if min_p > 0:
        probs = _renormalised(probs, probs >= min_p * probs.amax(-1, keepdim=True))
    return probs


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """Which tokens stay: those before which, from the likeliest on, less than top_p has been seen."""
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1, dtype=torch.float64) - ordered.double()
    kept = before < top_p
    kept[..., 0] = True
    return torch.zeros_like(kept).scatter(-1, order, kept)


def _renormalised(probs: Tensor, kept: Tensor) -> Tensor:
    left = probs * kept
    return left / left.sum(-1, keepdim=True)


def check_logits(name: str, logits: Tensor) -> None:
    """Refuse logits that give no law; the message names the argument, the row and the column."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point() or logits.dim() == 0 or logits.shape[-1] == 0:
        raise ValueError(f"{name} must be a floating-point tensor of shape (..., V)")
    bad = logits.isnan() | (logits == math.inf)
    if bad.any():
        *row, column = bad.nonzero()[0].tolist()
        raise ValueError(f"{name}, row {tuple(row)}, column {column}: {logits[(*row, column)].item()} is no logit")
    empty = (logits == -math.inf).all(-1)
    if empty.any():
        raise ValueError(f"{name}, row {tuple(empty.nonzero()[0].tolist())}: every token is masked, nothing can be drawn")


def _check_parameters(temperature: float, top_k: int, top_p: float, min_p: float) -> None:
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be at least 0 and finite, not {temperature}")
    if not isinstance(top_k, int) or top_k < 0:
        raise ValueError(f"top_k must be a whole number, 0 for no such filter, not {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], not {top_p}")
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must lie in [0, 1], not {min_p}")


GREEDY = Sampling(temperature=0)
"""All mass on the likeliest token, the lowest index among equals."""
