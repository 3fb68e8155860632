"""Averages of e-values, kept as logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence


def log_mean(logs: Sequence[float]) -> float:
    """Natural logarithm of the mean of exp(logs); minus infinity where every one is."""
    top = max(logs)
    return top if math.isinf(top) else top + math.log(math.fsum(math.exp(x - top) for x in logs) / len(logs))
