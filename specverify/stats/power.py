"""What a pass would have caught: weights and total variations that a number of draws detects 99 times in 100."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from specverify.law import GRID, Law
from specverify.stats.directed import WEIGHTS, factor, mass_outside
from specverify.stats.eprocess import KAPPAS

Z_99 = 2.3264
"""The normal quantile of 99 %."""

HALVINGS = 60
"""Of an interval: to a double's precision."""

MOST_DRAWS = 2**40
"""A sum of draws that nobody makes: what needs more is not detected."""


def growth(right: Law, fault: Law, share: float, weight: float) -> tuple[float, float]:
    """Mean and variance, per draw, of the directed log ratio at `weight` when a `share` of draws follows the fault and the others the right law."""
    terms = [(mass * (1 - share) + share * fault[x], factor(right, fault, weight, x)) for x, mass in right.probabilities.items()]
    outside = mass_outside(right, fault)
    terms.append((share * outside, 1 + (1 / GRID - 1) * weight * outside))
    logs = [(mass, math.log(ratio) if ratio > 0 else -math.inf) for mass, ratio in terms if mass > 0]
    mean = math.fsum(mass * log for mass, log in logs)
    return mean, math.fsum(mass * (log - mean) ** 2 for mass, log in logs) if mean > -math.inf else math.inf


def samples_needed(right: Law, fault: Law, *, alpha: float, alternatives: int, share: float = 1.0, weights: tuple[float, ...] = WEIGHTS) -> int | None:
    """Draws after which the directed average over `alternatives` faults and their weights is at 1 / alpha with 99 %, or none.

    Solves N D = ln(4 K / alpha) + 2.33 sqrt(N Var) for the best of the weights, D and Var the mean and variance of its log ratio per draw. The screen
    is half directed: ask for it with twice the alternatives.
    """
    threshold = math.log(len(weights) * alternatives / alpha)
    needs = [_solve(*growth(right, fault, share, weight), threshold) for weight in weights]
    return min((n for n in needs if n is not None), default=None)


def detectable_share(right: Law, fault: Law, draws: int, *, alpha: float, alternatives: int) -> float | None:
    """The smallest share of draws that may follow the fault so that `draws` detect it 99 times in 100; none if all of them are not enough."""

    def detected(share: float) -> bool:
        needed = samples_needed(right, fault, alpha=alpha, alternatives=alternatives, share=share)
        return needed is not None and needed <= draws

    return _smallest(detected)


def detectable_tv(right: Law, draws: int, *, alpha: float) -> float | None:
    """A total variation that the Dirichlet mixture detects 99 times in 100 in whatever direction it lies; none if `draws` are too few.

    Of all faults at total variation t those with (p' - p)^2 / p spread evenly are the hardest: chi-squared distance 4 t^2 (Cauchy and Schwarz). In the
    normal approximation the log of a component is r S / 2 + (d / 2) ln(1 - r), r = N / (N + kappa), S a noncentral chi-squared of d = V - 1 degrees of
    freedom and noncentrality 4 N t^2. Half the mixture is the Dirichlet one, of len(KAPPAS) components. A bound for cells that expect some draws; an estimate for
    cells that expect less than one.
    """
    return detectable_by(len(right.probabilities) - 1, draws, alpha=alpha)


@functools.lru_cache(maxsize=1024)
def detectable_by(dof: int, draws: int, *, alpha: float) -> float | None:
    """The same by the degrees of freedom alone, which is all that it depends on; none for a law of one outcome, which needs no mixture."""
    threshold = math.log(2 * len(KAPPAS) / alpha)
    return _smallest(lambda tv: _generic_log_e(dof, draws, tv) >= threshold) if dof else None


def _generic_log_e(dof: int, draws: int, tv: float) -> float:
    from scipy.special import chndtrix

    low = float(chndtrix(0.01, dof, 4 * draws * tv * tv))
    ratios = (draws / (draws + kappa) for kappa in KAPPAS)
    return max(r * low / 2 + dof / 2 * math.log1p(-r) for r in ratios)


def _solve(mean: float, variance: float, threshold: float) -> int | None:
    """The N of N mean = threshold + Z sqrt(N variance), a quadratic in sqrt N."""
    if mean <= 0 or not math.isfinite(variance):
        return None
    spread = Z_99 * math.sqrt(variance)
    draws = ((spread + math.sqrt(spread**2 + 4 * mean * threshold)) / (2 * mean)) ** 2
    return math.ceil(draws) if draws < MOST_DRAWS else None


def _smallest(holds: Callable[[float], bool]) -> float | None:
    """The smallest number from 0 to 1 from which on something holds, or none."""
    if not holds(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
