"""How probabilities and outcomes are shown to people: as small fractions where they are such."""

from __future__ import annotations

import math
from fractions import Fraction

LARGEST_DENOMINATOR = 64
"""Beyond this a fraction is harder to read than a decimal; the strategies' rows have denominators up to about 40."""

MOST_DIGITS = 17
"""Of a double."""

HALF_STEP = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Relative rounding of each dtype: half a step, the unit roundoff (2^-9 for bfloat16, doubled since rows may be normalised in it)."""


def small_fraction(x: float, dtype: str = "float64") -> Fraction | None:
    """The smallest fraction with denominator up to 64 that rounds to x in `dtype`, or none."""
    if not math.isfinite(x):
        return None
    fraction = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
    return fraction if abs(float(fraction) - x) <= 2 * HALF_STEP.get(dtype, 0.0) * abs(x) else None


def show_probability(x: float, dtype: str = "float64", beside: float | None = None) -> str:
    """A fraction if it is a small one ("1/3"), else four significant digits ("3.1e-07"); as many as tell it from the number that it stands beside."""
    fraction = small_fraction(x, dtype)
    if fraction is not None or beside is None or x == beside:
        return str(fraction) if fraction is not None else f"{x:.4g}"
    digits = next((n for n in range(4, MOST_DIGITS) if f"{x:.{n - 1}g}" != f"{beside:.{n - 1}g}"), MOST_DIGITS)
    return f"{x:.{digits}g}"


def show_outcome(outcome: object) -> str:
    """One outcome in a line: token ids in brackets, an exception as words."""
    match outcome:
        case ("raised", str(name)):
            return f"raises {name}"
        case ("malformed", str(sentence)):
            return f"malformed: {sentence}"
        case tuple():
            return "(" + ", ".join(show_outcome(item) for item in outcome) + ")"
        case _:
            return str(outcome)
