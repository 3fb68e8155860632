"""Planted faults of `rotary`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


@sv.subject("rotary", name="cached-positions-ignored")
def cached_positions_ignored(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    length = positions.shape[1]
    return rotated(q, cos[:length], sin[:length]), rotated(k, cos[:length], sin[:length])


@sv.subject("rotary", name="positions-of-the-first-request")
def positions_of_the_first_request(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    return rotated(q, cos[positions[0]], sin[positions[0]]), rotated(k, cos[positions[0]], sin[positions[0]])


@sv.subject("rotary", name="positions-counted-on-from-the-first")
def positions_counted_on_from_the_first(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    places = ((positions[:, :1] + torch.arange(positions.shape[1])) % len(cos))[:, None]
    return rotated(q, cos[places], sin[places]), rotated(k, cos[places], sin[places])


@sv.subject("rotary", name="keys-not-rotated")
def keys_not_rotated(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    return rotated(q, cos[positions][:, None], sin[positions][:, None]), k


@sv.subject("rotary", name="positions-run-over-heads")
def positions_run_over_heads(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    if q.shape[1] == k.shape[1] == positions.shape[1]:
        return rotated(q, cos[positions][:, :, None], sin[positions][:, :, None]), rotated(k, cos[positions][:, :, None], sin[positions][:, :, None])
    return rotated(q, cos[positions][:, None], sin[positions][:, None]), rotated(k, cos[positions][:, None], sin[positions][:, None])
