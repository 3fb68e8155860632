"""Finite laws: values, their distance, and how they are shown."""

from specverify.law.exact import GRID, Comparison, ExactLaw, Path
from specverify.law.finite import Law, Outcome, freeze, product_law
from specverify.law.shown import show_outcome, show_probability, small_fraction

__all__ = ["GRID", "Comparison", "ExactLaw", "Law", "Outcome", "Path", "freeze", "product_law", "show_outcome", "show_probability", "small_fraction"]
