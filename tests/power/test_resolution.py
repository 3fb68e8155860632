"""What a pass would have caught: the numbers that reports state."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from specprops.rows import CELLS
from specprops.trial import FLAG
from specverify.audit.resolution import SCREEN
from specverify.audit.settings import CONFIRM_DRAWS, SCREEN_DRAWS
from specverify.law import Law
from specverify.stats import detectable_by, log_e_value

RUNS = 300


def flagged(law: np.ndarray, distance: float, draws: int, bar: float, rng: np.random.Generator) -> float:
    """Share of runs that reach the bar when mass `distance` moves from one half of the cells to the other, in proportion."""
    right = Law.of(dict(enumerate(law.tolist())))
    hits = 0
    for _ in range(RUNS):
        order = rng.permutation(len(law))
        gains, loses = order[: len(law) // 2], order[len(law) // 2 :]
        wrong = law.copy()
        wrong[gains] *= 1 + distance / law[gains].sum()
        wrong[loses] *= 1 - distance / law[loses].sum()
        drawn = rng.multinomial(draws, wrong)
        hits += log_e_value({i: int(n) for i, n in enumerate(drawn) if n}, right) >= bar
    return hits / RUNS


def stated(cells: int, draws: int) -> float:
    """The total variation that a report says of cells that expect equally many draws."""
    distance = detectable_by(cells - 1, draws, alpha=SCREEN)
    assert distance is not None
    return distance


@pytest.mark.parametrize(("cells", "draws"), [(2, SCREEN_DRAWS), (8, SCREEN_DRAWS), (CELLS, SCREEN_DRAWS), (CELLS, 200), (4, 60)])
def test_a_screen_flags_the_stated_distance(cells: int, draws: int) -> None:
    """At least 99 %: 300 of 300 runs, or few enough missed that 99 % stays likely. Half the wealth is on known faults."""
    rng = np.random.default_rng(cells)
    share = flagged(np.full(cells, 1 / cells), stated(cells, draws), draws, FLAG + math.log(2), rng)
    assert share * RUNS >= binom.ppf(1e-3, RUNS, 0.99)


def test_a_confirmation_reaches_its_threshold_well_below_that() -> None:
    """20,000 draws and 100 pairs under one alpha of 1e-6: half the screen's distance is enough."""
    half = stated(CELLS, SCREEN_DRAWS) / 2
    share = flagged(np.full(CELLS, 1 / CELLS), half, CONFIRM_DRAWS, math.log(100 / 1e-6), np.random.default_rng(1))
    assert share * RUNS >= binom.ppf(1e-3, RUNS, 0.99)
