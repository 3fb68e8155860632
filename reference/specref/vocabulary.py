"""Between the ids of a smaller draft vocabulary and those of the target (faults: L22)."""

from __future__ import annotations

import torch
from torch import Tensor

MISSING = -1
"""Stands for a target's id that the draft vocabulary lacks."""


def to_target(ids: Tensor, offsets: Tensor) -> Tensor:
    """The target's ids of draft ids, of any shape.

    Args:
        ids: draft ids, (...), integers.
        offsets: what is to be added to each draft id, (V_draft,).

    Returns:
        (...) int64.
    """
    return ids.long() + offsets[ids.long()]


def to_draft(ids: Tensor, targets: Tensor) -> Tensor:
    """The draft ids of the target's, MISSING for those that the draft vocabulary lacks.

    Args:
        ids: the target's ids, (...), integers.
        targets: the target's id of each draft id, ascending, (V_draft,).

    Returns:
        (...) int64.
    """
    place = torch.searchsorted(targets, ids.long()).clamp(max=len(targets) - 1)
    return torch.where(targets[place] == ids, place, MISSING)
