"""Reading a subject's plain result as what its contract promises, or saying in a sentence why it is not that."""

from __future__ import annotations

import math

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import Malformed, kind_of
from specverify.law import Outcome

LOOSE = 0.1


def float_array_result(shape: tuple[int, ...], result: object, like: str = "the argument") -> Array:
    """Floats of the given shape; nested lists and single numbers are welcome."""
    if isinstance(result, (list, tuple)) or (isinstance(result, (int, float)) and not isinstance(result, bool)):
        result = array("float64", shape, _flat(shape, result))
    if not isinstance(result, Array) or result.dtype not in FLOATS:
        raise Malformed("the result is no array of floating-point numbers")
    if result.shape != shape:
        raise Malformed(f"the result has shape {result.shape}, {like} has {shape}")
    return result


def of_one(value: object) -> object:
    """Rows (n, V) of a batch of one (1, n, V); anything else as it is."""
    return Array(value.dtype, value.shape[1:], value.data) if isinstance(value, Array) and len(value.shape) == 3 and value.shape[0] == 1 else value  # noqa: PLR2004


def rows_sum_to_one(outcome: Outcome) -> bool:
    """Whether rows came out that sum to about 1: tells a form of row that a subject takes from one that it mistakes."""
    return all(math.isfinite(sum(row)) and abs(sum(row) - 1) < LOOSE for row in outcome.rows())


def int_array_result(shape: tuple[int, ...], result: object) -> Array:
    """Integers of the given shape, as int64."""
    if isinstance(result, Array) and result.dtype not in FLOATS and result.dtype != "bool":
        result = result.nested()
    if isinstance(result, bool) or not isinstance(result, (int, list, tuple)):
        raise Malformed(f"the result is no array of integers but {kind_of(result)}")
    return array("int64", shape, map(int, _flat(shape, result, (int,))))


def _flat(shape: tuple[int, ...], result: object, kinds: tuple[type, ...] = (int, float)) -> list[float]:
    """The numbers of nested lists of exactly that shape; Python lists carry doubles."""
    flat: list[float] = []

    def walk(item: object, depth: int) -> None:
        item = item.nested() if isinstance(item, Array) else item
        if isinstance(item, (list, tuple)) and depth < len(shape) and len(item) == shape[depth]:
            for part in item:
                walk(part, depth + 1)
        elif isinstance(item, kinds) and not isinstance(item, bool) and depth == len(shape):
            flat.append(item)  # type: ignore[arg-type]
        else:
            raise Malformed(f"the result is no nested list of numbers of shape {shape}")

    walk(result, 0)
    return flat
