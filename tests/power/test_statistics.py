"""Each test finds what it is for, in about as many draws as theory says; and what a pass would have caught is caught."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import binom

from specverify.law import Law
from specverify.stats import (
    Fit,
    RunWide,
    detectable_share,
    detectable_tv,
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
    mmd_hamming,
    monte_carlo_p_value,
    one_uniform,
    samples_for,
    samples_needed,
    surprisal,
    tv_lower,
    tv_upper,
)

SURE = 1e-4
"""A test of this file fails by chance at most this often; the seeds are fixed anyway."""
ALARM = math.log(1e6)


def zipf(size: int, power: float = 1.0) -> Law:
    return Law.of({token: (1 + token) ** -power for token in range(size)})


RIGHT, FAULT = zipf(8), zipf(8, 1.15)
FAULTS = {"sharp": FAULT, "flat": zipf(8, 0.0), "never 0": Law.of({t: m for t, m in RIGHT.probabilities.items() if t})}


def sample(law: Law, size: int, rng: np.random.Generator) -> dict[int, int]:
    return {x: int(n) for x, n in zip(law.probabilities, rng.multinomial(size, list(law.probabilities.values())), strict=True) if n}


def mixed(share: float, fault: Law = FAULT) -> Law:
    return Law({x: (1 - share) * mass + share * fault[x] for x, mass in RIGHT.probabilities.items()})


def missed(law: Law, draws: int, runs: int = 300) -> int:
    rng = np.random.default_rng(draws)
    return sum(log_directed(sample(law, draws, rng), RIGHT, FAULTS) < ALARM for _ in range(runs))


@pytest.mark.parametrize("share", [1.0, 0.5, 0.2])
def test_the_share_that_a_pass_excludes_is_found_99_times_in_100(share: float) -> None:
    draws = samples_needed(RIGHT, FAULT, alpha=1e-6, alternatives=len(FAULTS), share=share)
    assert draws is not None
    assert missed(mixed(share), draws) <= binom.ppf(1 - SURE, 300, 0.01)
    assert missed(mixed(share), draws // 2) > 30  # and half as many draws would not do
    again = detectable_share(RIGHT, FAULT, draws, alpha=1e-6, alternatives=len(FAULTS))
    assert again == pytest.approx(share, abs=1e-3)


def test_a_fault_too_rare_for_the_draws_is_not_claimed() -> None:
    assert detectable_share(RIGHT, FAULT, 20, alpha=1e-6, alternatives=3) is None
    assert samples_needed(RIGHT, RIGHT, alpha=1e-6, alternatives=1) is None


def test_a_sight_outside_the_support_is_worth_thousands_of_draws() -> None:
    outside = Law({**mixed(0.1).probabilities, 8: 0.0}).probabilities | {8: 0.01}
    assert (samples_needed(RIGHT, Law.of(outside), alpha=1e-6, alternatives=1) or 0) < 2_000


@pytest.mark.parametrize(("size", "draws"), [(8, 5_000), (32, 20_000)])
def test_the_total_variation_that_a_pass_excludes_is_found_in_the_hardest_direction(size: int, draws: int) -> None:
    """All cells alike in relative change: half of them up, half down."""
    right = Law.of(dict.fromkeys(range(size), 1))
    tv = detectable_tv(right, draws, alpha=1e-6)
    assert tv is not None
    rng, runs = np.random.default_rng(size), 200

    def missed(distance: float) -> int:
        hard = Law({x: mass * (1 + (-1) ** x * 2 * distance) for x, mass in right.probabilities.items()})
        return sum(log_e_value(sample(hard, draws, rng), right) < ALARM for _ in range(runs))

    assert missed(tv) <= binom.ppf(1 - SURE, runs, 0.01)
    assert missed(0.8 * tv) > runs / 10  # it is not claimed too late


def test_a_known_fault_is_found_in_fewer_draws_than_an_unknown_one_and_named() -> None:
    counts = sample(FAULT, 3_000, np.random.default_rng(1))
    assert log_directed(counts, RIGHT, FAULTS) > log_e_value(counts, RIGHT) + 3
    run = RunWide(FAULTS)
    run.add("a", log_ratios(counts, RIGHT, FAULTS))
    assert run.ranking[0][0] == "sharp"


def test_an_unknown_fault_costs_the_screen_a_factor_of_two() -> None:
    counts = sample(zipf(8, 0.8), 5_000, np.random.default_rng(2))
    others = {"never 0": FAULTS["never 0"]}
    assert log_screen(counts, RIGHT, others) >= log_e_value(counts, RIGHT) - math.log(2) > ALARM


def test_a_fault_beyond_rounding_is_found_and_one_within_it_is_not() -> None:
    counts = sample(FAULT, 40_000, np.random.default_rng(3))
    assert log_within(counts, RIGHT, FAULTS, tau=2e-3) > ALARM
    assert log_within(counts, RIGHT, FAULTS, tau=0.2) < 0


def test_rows_of_shared_noise_show_in_twenty_pairs() -> None:
    assert log_matches(20, 20, RIGHT, RIGHT) > ALARM
    assert log_matches(0, 120, RIGHT, RIGHT) > ALARM  # rows that avoid each other
    assert log_matches(5, 20, RIGHT, RIGHT) < math.log(10)


@pytest.mark.parametrize("second", [zipf(4), zipf(5, 0.5)], ids=["same law", "another law"])
def test_steps_that_share_a_uniform_show_in_sixty_pairs(second: Law) -> None:
    counts = sample(one_uniform(zipf(4), second), 60, np.random.default_rng(4))
    assert log_steps(counts, zipf(4), second) > ALARM


def test_one_uniform_keeps_both_laws() -> None:
    both = one_uniform(RIGHT, FAULT)
    assert both.project(lambda pair: pair[0]).total_variation(RIGHT) < 1e-12
    assert both.project(lambda pair: pair[1]).total_variation(FAULT) < 1e-12


def test_two_samples_of_unlike_laws_are_told_apart() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.choice(8, 1_500, p=list(law.probabilities.values())).tolist() for law in (RIGHT, zipf(8, 0.5)))
    assert log_two_sample(zip(a, b, strict=True)) > ALARM
    assert log_two_sample(zip(a, reversed(a), strict=True)) < math.log(10)


def test_mmd_sees_another_temperature_of_sequences() -> None:
    rng = np.random.default_rng(6)
    texts: Mapping[float, list[list[int]]] = {t: rng.choice(8, (60, 16), p=list(zipf(8, t).probabilities.values())).tolist() for t in (1.0, 1.5)}
    assert mmd_hamming(texts[1.0], texts[1.5]).p_value == 1e-3


def test_a_discarded_sample_shows_in_the_draft_excess() -> None:
    """On 30 % of the steps c comes out with p (2 - p): statistics.md 2.8."""
    rng = np.random.default_rng(7)
    chances = rng.uniform(0.2, 0.8, 1_600)
    hits = rng.random(1_600) < chances + 0.3 * chances * (1 - chances)
    drift = draft_excess(zip(hits.tolist(), chances.tolist(), strict=True))
    assert drift.z > 4
    assert drift.log_e > math.log(1e3)


@pytest.mark.parametrize("power", [0.8, 1.3])
def test_another_temperature_shows_in_the_surprisal(power: float) -> None:
    counts = sample(zipf(8, power), 1_500, np.random.default_rng(8))
    drift = surprisal((x, RIGHT) for x, n in counts.items() for _ in range(n))
    assert drift.log_e > ALARM
    assert (drift.z > 5) == (power < 1)
    assert abs(drift.z) > 5


def test_the_tests_of_fit_find_a_gross_fault() -> None:
    counts = sample(FAULT, 20_000, np.random.default_rng(9))
    fit = goodness_of_fit(counts, RIGHT, alpha=1e-6)
    assert isinstance(fit, Fit)
    assert max(fit.pearson.p_value, fit.g.p_value) < 1e-6
    assert monte_carlo_p_value(counts, RIGHT) == 1e-4
    assert exact_p_value({0: 10, 1: 0, 2: 15}, Law({0: 0.5, 1: 0.25, 2: 0.25})) < 1e-3


@pytest.mark.parametrize(("size", "tau", "draws"), [(8, 0.01, 1.3e5), (32, 0.004, 1.3e6), (512, 0.004, 5.4e6)])
def test_the_upper_bound_takes_the_published_numbers_of_draws(size: int, tau: float, draws: float) -> None:
    right = zipf(size)
    assert samples_for(right, tau, 1e-6) == pytest.approx(draws, rel=0.05)
    assert tv_upper(sample(right, round(draws), np.random.default_rng(size)), right, 1e-6) == pytest.approx(tau, rel=0.1)


def test_the_lower_bound_comes_near_a_gross_difference() -> None:
    rng = np.random.default_rng(10)
    first, second = sample(FAULTS["flat"], 50_000, rng), sample(FAULTS["flat"], 50_000, rng)
    assert FAULTS["flat"].total_variation(RIGHT) - 0.03 < tv_lower(first, second, RIGHT, 1e-6) < FAULTS["flat"].total_variation(RIGHT)
