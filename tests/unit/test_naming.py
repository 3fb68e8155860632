"""Naming the fault: from laws or counts to a ranking of known faults."""

import math

import numpy as np
import pytest

from specprops import likely
from specverify.audit.records import Likely
from specverify.contracts import array
from specverify.faults.laws import CHAIN, alternatives, rows_of
from specverify.faults.naming import Seen, ranked
from specverify.faults.steps import Step
from specverify.law import Law
from specverify.report.text import likely_text

CASE = {"p": array("float64", (3, 3), likely.P), "q": array("float64", (2, 3), likely.Q)}
SHORT = {"p": array("float64", (2, 3), likely.P[:6]), "q": array("float64", (1, 3), likely.Q[:3])}


def seen(law: Law, case: dict = CASE, draws: int = 0) -> Seen:
    if draws:
        counts = np.random.default_rng(3).multinomial(draws, np.array(list(law.probabilities.values())))
        law = Law.empirical(dict(zip(law.probabilities, counts.tolist(), strict=True)))
    return Seen(law, Step()(*rows_of("verify_chain", case)), alternatives("verify_chain", case), draws)


@pytest.mark.parametrize("draws", [0, 20_000])
@pytest.mark.parametrize("name", ["residual-from-p", "reused-uniform", "lenience(0.8)", "bonus-from-q"])
def test_a_known_law_is_named_first(name: str, draws: int) -> None:
    best, second, *_ = ranked([seen(CHAIN[name](*rows_of("verify_chain", CASE)), draws=draws)])
    assert best.faults == (name.partition("(")[0],)
    assert best.fits
    assert second.behind > (math.log(1e3) if draws else 1e-3)


@pytest.mark.parametrize("draws", [0, 20_000])
def test_what_comes_about_now_and_then_is_named_too(draws: int) -> None:
    rows = rows_of("verify_chain", CASE)
    right, wrong = Step()(*rows), CHAIN["bonus-from-previous-row"](*rows)
    rare = Law({outcome: 0.85 * right[outcome] + 0.15 * wrong[outcome] for outcome in right.probabilities})
    assert ranked([seen(rare, draws=draws)])[0].faults == ("bonus-from-previous-row",)


@pytest.mark.parametrize("draws", [0, 20_000])
def test_a_right_law_has_no_likely_fault(draws: int) -> None:
    assert ranked([seen(Step()(*rows_of("verify_chain", CASE)), draws=draws)]) == ()


@pytest.mark.parametrize("draws", [0, 20_000])
def test_what_no_known_fault_explains_is_unknown(draws: int) -> None:
    p, q = rows_of("verify_chain", CASE)
    odd = Step(replace=lambda p, q, i: np.eye(3)[0])
    assert not ranked([seen(odd(p, q), draws=draws)])[0].fits


def test_failures_are_outcomes_like_others() -> None:
    assert not ranked([seen(Law({("raised", "ValueError"): 1.0}))])[0].fits


def test_faults_of_equal_law_are_named_together() -> None:
    """With one draft token every row behind is the last."""
    found = ranked([seen(CHAIN["residual-last-row"](*rows_of("verify_chain", SHORT)), SHORT)])
    assert set(found[0].faults) == {"residual-last-row", "replacement-row-late"}


def test_it_is_told_in_a_sentence() -> None:
    best = Likely(("residual-from-p",), "Draws from p.", ("B022",), fits=True, left=0.0, behind=0.0, drawn=True)
    next_ = Likely(("bonus-from-q",), "From q.", ("x",), fits=False, left=0.4, behind=math.log(340), drawn=True)
    assert likely_text((best, next_)) == "residual-from-p (B022): Draws from p. 340 times as likely as the next, bonus-from-q."
    assert likely_text((next_,)) == "unknown; the nearest, bonus-from-q (x), leaves 40% of the deviation unexplained"
