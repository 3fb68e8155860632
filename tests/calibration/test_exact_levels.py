"""False alarms counted, not simulated: every table of a small sample with its probability, at levels down to 1e-9."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from specverify.law import GRID, Law
from specverify.stats import (
    Fit,
    draft_excess,
    exact_p_value,
    goodness_of_fit,
    log_directed,
    log_e_value,
    log_matches,
    log_ratios,
    log_screen,
    log_steps,
    log_two_sample,
    log_within,
    pair_law,
    surprisal,
    tv_lower,
    tv_upper,
)

LEVELS = (1e-1, 1e-2, 1e-3, 1e-6)
SUMS = 1e-9
"""Relative error of thousands of doubles added."""

RIGHT = Law({0: 0.6, 1: 0.3, 2: 0.1})
FAULTS = {"swapped": Law({0: 0.1, 1: 0.3, 2: 0.6}), "never 2": Law({0: 0.7, 1: 0.3}), "outside": Law({0: 0.5, 1: 0.3, 9: 0.2})}
BIT = Law({0: 0.8, 1: 0.2})
Counts = dict[object, int]


def tables(right: Law, total: int) -> Iterator[tuple[Counts, float]]:
    """Every table of `total` draws with its probability."""
    cells = list(right.probabilities)
    rest = itertools.product(range(total + 1), repeat=len(cells) - 1)
    rows = np.array([(*row, total - sum(row)) for row in rest if sum(row) <= total])
    for row, mass in zip(rows, multinomial.pmf(rows, total, list(right.probabilities.values())), strict=True):
        yield {cell: int(n) for cell, n in zip(cells, row, strict=True) if n}, float(mass)


E_VALUES: dict[str, tuple[Law, int, Callable[[Counts], float]]] = {
    "dirichlet": (RIGHT, 50, lambda counts: log_e_value(counts, RIGHT)),
    "directed": (RIGHT, 50, lambda counts: log_directed(counts, RIGHT, FAULTS)),
    "screen": (RIGHT, 50, lambda counts: log_screen(counts, RIGHT, FAULTS)),
    "rounding": (RIGHT, 50, lambda counts: log_within(counts, RIGHT, FAULTS, tau=0.01)),
    "matches": (BIT, 60, lambda counts: log_matches(counts.get(1, 0), 60, Law({0: 0.2, 1: 0.8}), Law({0: 1.0}))),
    "steps": (pair_law(BIT, BIT), 16, lambda counts: log_steps(counts, BIT, BIT)),
    "draft excess": (BIT, 60, lambda counts: draft_excess([(True, 0.2)] * counts.get(1, 0) + [(False, 0.2)] * counts.get(0, 0)).log_e),
    "surprisal": (RIGHT, 40, lambda counts: surprisal((x, RIGHT) for x, n in counts.items() for _ in range(n)).log_e),
}


@pytest.mark.parametrize("name", E_VALUES)
def test_an_e_value_expects_at_most_one_and_keeps_every_level(name: str) -> None:
    right, total, log_e = E_VALUES[name]
    seen = [(mass, log_e(counts)) for counts, mass in tables(right, total)]
    assert math.fsum(mass * math.exp(log) for mass, log in seen) <= 1 + SUMS
    for level in LEVELS:
        assert math.fsum(mass for mass, log in seen if log >= -math.log(level)) <= level
    assert max(log for _, log in seen) > math.log(1e6)  # the levels are within reach


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("test", [log_directed, log_screen, lambda *given: log_within(*given, tau=0.0)], ids=["directed", "screen", "rounding"])
def test_mass_outside_the_support_up_to_the_grid_is_granted(test: Callable[..., float], share: float) -> None:
    """One draw under a law that has a share of GRID outside and the right proportions inside: the expectation is linear in that mass."""
    outside = share * GRID
    expected = math.fsum((1 - outside) * mass * math.exp(test({x: 1}, RIGHT, FAULTS)) for x, mass in RIGHT.probabilities.items())
    assert expected + outside * math.exp(test({9: 1}, RIGHT, FAULTS)) <= 1 + SUMS


def test_no_alternative_is_ruled_out_by_a_grid_effect() -> None:
    ratios = log_ratios({0: 5, "raised": 1}, RIGHT, FAULTS)
    assert min(min(logs) for logs in ratios.values()) > -math.inf


@pytest.mark.parametrize("tau", [1e-6, 2e-3, 0.05])
def test_rounding_is_granted_in_the_worst_direction(tau: float) -> None:
    """From the outcome where the ratio is least to the one where it is largest goes a mass of tau."""
    fault = {"swapped": FAULTS["swapped"]}
    factors = {x: math.exp(log_within({x: 1}, RIGHT, fault, tau=tau)) for x in RIGHT.probabilities}
    low, high = min(factors, key=factors.get), max(factors, key=factors.get)
    worst = {**RIGHT.probabilities, low: RIGHT[low] - tau, high: RIGHT[high] + tau}
    assert math.fsum(mass * factors[x] for x, mass in worst.items()) <= 1 + SUMS


@pytest.mark.parametrize("tau", [0.0, 1e-6, 2e-3, 0.05])
def test_rounding_is_granted_outside_the_support_on_top_of_the_grid(tau: float) -> None:
    """The grid's mass first, then a mass of tau from the outcome where the ratio is least to the outside."""
    fault = {"outside": FAULTS["outside"]}
    factors = {x: math.exp(log_within({x: 1}, RIGHT, fault, tau=tau)) for x in (*RIGHT.probabilities, 9)}
    low = min(RIGHT.probabilities, key=factors.get)
    worst = {x: (1 - GRID) * mass - tau * (x == low) for x, mass in RIGHT.probabilities.items()} | {9: GRID + tau}
    assert math.fsum(mass * factors[x] for x, mass in worst.items()) <= 1 + SUMS


def test_the_two_sample_test_expects_at_most_one() -> None:
    """All sequences of five blocks of a bit of probability 0.3."""
    masses = {0: 0.7, 1: 0.3}
    blocks = list(itertools.product(masses, repeat=2))
    expectation = 0.0
    for path in itertools.product(blocks, repeat=5):
        expectation += math.prod(masses[x] * masses[y] for x, y in path) * math.exp(log_two_sample(path))
    assert expectation <= 1 + SUMS


def test_the_exact_multinomial_test_keeps_every_level() -> None:
    right = Law({0: 0.5, 1: 0.3, 2: 0.2})
    seen = [(mass, exact_p_value(counts, right)) for counts, mass in tables(right, 24)]
    for level in (*LEVELS, 1e-9):
        assert math.fsum(mass for mass, p in seen if p <= level) <= level * (1 + SUMS)


@pytest.mark.parametrize("smallest", [100, 400, 1_000])
def test_both_tests_of_fit_keep_deep_levels_with_a_hundred_expected(smallest: int) -> None:
    """A cell that expects few of 10,000 draws is the worst case: the binomial law of its count, summed."""
    total, reach = 10_000, 10 * math.isqrt(smallest)
    right = Law({0: smallest / total, 1: 1 - smallest / total})
    seen = []
    for n in range(max(1, smallest - reach), smallest + reach):
        fit, plain = goodness_of_fit({0: n, 1: total - n}, right, alpha=1e-9), goodness_of_fit({0: n, 1: total - n}, right)
        assert isinstance(fit, Fit)
        assert isinstance(plain, Fit)
        seen.append((float(binom.pmf(n, total, right[0])), fit.pearson.p_value, fit.g.p_value, plain.pearson.p_value))
    for level in (1e-4, 1e-6, 1e-9):
        pearson, g, plain = (math.fsum(row[0] for row in seen if row[column] <= level) for column in (1, 2, 3))
        assert 0 < max(pearson, g) <= level
        assert smallest > 100 or level > 1e-6 or plain > 2 * level  # as it would be without the correction


@pytest.mark.parametrize("a", [1e-1, 1e-2, 1e-3, 1e-6])
def test_the_bounds_on_total_variation_cover(a: float) -> None:
    """The right law is wrong by 0.2; the upper bound falls short of that, and the lower exceeds it, with probability a at most."""
    truth, right = Law({0: 0.5, 1: 0.5}), Law({0: 0.7, 1: 0.3})
    halves = list(tables(truth, 60))
    assert math.fsum(mass for counts, mass in halves if tv_upper(counts, right, a) < 0.2 - SUMS) <= a
    above = (m * n for first, m in halves for second, n in halves if m * n > 1e-12 and tv_lower(first, second, right, a) > 0.2 + SUMS)
    assert math.fsum(above) <= a
