"""The rules' joint laws: the same law of tokens under each, other accepted lengths."""

import pytest

from specprops.rules import RULES, block, standard
from specverify.law import product_law

P = [(0.2, 0.5, 0.3), (0.6, 0.1, 0.3), (0.25, 0.25, 0.5)]
Q = [(0.5, 0.25, 0.25), (0.1, 0.6, 0.3)]


@pytest.mark.parametrize("name", RULES)
def test_every_exact_rule_keeps_the_product_of_the_target_rows(name: str) -> None:
    law = RULES[name](P, Q)
    assert sum(law.probabilities.values()) == pytest.approx(1)
    assert law.project(lambda outcome: outcome[1]).total_variation(product_law(P)) < 1e-12


def test_block_verification_accepts_more() -> None:
    """Sun et al.'s example: 10/9 tokens token by token, 11/9 by block (accepted, beside the one that is always emitted)."""
    p, q = [(1 / 3, 2 / 3)] * 3, [(2 / 3, 1 / 3)] * 2
    accepted = [sum(n * mass for (n, _), mass in rule(p, q).probabilities.items()) for rule in (standard, block)]
    assert accepted == pytest.approx([10 / 9, 11 / 9])


def test_no_two_rules_look_alike_on_the_telling_rows() -> None:
    p, q = [(1 / 3, 2 / 3)] * 3, [(2 / 3, 1 / 3)] * 2
    laws = [rule(p, q) for rule in RULES.values()]
    assert min(a.total_variation(b) for i, a in enumerate(laws) for b in laws[:i]) > 0.05
