"""Which part of a step goes wrong is named rightly, from exact laws and from draws, and a right one is never called wrong."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from specprops import likely, rules
from specprops.parts import parts
from specverify.audit.records import Part
from specverify.contracts import Case, array
from specverify.faults.laws import CHAIN, right_law
from specverify.law import ExactLaw, Law
from specverify.observe import Exactly, Observed, Question
from specverify.report.text import parts_text
from specverify.stats import strata
from specverify.subjects.subject import Description

P, Q = np.array(likely.P).reshape(3, 3), np.array(likely.Q).reshape(2, 3)
CASE: Case = {"p": array("float64", (3, 3), likely.P), "q": array("float64", (2, 3), likely.Q)}
STANDARD = Description("step", "verify_chain", "lossless", rule="standard")
REPLACEMENTS = {("replacement", 1), ("replacement", 2)}
ACCEPTED = {("acceptance", 1), ("accepted", 1), ("acceptance", 2), ("accepted", 2)}
WRONG = {
    "bonus-from-q": {("bonus", 3)},
    "bonus-from-previous-row": {("bonus", 3)},
    "residual-from-p": REPLACEMENTS,
    "residual-row-zero": {("replacement", 2)},
    "reused-uniform": REPLACEMENTS,
    "lenience(0.8)": ACCEPTED | REPLACEMENTS,
    "lenient-acceptance(0.8)": ACCEPTED,
    "first-draft-token-accepted": {("acceptance", 1), ("accepted", 1)},
    "last-draft-token-accepted": {("acceptance", 2), ("accepted", 2)},
    "one-uniform-for-all": {("acceptance", 2), ("accepted", 2)},
}


def with_draft(law: Law) -> dict:
    """(draft, n, tokens), as observations have it; the draft is not looked at."""
    return {((0, 0), *outcome): mass for outcome, mass in law.probabilities.items()}


def explored(law: Law) -> Exactly:
    known = ExactLaw(law.probabilities)
    return Exactly(known, law, known.compare(law), Question(law, lambda outcome: outcome), outcomes=with_draft(law))


def drawn(law: Law, draws: int, seed: int) -> Observed:
    found: dict = {}
    for outcome in random.Random(seed).choices(*zip(*with_draft(law).items(), strict=True), k=draws):
        found[outcome] = found.get(outcome, 0) + 1
    return Observed({}, law, draws, 0.0, None, outcomes=found)


def wrong(found: tuple[Part, ...]) -> set[tuple[str, int]]:
    return {(one.part, one.position) for one in found if one.wrong}


@pytest.mark.parametrize("fault", WRONG)
def test_the_wrong_parts_of_an_explored_law_are_named(fault: str) -> None:
    assert wrong(parts(STANDARD, CASE, explored(CHAIN[fault](P, Q)))) == WRONG[fault]


@pytest.mark.parametrize("fault", ["bonus-from-q", "residual-from-p", "reused-uniform", "lenience(0.8)"])
def test_what_draws_call_wrong_is_wrong(fault: str) -> None:
    found = wrong(parts(STANDARD, CASE, drawn(CHAIN[fault](P, Q), 20_000, 1)))
    assert found
    assert found <= WRONG[fault]


def test_no_part_of_a_right_step_is_wrong() -> None:
    right = right_law("verify_chain", P, Q)
    assert {(one.part, one.position) for one in strata(right.probabilities, P.tolist(), Q.tolist())} == ACCEPTED | REPLACEMENTS | {("bonus", 3)}
    assert all(one.distance < 1e-15 for one in strata(right.probabilities, P.tolist(), Q.tolist()))
    assert not any(wrong(parts(STANDARD, CASE, drawn(right, 2_000, seed))) for seed in range(50))


def test_a_part_that_should_not_be_reached_is_wrong() -> None:
    (acceptance, replacement) = strata({(0, (0, 1)): 0.5}, [[0.5, 0.5], [1, 0]], [[0.5, 0.5]])
    assert (replacement.part, replacement.distance, acceptance.distance) == ("replacement", 1.0, 1.0)


def test_other_rules_other_steps_and_failures_are_left_alone() -> None:
    p, q = P.tolist(), Q.tolist()
    for declared in (None, "block", "sample-and-match"):
        assert parts(Description("step", "verify_chain", "lossless", rule=declared), CASE, explored(rules.block(p, q))) == ()
    assert parts(STANDARD, {**CASE, "draft": array("int64", (2,), (0, 0))}, explored(rules.block(p, q))) == ()
    of_two_calls = SimpleNamespace(outcomes={(((0, 0), 1, (0, 1, 1)), ((0, 0), 1, (0, 1, 1))): 1, ("raised", "ValueError"): 1})
    assert parts(STANDARD, CASE, of_two_calls) == ()  # type: ignore[arg-type]


def test_the_text_names_what_is_wrong_and_what_is_not() -> None:
    given = parts(STANDARD, CASE, explored(CHAIN["residual-row-zero"](P, Q)))
    assert parts_text(given) == "the replacement at position 2 (total variation 0.6); the acceptance, accepted tokens and the bonus show nothing wrong"
    few = (Part("bonus", 2, 900, 20.72, 0.3, True), Part("accepted", 1, 900, 0.1, 0.01, False))
    assert parts_text(few) == "the bonus (E = 10^9.0 from 900 draws); accepted tokens show nothing wrong"
    assert parts_text(few[1:]).startswith("no part alone; accepted tokens show nothing wrong")
