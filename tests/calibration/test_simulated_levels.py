"""False alarms simulated: none above nominal, with its confidence interval; far levels by importance sampling."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import binom, chi2

from specverify.law import Law
from specverify.stats import (
    Fit,
    RunWide,
    TwoSample,
    draft_excess,
    exact_p_value,
    goodness_of_fit,
    log_directed,
    log_matches,
    log_ratios,
    log_screen,
    log_steps,
    mmd_hamming,
    monte_carlo_p_value,
    surprisal,
)

SURE = 1e-4
"""A test of this file fails by chance at most this often, per level; the seeds are fixed anyway."""
LEVELS = (1e-2, 1e-3)
RIGHT = Law.of({token: 1 / (1 + token) for token in range(8)})
FAULTS = {"flat": Law.of(dict.fromkeys(range(8), 1)), "sharp": Law.of({token: (1 + token) ** -1.3 for token in range(8)})}
LOOKS = (100, 100, 200, 400, 800)
Rng = np.random.Generator


def sample(law: Law, size: int, rng: Rng) -> dict[int, int]:
    masses = list(law.probabilities.values())
    return {x: int(n) for x, n in zip(law.probabilities, rng.multinomial(size, masses), strict=True) if n}


def highest(log_e: Callable[[dict[int, int]], float]) -> Callable[[Rng], float]:
    """The largest e-value over five looks, as a p-value."""

    def run(rng: Rng) -> float:
        total: dict[int, int] = {}
        logs = []
        for size in LOOKS:
            for x, n in sample(RIGHT, size, rng).items():
                total[x] = total.get(x, 0) + n
            logs.append(log_e(total))
        return math.exp(-max(logs))

    return run


def matches(rng: Rng) -> float:
    pairs = rng.choice(8, size=(40, 2), p=list(RIGHT.probabilities.values()))
    return math.exp(-log_matches(int((pairs[:, 0] == pairs[:, 1]).sum()), 40, RIGHT, RIGHT))


def steps(rng: Rng) -> float:
    pairs = rng.choice(3, size=(200, 2), p=(0.5, 0.3, 0.2))
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    first = Law({0: 0.5, 1: 0.3, 2: 0.2})
    return math.exp(-log_steps({(int(a), int(b)): int(n) for (a, b), n in zip(kinds, counts, strict=True)}, first, first))


def two_sample(rng: Rng) -> float:
    test = TwoSample()
    draws = rng.choice(4, size=(150, 2), p=(0.4, 0.3, 0.2, 0.1))
    return math.exp(-max(test.add(int(x), int(y)) for x, y in draws))


def mmd(rng: Rng) -> float:
    text = rng.integers(3, size=(20, 6)).tolist()
    return mmd_hamming(text[:10], text[10:], permutations=199, seed=int(rng.integers(2**31))).p_value


def monte_carlo(rng: Rng) -> float:
    return monte_carlo_p_value(sample(RIGHT, 60, rng), RIGHT, simulations=999, seed=int(rng.integers(2**31)))


def exact(rng: Rng) -> float:
    right = Law({0: 0.7, 1: 0.2, 2: 0.1})
    return exact_p_value(sample(right, 20, rng), right)


def excess(rng: Rng) -> float:
    chances = rng.uniform(0.05, 0.95, 80)
    return math.exp(-draft_excess(zip(rng.random(80) < chances, chances, strict=True)).log_e)


def surprise(rng: Rng) -> float:
    return math.exp(-surprisal((x, RIGHT) for x, n in sample(RIGHT, 80, rng).items() for _ in range(n)).log_e)


def deep(kind: str) -> Callable[[Rng], float]:
    def run(rng: Rng) -> float:
        fit = goodness_of_fit(sample(RIGHT, 4_000, rng), RIGHT, alpha=1e-6)
        assert isinstance(fit, Fit)
        return getattr(fit, kind).p_value

    return run


def run_wide(rng: Rng) -> float:
    """Ten cases, the second half chosen by what the first half showed."""
    run = RunWide(FAULTS)
    for case in range(10):
        right = RIGHT if run.log_e < 0 else Law({0: 0.5, 1: 0.5})
        run.add(str(case), log_ratios(sample(right, 100, rng), right, FAULTS))
    return math.exp(-run.log_e)


TESTS: dict[str, tuple[Callable[[Rng], float], int]] = {
    "directed": (highest(lambda counts: log_directed(counts, RIGHT, FAULTS)), 300),
    "screen": (highest(lambda counts: log_screen(counts, RIGHT, FAULTS)), 200),
    "run-wide": (run_wide, 200),
    "matches": (matches, 500),
    "steps": (steps, 300),
    "two samples": (two_sample, 300),
    "mmd": (mmd, 100),
    "monte carlo": (monte_carlo, 100),
    "exact multinomial": (exact, 60),
    "draft excess": (excess, 300),
    "surprisal": (surprise, 60),
    "pearson, deep": (deep("pearson"), 300),
    "g, deep": (deep("g"), 300),
}
"""One p-value (or 1 / E) of a run under the right law, and how many runs the fast suite makes; the slow one makes a hundred times as many."""


def rates(name: str, runs: int) -> None:
    test, _ = TESTS[name]
    rng = np.random.default_rng([runs, *name.encode()])
    p_values = np.array([test(rng) for _ in range(runs)])
    for level in LEVELS:
        assert np.sum(p_values <= level) <= binom.ppf(1 - SURE, runs, level), level


@pytest.mark.parametrize("name", TESTS)
def test_no_test_accuses_a_right_law_more_often_than_it_says(name: str) -> None:
    rates(name, TESTS[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_no_test_accuses_a_right_law_more_often_than_it_says_in_many_runs(name: str) -> None:
    rates(name, 100 * TESTS[name][1])


def log_dirichlet_multinomial(table: np.ndarray, centre: np.ndarray, kappa: float) -> np.ndarray:
    total = table.sum(axis=1)
    return gammaln(kappa) - gammaln(kappa + total) + (gammaln(kappa * centre + table) - gammaln(kappa * centre)).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e-6, 1e-9])
@pytest.mark.parametrize(("cells", "expected"), [(10, 100), (10, 1_000), (40, 100)])
def test_both_tests_of_fit_keep_deep_levels_in_many_cells(cells: int, expected: int, level: float) -> None:
    """Importance sampling from a Dirichlet mixture whose dispersion puts the statistic near its critical value."""
    rng = np.random.default_rng([cells, expected])
    total, centre = cells * expected, np.full(cells, 1 / cells)
    kappa = total / (chi2.isf(level, cells - 1) / (cells - 1) - 1)
    tables = np.array([rng.multinomial(total, rng.dirichlet(kappa * centre)) for _ in range(20_000)])
    weights = np.exp(tables @ np.log(centre) - log_dirichlet_multinomial(tables, centre, kappa))
    fits = [goodness_of_fit(dict(enumerate(row.tolist())), Law(dict(enumerate(centre.tolist()))), alpha=level) for row in tables]
    for kind in ("pearson", "g"):
        hits = weights * np.array([getattr(fit, kind).p_value <= level for fit in fits])
        assert hits.mean() + 4 * hits.std() / math.sqrt(len(hits)) <= level
    plain = weights * np.array([fit.pearson.statistic >= chi2.isf(level, cells - 1) for fit in fits])
    assert plain.mean() > level / 3  # the sampling reaches the tail


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e-3, 1e-6])
def test_the_directed_process_keeps_its_level_at_any_look(level: float) -> None:
    """Importance sampling from the mixture itself: P(alarm) is the mean over its stopped runs of 1 / E."""
    rng = np.random.default_rng(11)
    runs, total = 1_000, 0.0
    for number in range(runs):
        fault, weight = list(FAULTS.values())[number % 2], (1.0, 0.3, 0.1, 0.03)[number // 2 % 4]
        law = Law({x: (1 - weight) * mass + weight * fault[x] for x, mass in RIGHT.probabilities.items()})
        counts: dict[int, int] = {}
        for _ in range(60):
            for x, n in sample(law, 100, rng).items():
                counts[x] = counts.get(x, 0) + n
            log_e = log_directed(counts, RIGHT, FAULTS)
            if log_e >= -math.log(level):
                total += math.exp(-log_e)
                break
    assert 0.01 * level < total / runs <= level


@pytest.mark.slow
def test_the_two_sample_test_keeps_a_level_of_a_millionth() -> None:
    """Importance sampling from two different laws, each run weighed by its probability under one law."""
    rng = np.random.default_rng(12)
    a, b, null = np.array([0.8, 0.2]), np.array([0.2, 0.8]), np.array([0.5, 0.5])
    weights = []
    for _ in range(4_000):
        test, log_weight = TwoSample(), 0.0
        for x, y in zip(rng.choice(2, 200, p=a), rng.choice(2, 200, p=b), strict=True):
            log_weight += math.log(null[x] * null[y] / (a[x] * b[y]))
            if test.add(int(x), int(y)) >= math.log(1e6):
                weights.append(math.exp(log_weight))
                break
        else:
            weights.append(0.0)
    assert 0 < np.mean(weights) + 4 * np.std(weights) / math.sqrt(len(weights)) <= 1e-6
