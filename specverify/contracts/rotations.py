"""What `rotate_half` and `rotary` share: rows that are rotated pair by pair (2104.09864, section 3.4.2)."""

from __future__ import annotations

from specverify.contracts.arrays import Array
from specverify.contracts.base import Case, Convention, float_array, outside

PAIRINGS = ("split", "interleaved")
PAIRING = Convention("which entries make a pair: i and i + D / 2 (split), or 2 i and 2 i + 1 (interleaved); either, if nothing is declared", PAIRINGS)


def even_rows(contract: str, case: Case, name: str) -> Array:
    """The argument as rows of an even number of finite entries."""
    found = float_array(contract, case, name)
    if found.shape[-1] % 2 or any(abs(x) == float("inf") or x != x for x in found.values):  # noqa: PLR0124  NaN
        raise outside(contract, f"{name} must have rows of an even number of finite entries")
    return found
