"""Arrays as plain values: dtype, shape and raw little-endian bytes. Standard library only; both sides of the pipe use it."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

FORMATS = {
    "float64": "d", "float32": "f", "float16": "e", "bfloat16": "H",
    "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint64": "Q", "uint32": "I", "uint16": "H", "uint8": "B", "bool": "?",
}  # fmt: skip
FLOATS = ("float64", "float32", "float16", "bfloat16")
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance from 1 to the next larger number."""
SMALLEST_NORMAL = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}


@dataclass(frozen=True)
class Array:
    """An array of numbers, hashable and comparable bit by bit.

    Attributes:
        dtype: one of FORMATS.
        shape: its axes, () for a scalar.
        data: little-endian bytes, row-major.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def values(self) -> tuple[float, ...]:
        """The entries in row-major order, each exactly."""
        raw = struct.unpack(f"<{math.prod(self.shape)}{FORMATS[self.dtype]}", self.data)
        return tuple(map(_from_bfloat16, raw)) if self.dtype == "bfloat16" else raw

    def rows(self) -> Iterator[tuple[float, ...]]:
        """The last axis, row by row."""
        values, width = self.values, self.shape[-1]
        return (values[i : i + width] for i in range(0, len(values), width or 1))

    def nested(self) -> object:
        """Nested lists of the entries, a number if the shape is ()."""
        return _nest(self.values, self.shape)


def array(dtype: str, shape: Sequence[int], values: Iterable[float]) -> Array:
    """Pack numbers, each rounded to the nearest value of `dtype`."""
    numbers = list(values)
    raw = list(map(_to_bfloat16, numbers)) if dtype == "bfloat16" else numbers
    return Array(dtype, tuple(shape), struct.pack(f"<{len(raw)}{FORMATS[dtype]}", *raw))


def recast(value: object, dtype: str) -> object:
    """An array of floats in another floating dtype; anything else as it is."""
    return array(dtype, value.shape, value.values) if isinstance(value, Array) and value.dtype in FLOATS else value


def round_to(dtype: str, values: Iterable[float]) -> tuple[float, ...]:
    """The numbers as `dtype` holds them."""
    numbers = list(values)
    return array(dtype, (len(numbers),), numbers).values


def _nest(values: Sequence[float], shape: tuple[int, ...]) -> object:
    if not shape:
        return values[0]
    step = math.prod(shape[1:])
    return [_nest(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _from_bfloat16(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def _to_bfloat16(x: float) -> int:
    """Round to nearest, ties to even, from the float32 nearest to x (which is what torch does)."""
    bits = int(struct.unpack("<I", struct.pack("<f", x))[0])
    if x != x:  # noqa: PLR0124  NaN: adding the rounding term could carry into the exponent
        return 0x7FC0
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
