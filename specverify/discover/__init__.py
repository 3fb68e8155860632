"""Candidates in a checkout: which of its functions and classes could fill which contract, and why. Nothing is imported to say so."""

from specverify.discover.scoring import Candidate, candidates
from specverify.discover.symbols import Symbol, symbols

__all__ = ["Candidate", "Symbol", "candidates", "symbols"]
