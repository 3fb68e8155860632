"""Laws of subjects in their worker: exact where their draws are followed, with the tool's drafts and completions; the process stays as it was."""

import itertools
import math
from collections.abc import Callable

import pytest

from specverify.contracts import CONTRACTS, array
from specverify.law import Law, product_law
from specverify.observe import Exactly, Observed, Question, explorable, law
from specverify.subjects.replies import Explored, Unexplored

TEXT = """
import collections, os, random, time
import numpy as np
import torch
import specverify as sv

@sv.subject("verify_chain")
def step(p, q, draft):
    for i, x in enumerate(draft):
        if not torch.rand(()) * q[i, x] < p[i, x]:
            return [*draft[:i], torch.multinomial((p[i] - q[i]).clamp(min=0), 1)]
    return [*draft, torch.multinomial(p[-1], 1)]

@sv.subject("verify_chain", seed="generator")
def with_generator(p, q, draft, generator):
    for i, x in enumerate(draft):
        if not torch.rand((), generator=generator) * q[i, x] < p[i, x]:
            return collections.deque([*draft[:i].tolist(), int(torch.multinomial((p[i] - q[i]).clamp(min=0), 1, generator=generator))])
    return [*draft, torch.multinomial(p[-1], 1, generator=generator)]

@sv.subject("sample", batch=True)
def rows(probs):
    return torch.multinomial(probs.reshape(-1, probs.shape[-1]), 1).reshape(probs.shape[:-1])

STOCK = []

@sv.subject("sample")
def stock(probs):
    if not STOCK:
        STOCK.extend(torch.rand(1000).tolist())
    return int((probs.cumsum(0) <= STOCK.pop()).sum())

@sv.subject("sample", arrays="list")
def python(probs):
    return random.choices(range(len(probs)), probs)[0]

@sv.subject("sample", arrays="list")
def array(probs):
    coin = np.random.rand()
    return int(sum(np.cumsum(probs) <= float(coin)))

@sv.subject("sample")
def dies(probs):
    if torch.rand(1) < 0.5:
        os._exit(3)
    return 0

@sv.subject("sample")
def raises(probs):
    if torch.rand(1) < 0.25:
        raise KeyError("no")
    return 0

@sv.subject("sample")
def words(probs):
    return "zero" if torch.rand(1) < 0.25 else 0
"""

P, Q = ((0.5, 0.25, 0.25), (0.125, 0.5, 0.375)), ((0.25, 0.5, 0.25),)
STEP = {"p": array("float32", (2, 3), itertools.chain(*P)), "q": array("float32", (1, 3), itertools.chain(*Q))}
ROW = {"probs": array("float32", (2,), (0.25, 0.75))}


@pytest.fixture
def loaded(subjects: Callable) -> dict:
    return subjects(TEXT)


@pytest.mark.parametrize("name", ["step", "with_generator"])
def test_a_step_with_its_drafts_and_completions(loaded: dict, name: str) -> None:
    (found,) = loaded[name].laws([STEP])
    assert isinstance(found, Explored)
    assert found.law.kind == "exact"
    assert {draft for draft, _, _ in found.law.probabilities} == {(0,), (1,), (2,)}
    joint: dict = {}
    for (_, _, tokens), mass in found.law.probabilities.items():
        joint[tokens] = joint.get(tokens, 0.0) + mass
    right = product_law(P)
    assert all(math.isclose(joint[tokens], mass, abs_tol=1e-7) for tokens, mass in right.probabilities.items())


def test_a_batch_of_rows(loaded: dict) -> None:
    (found,) = loaded["rows"].laws([{"probs": array("float32", (2, 2), (0.25, 0.75, 1, 0))}])
    assert found.law.probabilities == {(0, 0): 0.25, (1, 0): 0.75}


def test_exceptions_and_malformed_results_are_outcomes(loaded: dict) -> None:
    (found,) = loaded["raises"].laws([ROW])
    assert found.law.probabilities == {("raised", "KeyError"): 0.25, 0: 0.75}
    assert found.examples["KeyError"].message == "'no'"
    (found,) = loaded["words"].laws([ROW])
    assert found.law.probabilities == {("malformed", "token ids came as str"): 0.25, 0: 0.75}


@pytest.mark.parametrize(("name", "reason"), [("stock", "two executions|replay|plain"), ("array", "a plain one"), ("dies", "ends the process")])
def test_what_cannot_be_explored_is_told_and_sampled(loaded: dict, name: str, reason: str) -> None:
    subject = loaded[name]
    (found,) = subject.laws([ROW])
    assert isinstance(found, Unexplored)
    assert any(word in found.reason for word in reason.split("|")), found.reason
    if name != "dies":
        seen = law(
            subject, ROW, Question(product_law([(0.25, 0.75)]), lambda outcome: outcome if isinstance(outcome, tuple) else (outcome,)), run_key="k", draws=2_000
        )
        assert isinstance(seen, Observed)
        assert seen.steps[0] == ("exact", found.reason)
        assert seen.log_e < 5


def test_the_subjects_own_process_is_not_touched(loaded: dict) -> None:
    """Exploration runs in a copy: a stock of numbers that is filled there is not handed out here."""
    before = loaded["stock"].sample(ROW, 500, key=1)
    loaded["stock"].worker.close()
    loaded["stock"].laws([ROW])
    assert loaded["stock"].sample(ROW, 500, key=1) == before


def test_the_ladder_takes_the_exact_rung_first(loaded: dict) -> None:
    subject = loaded["rows"]
    seen = law(subject, ROW, Question(Law({0: 0.25, 1: 0.75}), lambda outcome: outcome), run_key="k", draws=100)
    assert isinstance(seen, Exactly)
    assert seen.comparison.verdict == "equal"
    assert explorable(subject)


def test_a_case_too_large_is_sampled_and_does_not_count_against_the_subject(loaded: dict) -> None:
    subject = loaded["rows"]
    for _ in range(5):
        (found,) = subject.laws([{"probs": array("float32", (4, 6), [1 / 6] * 24)}])
        assert found.size
    assert isinstance(subject.laws([ROW])[0], Explored)


def test_the_smoke_cases_of_random_contracts_are_small_enough() -> None:
    assert {name for name, contract in CONTRACTS.items() if contract.random} >= {"sample", "verify_chain", "verify_deterministic_draft"}
