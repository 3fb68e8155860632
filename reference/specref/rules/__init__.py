"""Verification rules behind two Protocols, for chains and for trees of draft tokens: exact rules and lossy ones."""

from specref.rules.block import Block
from specref.rules.chain import DeterministicDraft, Greedy, SampleAndMatch, Standard
from specref.rules.lossy import Lenient, Typical
from specref.rules.tree import KSequential, RecursiveRejection
from specref.rules.tree_given import DeterministicChildren, GreedyTree, TrieSampleAndMatch
from specref.rules.tree_verdict import TreeRound, TreeRule, TreeVerdict
from specref.rules.verdict import PAD, Round, Verdict, VerificationRule

__all__ = [
    "PAD",
    "Block",
    "DeterministicChildren",
    "DeterministicDraft",
    "Greedy",
    "GreedyTree",
    "KSequential",
    "Lenient",
    "RecursiveRejection",
    "Round",
    "SampleAndMatch",
    "Standard",
    "TreeRound",
    "TreeRule",
    "TreeVerdict",
    "TrieSampleAndMatch",
    "Typical",
    "Verdict",
    "VerificationRule",
]
