"""How often a right law is accused: never more than the level says, at any look."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from specprops.trial import FLAG
from specverify.law import Law
from specverify.stats import GRID, chi_squared, log_e_value

RUNS = 2_000
SURE = 1e-4
"""A test of this file fails by chance at most this often, per level; the seeds are fixed anyway."""


def counts(draws: np.ndarray) -> dict[int, int]:
    return {i: int(n) for i, n in enumerate(draws) if n}


LAWS = [(0.5, 0.5), (0.9, 0.05, 0.05), tuple([1 / 64] * 64), (0.999, 0.001)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{len(law)} cells")
@pytest.mark.parametrize("level", [1e-1, 1e-2, 1e-3])
def test_the_e_process_reaches_one_over_a_at_most_a_of_the_time(law: tuple[float, ...], level: float) -> None:
    """Seven looks, as a confirmation takes them; the alarm counts at whichever look it comes."""
    rng = np.random.default_rng([len(law), round(1 / level)])
    right = Law.of(dict(enumerate(law)))
    alarms = 0
    for _ in range(RUNS // 4):
        total = np.zeros(len(law), dtype=int)
        for chunk in (250, 250, 500, 1_000, 2_000, 4_000, 8_000):
            total += rng.multinomial(chunk, law)
            if log_e_value(counts(total), right) >= math.log(1 / level):
                alarms += 1
                break
    assert alarms <= binom.ppf(1 - SURE, RUNS // 4, level)


def test_mass_outside_the_support_up_to_the_grid_is_granted() -> None:
    """An outcome of probability 2^-24 shows once in a while in 20,000 draws; only its third sight speaks."""
    right = Law({0: 0.5, 1: 0.5})
    assert log_e_value({0: 10_000, 1: 10_000, 2: 1}, right) < math.log(100)
    assert log_e_value({0: 1_000, 1: 1_000, 2: 20}, right) > math.log(1e8)


def test_the_grid_null_keeps_its_level_where_the_grid_is_exhausted() -> None:
    """The worst lawful case: outside mass of exactly GRID. Poisson counts of it in 20,000 draws, and E's expectation over them."""
    draws, right = 20_000, Law({0: 1.0})
    expectation = sum(float(binom.pmf(k, draws, GRID)) * math.exp(log_e_value({0: draws - k, **({1: k} if k else {})}, right)) for k in range(12))
    assert expectation <= 1 + 1e-9


def test_chi_squared_is_uniform_where_it_is_used() -> None:
    """Beside the verdict stands a p-value that is fair at 5 % and 1 %."""
    rng = np.random.default_rng(7)
    law = (0.4, 0.3, 0.2, 0.1)
    p_values = []
    for _ in range(RUNS):
        test = chi_squared(counts(rng.multinomial(2_000, law)), Law.of(dict(enumerate(law))))
        assert test is not None
        p_values.append(test.p_value)
    for level in (0.05, 0.01):
        assert binom.ppf(SURE, RUNS, level) <= np.sum(np.array(p_values) < level) <= binom.ppf(1 - SURE, RUNS, level)


def test_chi_squared_pools_small_cells_and_tells() -> None:
    assert chi_squared({0: 1_000}, Law({0: 0.998, 1: 0.001, 2: 0.001})) is None  # the small cells expect 2 draws together: one cell would remain
    pooled = chi_squared({0: 990, 1: 5, 2: 5}, Law({0: 0.99, 1: 0.004, 2: 0.006}))
    assert pooled is not None
    assert (pooled.pooled, pooled.dof) == (2, 1)  # 4 and 6 expected: the smaller alone would stay below 5


def test_a_draw_outside_the_support_has_p_zero() -> None:
    test = chi_squared({5: 1}, Law({0: 1.0}))
    assert test is not None
    assert test.p_value == 0


def test_a_single_sight_outside_the_support_makes_a_screen_of_sixty_suspect() -> None:
    assert log_e_value({True: 59, "outside": 1}, Law({True: 1.0})) > FLAG
