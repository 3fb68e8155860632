"""What rows of probabilities and draft tokens must be, said in one place. Each check waits for the device."""

from __future__ import annotations

import torch
from torch import Tensor

SUM_TOLERANCE = 1e-5
"""A float32 softmax over 256,000 entries sums to 1 within about 1e-6; rows cast up to float64 keep that error."""

ROUNDING_STEPS = 4
"""Rounding every entry to a dtype moves the sum by at most eps / 2 of that dtype; eight times that is allowed."""


def check_rows(name: str, rows: Tensor) -> None:
    """Refuse what is not rows of probabilities, (..., V).

    Raises:
        ValueError: not floating, empty, or an entry that is NaN, infinite or negative, or a row that does not sum to 1; the
            message names the argument, the row and the column.
    """
    if not isinstance(rows, Tensor) or not rows.is_floating_point():
        raise ValueError(f"{name} must be a floating-point tensor of shape (..., V)")
    if rows.dim() == 0 or rows.shape[-1] == 0:
        raise ValueError(f"{name} has shape {tuple(rows.shape)}; its last axis must hold at least one probability")
    _check_entries(name, rows)
    _check_sums(name, rows)


def _check_entries(name: str, rows: Tensor) -> None:
    """One pass where all is well: NaN makes both ends of the range NaN."""
    low, high = torch.aminmax(rows) if rows.numel() else (rows.new_zeros(()),) * 2
    if not bool((low >= 0) & (high < torch.inf)):
        bad = ~(torch.isfinite(rows) & (rows >= 0))
        *row, column = bad.nonzero()[0].tolist()
        raise ValueError(f"{name}, row {tuple(row)}, column {column}: {rows[(*row, column)].item()} is not a probability")


def _check_sums(name: str, rows: Tensor) -> None:
    total = rows.sum(-1, dtype=torch.float64)
    tolerance = max(ROUNDING_STEPS * torch.finfo(rows.dtype).eps, SUM_TOLERANCE)
    bad = (total - 1).abs() > tolerance
    if bad.any():
        row = tuple(bad.nonzero()[0].tolist()) if rows.dim() > 1 else ()
        raise ValueError(f"{name}, row {row}: the probabilities sum to {total[row].item():.6g}, not to 1")


def check_pair(p: Tensor, q: Tensor) -> None:
    """Refuse rows of target and draft that differ in shape or device."""
    if p.shape != q.shape:
        raise ValueError(f"p has shape {tuple(p.shape)} and q has shape {tuple(q.shape)}; they must be equal")
    check_device("p", p, "q", q)


def check_device(name: str, one: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse tensors of two devices."""
    if one.device != other.device:
        raise ValueError(f"{name} is on {one.device} and {other_name} is on {other.device}; they must be on one device")


def check_tokens(name: str, tokens: Tensor, vocabulary: int, inside: Tensor | None = None) -> None:
    """Refuse token ids out of 0 … V - 1, (...); where `inside` is false anything may stand.

    Raises:
        ValueError: no integers, or a token outside of the vocabulary; the message names its row and column.
    """
    if not isinstance(tokens, Tensor) or tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        raise ValueError(f"{name} must hold integer token ids")
    bad = (tokens < 0) | (tokens >= vocabulary)
    bad = bad if inside is None else bad & inside
    if bad.any():
        *row, column = bad.nonzero()[0].tolist()
        place = f"row {row[0]}, column {column}" if row else f"column {column}"
        raise ValueError(f"{name}, {place}: token {int(tokens[(*row, column)])} is outside 0 … {vocabulary - 1}")


def ignoring(rows: Tensor, unused: Tensor) -> Tensor:
    """The rows with a harmless one wherever nothing is read."""
    if not bool(unused.any()):
        return rows
    point = torch.zeros(rows.shape[-1], dtype=rows.dtype, device=rows.device)
    point[0] = 1
    return torch.where(unused[..., None], point, rows)
