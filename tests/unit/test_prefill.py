"""The right rows of `prefill`: texts of a prompt and of nodes, readings of rows, and how far rounding may move them."""

import math

import pytest

from specprops.prefill import LINES, masses, pieces, rows_off, texts
from specverify.contracts import Array, Case, array
from specverify.contracts.prefill import Request, table

ONE = Request((2, 0, 1, 3, 0), (2,), (-1, -1, 0))
CASE: Case = {"model": array("float32", (12, 4), (x for line in LINES for x in line)), "requests": [[list(part) for part in ONE]]}
TEXTS = [(2,), (2, 0), (2, 0, 1), (2, 0, 3), (2, 0, 1, 0)]


def rows(dtype: str, off: int = -1, shift: float = 0.0) -> Array:
    """The right logits, each row shifted; one of them another's."""
    right = [table(CASE).line((3, 3) if place == off else text) for place, text in enumerate(TEXTS)]
    return array(dtype, (5, 4), (math.log(x) + shift for line in right for x in line))


def test_texts_of_a_prompt_and_of_nodes() -> None:
    assert texts(ONE) == TEXTS
    assert pieces(7, 3) == (3, 3, 1)


@pytest.mark.parametrize(("returns", "row"), [("logits", (5, 6)), ("log-probabilities", (math.log(1 / (1 + math.e)), math.log(math.e / (1 + math.e))))])
def test_readings_of_a_row(returns: str, row: tuple[float, ...]) -> None:
    assert masses(returns, row) == pytest.approx((1 / (1 + math.e), math.e / (1 + math.e)))
    assert masses("probabilities", row) == row


def test_rows_without_any_mass_are_no_distribution() -> None:
    assert masses("logits", (-math.inf, -math.inf)) == (0, 0)
    assert masses("log-probabilities", (1e9, -math.inf)) == (1, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shift", [0.0, 8.0])
def test_rounding_and_a_shift_are_excused_and_another_row_is_not(dtype: str, shift: float) -> None:
    assert rows_off(CASE, rows(dtype, shift=shift), "logits") == {}
    assert list(rows_off(CASE, rows(dtype, off=3), "logits")) == [3]
    assert not shift or rows_off(CASE, rows(dtype, shift=shift), "log-probabilities")
