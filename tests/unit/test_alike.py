"""Comparing a helper's result with its oracle's: what must be equal, what may be rounded, and by how much."""

import math

import pytest

from specprops.alike import difference, rounding
from specverify.contracts import array

EPS64, EPS32 = 2.0**-52, 2.0**-23
ROW32 = array("float32", (2,), (1.0, 4.0))


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (3, 3), (True, 1), ("a", "a"), (None, None), ((1, (2, "x")), (1, (2, "x"))), (0.1 + 0.2, 0.3), (math.nan, math.nan), (math.inf, math.inf), (2.0, 2), ((), ()),
        (array("float32", (2,), (math.nan, 1)), (math.nan, 1.0)), (array("int64", (2, 1), (1, 2)), ((1,), (2,))), (array("float32", (), (0.5,)), 0.5),
        (array("float64", (2,), (1, 4 + 60 * 4 * EPS64)), (1.0, 4.0)), (array("float32", (2,), (1 + 60 * 4 * EPS32, 4)), array("float64", (2,), (1, 4))),
        (array("bfloat16", (1,), (1.25,)), array("float32", (1,), (1,))),
    ],
)  # fmt: skip
def test_the_same_value(found: object, right: object) -> None:
    assert difference(found, right, rounding({}, found, right)) is None


@pytest.mark.parametrize(
    ("found", "right", "sentence"),
    [
        (3, 4, "it is 3 instead of 4"),
        ("a", "b", "'a' instead of 'b'"),
        ("1", 1, "'1' instead of 1"),
        (None, 0, "None instead of 0"),
        (10**18, 10**18 + 1, "instead of"),
        (10**400, 1.0, "instead of"),
        (math.inf, 1e308, "inf instead of"),
        (math.nan, 0.0, "nan instead of 0.0"),
        ((1, 2), (1,), "2 entries instead of 1"),
        ((0, (1, 2)), (0, (1, 3)), r"2 instead of 3 at \[1\]\[1\]"),
        (array("float32", (1, 2), (1, 2)), array("float32", (2, 1), (1, 2)), "the shape"),
        (array("float64", (2,), (1, 4 + 70 * 4 * EPS64)), (1.0, 4.0), r"at \[1\]"),
        (ROW32, array("float32", (2,), (1, 4 + 70 * 4 * EPS32)), r"at \[1\]"),
    ],
)
def test_another_value(found: object, right: object, sentence: str) -> None:
    told = difference(found, right, rounding({}, found, right))
    assert told is not None
    import re

    assert re.search(sentence, told)


def test_the_cases_own_dtype_and_magnitude_count() -> None:
    """A float32 sum of large numbers that cancel, handed over as a Python float, is right."""
    assert difference(0.0, 1e-6, rounding({}, 0.0, 1e-6)) is not None
    assert difference(0.0, 1e-6, rounding({"x": ROW32}, 0.0, 1e-6)) is None
    assert difference(0.0, 1e-3, rounding({"x": ROW32}, 0.0, 1e-3)) is not None


def test_subnormals_may_be_lost() -> None:
    assert difference(0.0, 5e-324, rounding({}, 0.0, 5e-324)) is None
