"""Many copies of one case at once: what the tool draws around each of them, as rows for whole-array arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Sums = Sequence[float]


@dataclass(frozen=True)
class Copies:
    """One case, to be handed over many times in one call.

    Attributes:
        drafts: cumulative sums of the row that each draft token is drawn from; a draft that the case gives is sure.
        completions: cumulative sums of the row that each place is completed from, where a call emits less.
    """

    drafts: tuple[Sums, ...]
    completions: tuple[Sums, ...]


def sure(token: int, width: int) -> Sums:
    """Cumulative sums of a row with one token."""
    return [float(i >= token) for i in range(width)]
