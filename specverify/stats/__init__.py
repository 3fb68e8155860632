"""Tests on samples: the sequential tests that decide, those that stand beside them, what they mean and what they would have caught."""

from specverify.law import GRID
from specverify.stats.blackbox import Drift, draft_excess, surprisal
from specverify.stats.bounds import coarse, coarsening, samples_for, tv_lower, tv_upper, tv_upper_suite
from specverify.stats.chisquare import ChiSquared, Fit, Refused, chi_squared, goodness_of_fit
from specverify.stats.composite import log_within
from specverify.stats.directed import WEIGHTS, Ratios, average, halves, log_directed, log_ratios, log_screen, ranking
from specverify.stats.eprocess import log_e_value
from specverify.stats.independence import log_matches, log_steps, one_uniform, pair_law
from specverify.stats.multinomial import exact_p_value, monte_carlo_p_value
from specverify.stats.power import detectable_by, detectable_share, detectable_tv, samples_needed
from specverify.stats.runwide import RunWide
from specverify.stats.strata import Stratum, strata
from specverify.stats.twosample import Discrepancy, TwoSample, log_two_sample, mmd_hamming

__all__ = [
    "GRID",
    "WEIGHTS",
    "ChiSquared",
    "Discrepancy",
    "Drift",
    "Fit",
    "Ratios",
    "Refused",
    "RunWide",
    "Stratum",
    "TwoSample",
    "average",
    "chi_squared",
    "coarse",
    "coarsening",
    "detectable_by",
    "detectable_share",
    "detectable_tv",
    "draft_excess",
    "exact_p_value",
    "goodness_of_fit",
    "halves",
    "log_directed",
    "log_e_value",
    "log_matches",
    "log_ratios",
    "log_screen",
    "log_steps",
    "log_two_sample",
    "log_within",
    "mmd_hamming",
    "monte_carlo_p_value",
    "one_uniform",
    "pair_law",
    "ranking",
    "samples_for",
    "samples_needed",
    "strata",
    "surprisal",
    "tv_lower",
    "tv_upper",
    "tv_upper_suite",
]
