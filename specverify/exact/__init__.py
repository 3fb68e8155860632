"""Exact laws: every random choice of a function, explored with its exact probability. Needs torch; runs in the subject's interpreter."""

from specverify.exact.engine import choose, exact_law, real
from specverify.exact.space import NotExact

__all__ = ["NotExact", "choose", "exact_law", "real"]
