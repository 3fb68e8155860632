"""What a model's queries see of the ids before them: the text that a table has a row behind, or what a broken cache makes of it. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from specverify.contracts.table_models import Prefix, Table

NO_MASS = -10_000.0
"""The logit of a token without mass: its exponential is 0 in every dtype, at any temperature below 90, and no arithmetic on it gives NaN."""
OLDEST = -(2**20)
"""Before any position."""


def prefix(entries: Iterable[tuple[int, int]]) -> Prefix:
    """The ids in the order of their positions, where these follow each other; else positions and ids, which no text equals.

    Positions count from the last, as rotary models see them, so that all may be shifted.

    Args:
        entries: (position, id) of each key that a query sees, its own included.
    """
    known = sorted(entries)
    last = known[-1][0] if known else OLDEST
    if all(position == last - behind for behind, (position, _) in enumerate(reversed(known))):
        return tuple(token for _, token in known)
    return tuple(number for position, token in known for number in (position - last, -1 - token))


def logits(table: Table, seen: Sequence[int]) -> list[float]:
    """The logarithms of the row behind what is seen."""
    return [math.log(mass) if mass > 0 else NO_MASS for mass in table.line(tuple(seen))]
