"""Planted faults of `accept_probability`. Each is a subject; the catalogue says what is wrong with it."""

from torch import Tensor

import specverify as sv


@sv.subject("accept_probability", name="ratio-uncapped", batch=True)
def ratio_uncapped(p_x: Tensor, q_x: Tensor) -> Tensor:
    return p_x / q_x


@sv.subject("accept_probability", name="ratio-of-logs", batch=True)
def ratio_of_logs(p_x: Tensor, q_x: Tensor) -> Tensor:
    return (p_x / q_x).sqrt().clamp(max=1)


@sv.subject("accept_probability", name="acceptance-floor", batch=True)
def acceptance_floor(p_x: Tensor, q_x: Tensor) -> Tensor:
    return (p_x / q_x).clamp(min=1e-3, max=1)
