"""Health notes: what a subject that is ill gets, and that one that is well gets none."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from specprops import sample, verify_deterministic_draft
from specprops.health import Health, largest
from specprops.rules import standard
from specverify.audit.health import health
from specverify.audit.records import PropertyRecord, Record, Sign, SubjectRecord
from specverify.audit.settings import Settings
from specverify.audit.verdict import Verdict, verdicts
from specverify.contracts import array
from specverify.faults.laws import rows_of
from specverify.law import Law
from specverify.observe import Observed
from specverify.report.summary import summary

ROW = PropertyRecord("s", "verify_chain", "CHN-008", "A sentence.", "joint", "ok", "statistical", cases=1, draws=10, law=True)
P, Q = ((0.5, 0.25, 0.25), (0.25, 0.5, 0.25)), ((0.25, 0.25, 0.5),)
CASE = {"p": array("float64", (2, 3), [x for row in P for x in row]), "q": array("float64", (1, 3), Q[0])}


def noted(*signs: Sign) -> tuple[str, ...]:
    return health([msgspec.structs.replace(ROW, signs=(sign,)) for sign in signs])


def test_a_healthy_sign_must_be_missed_by_more_than_chance() -> None:
    missing = Sign("acceptance", False, -15.0)
    assert noted(missing) == ()
    assert len(noted(missing, missing)) == 1
    assert noted(missing, missing, Sign("acceptance", True, 0.0)) == ()


def test_an_ill_sign_counts_once_it_is_seen() -> None:
    assert noted(Sign("unseeded", False, 0.0)) == ()
    assert len(noted(Sign("unseeded", False, 0.0), Sign("unseeded", True, 0.0))) == 1


def test_no_randomness_says_what_an_ignored_seed_would() -> None:
    (note,) = noted(Sign("seed", False, -30.0), Sign("variety", False, -30.0))
    assert "draws no randomness" in note


def test_a_note_stands_beside_the_headline_and_changes_no_exit_code() -> None:
    ill = msgspec.structs.replace(ROW, signs=(Sign("acceptance", False, -30.0),))
    (verdict,) = verdicts([SubjectRecord("s", "./x", "verify_chain", "lossless")], [ill])
    assert (verdict.exit_code, verdict.headline) == (0, "LOSSLESS, AS FAR AS TESTED, WITH A HEALTH NOTE")
    assert "never accepts" in verdict.sentence


def seen(counts: dict) -> Observed:
    return Observed({}, Law({}), sum(counts.values()), 0.0, None, outcomes=counts)


def signs(counts: dict) -> dict[str, Sign]:
    gathered = Health("verify_chain")
    gathered.outcomes(CASE, seen(counts))
    return {sign.kind: sign for sign in gathered.signs}


def test_accepted_lengths_are_counted() -> None:
    never = signs({((0,), 0, (1, 2)): 50, ((2,), 0, (0, 2)): 50})
    assert not never["acceptance"].seen
    assert never["acceptance"].log_chance == pytest.approx(100 * -0.3746934494414107)  # ln(1 - sum p q) of the first rows
    assert never["rejection"].seen
    assert not signs({((0,), 1, (0, 2)): 50})["rejection"].seen


def test_speed_stands_beside_that_of_the_standard_rule() -> None:
    gathered = Health("verify_chain")
    for counts in ({((0,), 0, (1, 2)): 50, ((2,), 1, (0, 2)): 150}, {((0,), 1, (0, 2)): 100}):
        gathered.outcomes(CASE, seen(counts))
    assert gathered.speed is not None
    assert (gathered.speed.steps, gathered.speed.accepted, gathered.speed.judged) == (300, 250, 300)
    assert gathered.speed.standard_accepted == pytest.approx(300 * 0.75)  # sum min(p, q) of the first rows
    assert gathered.speed.standard_judged == 300


def test_the_standard_accepted_length_is_that_of_its_law() -> None:
    p, q = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]), np.array([[0.75, 0.25], [0.5, 0.5]])
    case = {"p": array("float64", (3, 2), p.ravel().tolist()), "q": array("float64", (2, 2), q.ravel().tolist())}
    law = standard(p.tolist(), q.tolist())
    gathered = Health("verify_chain")
    gathered.outcomes(case, seen({((0, 0), *outcome): 1000 * mass for outcome, mass in law.probabilities.items()}))
    assert gathered.speed is not None
    assert gathered.speed.accepted == pytest.approx(gathered.speed.standard_accepted)
    assert gathered.speed.judged == pytest.approx(gathered.speed.standard_judged)


def test_a_completion_of_ours_is_no_variety_of_the_subject() -> None:
    assert not signs({((0,), 0, (1, 2)): 50, ((0,), 0, (1, 0)): 50})["variety"].seen
    assert signs({((0,), 0, (1, 2)): 50, ((0,), 0, (2, 2)): 50})["variety"].seen
    assert not signs({((0,), 0, (1, 2)): 50, ((1,), 0, (2, 2)): 50})["variety"].seen


def test_the_largest_probability_is_that_of_the_standard_rule() -> None:
    rows = rows_of("verify_chain", CASE)
    assert rows is not None
    law = standard(P, Q)
    for x, drawn in enumerate(Q[0]):
        accepted = {n: law.project(lambda outcome: (outcome[0], outcome[1][: outcome[0] + 1]))[1, (x, n)] / drawn for n in range(3)}
        rejected = (1 - min(1, P[0][x] / drawn)) * 1.0  # the residual is sure of token 0
        assert largest(*rows, (x,)) == pytest.approx(max(*accepted.values(), rejected))
    assert largest(rows[0], rows[1][:0], ()) == 0.25


def test_subnormal_probabilities_are_no_trouble() -> None:
    """Warnings are errors here, and p / q would overflow."""
    assert largest(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[5e-324, 1.0]]), (0,)) == 1.0


ILL = """
import bisect
import itertools
import random

import specverify as sv


def draw(row, u):
    sums = list(itertools.accumulate(row))
    return min(bisect.bisect_right(sums, u * sums[-1]), max(i for i, x in enumerate(row) if x > 0))


@sv.subject("verify_deterministic_draft", arrays="list")
def plain(p, draft):
    return [draw(p[0], random.random())]


@sv.subject("sample", arrays="list")
def greedy(probs):
    return max(range(len(probs)), key=probs.__getitem__)


@sv.subject("sample", arrays="list", seed="int")
def deaf(probs, seed):
    return draw(probs, random.random())


@sv.subject("sample", arrays="list", seed="int")
def well(probs, seed):
    return draw(probs, random.Random(seed).random())
"""
NOTES = {
    "plain": ["never accepts"],
    "greedy": ["draws no randomness"],
    "deaf": ["ignores its seed", "one seed"],
    "well": [],
}
LOOKING = {
    "plain": [verify_deterministic_draft.test_law],
    "greedy": [sample.test_law],
    "deaf": [sample.test_same_seed],
    "well": [sample.test_law, sample.test_same_seed],
}
"""The properties that look for signs; the whole suite takes half a minute."""


class Bench(SimpleNamespace):
    """What a property needs to be judged, with records kept in a list."""

    def blocker(self, _after: tuple[str, ...]) -> None:
        return None


def test_ill_subjects_are_noted_and_their_twin_is_not(subjects: Callable) -> None:
    for name, subject in subjects(ILL).items():
        written: list[Record] = []
        for looking in LOOKING[name]:
            with contextlib.suppress(pytest.fail.Exception, pytest.skip.Exception):
                looking(Bench(subject=subject, settings=Settings(scope="none"), write=written.append, replays=None))
        notes = health(record for record in written if isinstance(record, PropertyRecord))
        assert len(notes) == len(NOTES[name]), (name, notes)
        assert all(words in note for words, note in zip(NOTES[name], notes, strict=True)), (name, notes)


@pytest.mark.slow
def test_an_audit_tells_of_them(audit: Callable, project: Callable) -> None:
    done = audit(str(project(ILL)))
    assert done.code == 1, done.out
    assert done.out.count("WITH A HEALTH NOTE") == 2
    assert {name: one.exit_code for name, one in _verdicts(done).items()} == {"plain": 0, "greedy": 1, "deaf": 0, "well": 0}
    assert {name: len(one.health) for name, one in _verdicts(done).items()} == {name: len(notes) for name, notes in NOTES.items()}
    assert (done.run / "index.html").read_text().count('<section id="health">') == 1


def _verdicts(done: Any) -> dict[str, Verdict]:
    return {one.subject.subject: one for one in verdicts(done.subjects(), done.records)}


CORRECT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "slow"), [("tests/twins", {"chn_plain_decoding"}), ("tests/twins/pieces", {"det_plain"}), ("reference", set())])
def test_who_is_right_is_well_but_plain_decoding_is_slow(audit: Callable, folder: str, slow: set[str]) -> None:
    assert {name for name, one in _verdicts(audit(str(CORRECT / folder))).items() if one.health} == slow


def test_the_closing_lines_of_a_run_tell() -> None:
    ill = msgspec.structs.replace(ROW, signs=(Sign("unseeded", True, 0.0),))
    assert summary([ill])[-1].startswith("health [s]  with one seed")
