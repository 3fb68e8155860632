"""Verification rules for chains of draft tokens: one Protocol, exact rules and lossy ones."""

from specref.rules.block import Block
from specref.rules.chain import DeterministicDraft, Greedy, SampleAndMatch, Standard
from specref.rules.lossy import Lenient, Typical
from specref.rules.verdict import PAD, Round, Verdict, VerificationRule

__all__ = ["PAD", "Block", "DeterministicDraft", "Greedy", "Lenient", "Round", "SampleAndMatch", "Standard", "Typical", "Verdict", "VerificationRule"]
