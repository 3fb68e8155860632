"""Opaque code of which the black box would tell a wrong law, each without its guard; and what a law cannot show, told."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from specverify.exact import Exponential, NotExact, Uniform, inject, inject_rows
from specverify.law import product_law

COUNTER = itertools.count()
OWN = np.random.default_rng(3)
HIDDEN = {
    "hidden state": lambda draws: (draws[0] < 0.5, next(COUNTER) % 3),
    "state that matters on one side": lambda draws: draws[0] < 0.7 or next(COUNTER) % 2 == 0,
    "own randomness": lambda draws: (draws[0] < 0.5, bool(OWN.random() < 0.3)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_else_decides_is_told(name: str) -> None:
    with pytest.raises(NotExact, match="The same draws give another outcome") as told:
        inject(HIDDEN[name], [Uniform()])
    assert told.value.hidden


def test_rows_that_depend_on_each_other_are_told() -> None:
    with pytest.raises(NotExact, match="The same draws") as told:
        inject_rows(lambda m: np.roll(m[:, 0], 1) < 0.5, [Uniform()])
    assert told.value.hidden


def test_more_draws_than_given_raise_and_a_draw_never_read_is_named() -> None:
    law = inject(lambda u: u[0] < 0.25 or u[3] < 0.5, [Uniform()] * 3)
    assert law.probabilities == {True: 0.25, ("raised", "IndexError"): 0.75}
    assert {"uniform #1 is never read", "uniform #2 is never read"} <= set(law.notes)


def test_a_thin_piece_is_missed_unless_a_threshold_bounds_it() -> None:
    """It is labelled; random points of cells find one of a thousandth in no call of this test's seed."""
    thin = lambda u: int(0.30001 <= u[0] < 0.30002)
    missed = inject(thin, [Uniform()])
    assert missed.probabilities == {0: 1.0}
    assert "thinner than 1/64 can be missed" in missed.notes[0]
    found = inject(thin, [Uniform(thresholds=(0.30001, 0.30002))])
    assert found[1] == pytest.approx(1e-5, rel=1e-9)


def test_a_thin_piece_between_two_others_is_never_missed() -> None:
    """Bisection ends at a border of it."""
    law = inject(lambda u: int(u[0] >= 0.30001) + int(u[0] >= 0.30002), [Uniform()], grid=2, probe=0)
    assert law[1] == pytest.approx(1e-5, rel=1e-9)


def test_a_thin_piece_that_a_random_point_meets_is_cut_out() -> None:
    law = inject(lambda u: int(0.5 <= u[0] < 0.505), [Uniform()], grid=8, probe=2_000)
    assert law[1] == pytest.approx(0.005, rel=1e-9)


@pytest.mark.parametrize("decide", [lambda u: u[0] + u[1] < 1, lambda u: u[0] < u[1] < 0.9, lambda u: u[0] * u[1] < 0.3])
def test_a_border_that_depends_on_another_draw_is_told(decide: Callable) -> None:
    with pytest.raises(NotExact, match="intervals of single draws"):
        inject(decide, [Uniform()] * 2, max_seconds=5)


def test_a_rare_completion_is_found_by_contradiction() -> None:
    """The first draw matters only where the second is in a piece that no even completion meets."""
    law = inject(lambda u: (0.41 < u[1] < 0.43) and u[0] < 0.37, [Uniform(), Uniform(thresholds=(0.41, 0.43))], probe=200)
    assert law[True] == pytest.approx(0.02 * 0.37, rel=1e-9)


NO_RACE: dict[str, Callable] = {
    "the sum decides": lambda e: sum(e) < 3,
    "a member decides too": lambda e: (min(range(4), key=e.__getitem__), e[0] < 1),
    "the second wins": lambda e: sorted(range(4), key=e.__getitem__)[1],
    "three at once": lambda e: min(range(4), key=lambda v: e[v] * (2 if e[0] + e[1] + e[2] < 3 else 1) ** v),
}


@pytest.mark.parametrize("name", NO_RACE)
def test_what_is_no_race_is_told(name: str) -> None:
    with pytest.raises(NotExact, match=r"race|intervals of single draws"):
        inject(lambda draws: NO_RACE[name](draws[0]), [Exponential(4)], max_seconds=5)


def test_a_number_that_is_read_as_one_is_told() -> None:
    with pytest.raises(NotExact, match="read as a number"):
        inject(lambda u: math.floor(u[0] * 1e6), [Uniform()])


def test_limits_leave_the_rest_open() -> None:
    law = inject(lambda u: tuple(x < 0.3 for x in u), [Uniform()] * 6, max_calls=9_000)
    assert 0 < law.open_mass < 1
    assert math.fsum(law.probabilities.values()) + law.open_mass == pytest.approx(1)
    assert law.compare(product_law([(0.7, 0.3)] * 6)).verdict in {"open", "different"}
    assert "stays open" in law.notes[-1]


def test_the_path_tells_the_draws() -> None:
    law = inject(lambda u: (u[0] < 0.25, u[1] < 0.5), [Uniform()] * 2)
    assert law.path((True, False)).mass == 0.125
    assert [step[:2] for step in law.path((True, False)).steps] == [("uniform #0", "in [0, 0.25)"), ("uniform #1", "in [0.5, 1)")]
