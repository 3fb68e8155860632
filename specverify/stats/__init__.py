"""Tests on samples: the sequential test that decides, and the chi-squared that stands beside it."""

from specverify.law import GRID
from specverify.stats.bounds import upper_bound
from specverify.stats.chisquare import ChiSquared, chi_squared
from specverify.stats.eprocess import log_e_value

__all__ = ["GRID", "ChiSquared", "chi_squared", "log_e_value", "upper_bound"]
