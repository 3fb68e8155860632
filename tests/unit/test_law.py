"""Finite laws and how they are shown."""

import pytest

from specverify.law import Law, freeze, product_law, show_outcome, show_probability, small_fraction


def test_product_law_is_the_product_of_normalised_rows() -> None:
    law = product_law([(1, 3), (0.5, 0, 0.5)])
    assert law.probabilities == {(0, 0): 0.125, (0, 2): 0.125, (1, 0): 0.375, (1, 2): 0.375}


def test_total_variation() -> None:
    assert Law({0: 0.5, 1: 0.5}).total_variation(Law({0: 1.0})) == 0.5
    assert Law({0: 1.0}).total_variation(Law({1: 1.0})) == 1.0


def test_projection_adds_up() -> None:
    assert product_law([(0.5, 0.5), (0.5, 0.5)]).project(sum).probabilities == {0: 0.25, 1: 0.5, 2: 0.25}


@pytest.mark.parametrize(
    ("x", "dtype", "shown"),
    [
        (1 / 3, "float64", "1/3"),
        (0.3333333432674408, "float32", "1/3"),
        (0.3333333432674408, "float64", "0.3333"),
        (1e-7, "float32", "1e-07"),
        (0.0, "float32", "0"),
        (float("nan"), "float32", "nan"),
    ],
)
def test_probabilities_are_shown_as_small_fractions_where_they_are(x: float, dtype: str, shown: str) -> None:
    assert show_probability(x, dtype) == shown


def test_small_fraction_of_infinity_is_none() -> None:
    assert small_fraction(float("inf")) is None


def test_outcomes_in_words() -> None:
    assert show_outcome(((0, 1), 2, ("raised", "ValueError"))) == "((0, 1), 2, raises ValueError)"
    assert freeze([[1, 2], 3]) == ((1, 2), 3)


def test_what_stands_beside_a_number_is_told_from_it() -> None:
    assert show_probability(0.37505, "float32", 0.375) == "0.37505"
    assert show_probability(0.1 + 1e-12, "float64", 0.1) == "0.100000000001"
    assert show_probability(0.3333, beside=0.25) == "0.3333"
    assert show_probability(0.123456, beside=0.123456) == "0.1235"
