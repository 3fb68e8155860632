"""Subjects that take their uniform numbers as `coins=`: in streams and calls they are ours, and laws are near-exact where they cannot be explored."""

import itertools
from collections.abc import Callable, Iterator

import pytest

import specverify as sv
from specverify.contracts import array
from specverify.law import Law, product_law
from specverify.observe import Exactly, Observed, Question, ladder, law
from specverify.stats import log_e_value
from specverify.subjects.declare import DECLARED
from specverify.subjects.replies import Raised, Unexplored, Value
from specverify.subjects.source import from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Worker

TEXT = """
import ctypes, functools, itertools
import numpy as np
import torch
import specverify as sv

def opaque(function):
    # as compiled code reads its coins: nothing of it is followed
    @functools.wraps(function)
    def read(*rows, coins):
        return function(*rows, np.frombuffer(memoryview(coins), coins.dtype))
    return read

def step(p, q, draft, u, last=-1, lenient=1.0):
    draft = draft.astype(int)
    for i, x in enumerate(draft):
        if not u[i] * q[i, x] < p[i, x] * lenient:
            return [*draft[:i].tolist(), token(np.maximum(p[i] - q[i], 0), u[last])]
    return [*draft.tolist(), token(p[-1], u[last])]

def token(row, u):
    row = row.astype(float)
    sums = row.cumsum()
    return min(int((sums <= u * sums[-1]).sum()), int(np.flatnonzero(row)[-1])) if sums[-1] > 0 else 0

def through_memory(coins):
    return np.array((ctypes.c_float * len(coins)).from_address(coins.data_ptr()), dtype=np.float32)

@sv.subject("verify_chain", rng="coins", arrays="numpy", dtypes=("float32", "float64"))
@opaque
def right(p, q, draft, coins):
    return step(p, q, draft, coins)

@sv.subject("verify_chain", rng="coins", arrays="numpy")
@opaque
def used_again(p, q, draft, coins):
    return step(p, q, draft, coins, last=0)

@sv.subject("verify_chain", rng="coins", arrays="numpy")
@opaque
def lenient(p, q, draft, coins):
    return step(p, q, draft, coins, lenient=1.0001)

@sv.subject("verify_chain", rng="coins")
def kernel(p, q, draft, coins):
    return step(*(np.array(x.tolist()) for x in (p, q, draft)), through_memory(coins))

@sv.subject("verify_chain", rng="coins")
def followed(p, q, draft, coins):
    for i, x in enumerate(draft):
        if not coins[i] * q[i, x] < p[i, x]:
            rest = (p[i] - q[i]).clamp(min=0)
            return [*draft[:i], torch.searchsorted(rest.cumsum(0), coins[-1] * rest.sum(), right=True)]
    return [*draft, torch.searchsorted(p[-1].cumsum(0), coins[-1] * p[-1].sum(), right=True)]

@sv.subject("verify_chain", rng="coins", arrays="numpy")
def followed_in_numpy(p, q, draft, coins):
    return step(p, q, draft, coins)

@sv.subject("verify_deterministic_draft", rng="coins", arrays="numpy")
@opaque
def looked_up(p, draft, coins):
    return step(p, np.eye(p.shape[1])[draft], draft, coins)

@sv.subject("sample", rng="coins", arrays="numpy")
@opaque
def own_randomness(probs, coins):
    return token(probs, coins[0] if np.random.random() < 0.5 else 0.0)

CALLS = itertools.count()

@sv.subject("sample", rng="coins", arrays="numpy")
@opaque
def state(probs, coins):
    return token(probs, coins[0] if next(CALLS) % 3 else 0.0)

@sv.subject("sample", rng="coins", arrays="numpy")
@opaque
def behind(probs, coins):
    return token(probs, np.lib.stride_tricks.as_strided(coins, (2,))[1])

@sv.subject("sample", rng="coins", arrays="numpy")
@opaque
def too_many(probs, coins):
    return token(probs, coins[0]) or int(coins[1] < 1)

@sv.subject("sample", rng="coins", arrays="numpy", batch=True)
@opaque
def one_for_all(probs, coins):
    return [token(row, coins[0]) for row in probs] if probs.ndim > 1 else token(probs, coins[0])

@sv.subject("sample", rng="coins", arrays="numpy")
@opaque
def inside_another(probs, coins):
    sums = np.cumsum([probs[0] * 0.37, probs[2], probs[0] * 0.63, probs[1], *probs[3:]])
    return [0, 2, 0, 1, 3, 4, 5, 6, 7][min(int((sums <= coins[0] * sums[-1]).sum()), 8)]

@sv.subject("sample", arrays="numpy")
def no_coins(probs):
    return token(probs, memoryview(np.random.random(1))[0])

@sv.subject("sample", rng="coins")
def misnamed(probs, uniforms):
    return 0
"""
PLAIN = """
import bisect, itertools
import specverify as sv

@sv.subject("sample", rng="coins", arrays="list")
def plain(probs, coins):
    sums = list(itertools.accumulate(probs))
    return bisect.bisect_right(sums, coins[0] * sums[-1])
"""
P, Q = ((0.5, 0.25, 0.25), (0.125, 0.5, 0.375)), ((0.25, 0.5, 0.25),)
STEP = {"p": array("float32", (2, 3), itertools.chain(*P)), "q": array("float32", (1, 3), itertools.chain(*Q))}
ROW = {"probs": array("float32", (3,), (0.25, 0.5, 0.25))}
TOKENS = Question(product_law(P), lambda outcome: outcome[2])
TOKEN = Question(Law({0: 0.25, 1: 0.5, 2: 0.25}), lambda outcome: outcome)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Subject]]:
    """One worker for all tests: its imports take seconds."""
    file = tmp_path_factory.mktemp("coins") / "specverify_subjects.py"
    file.write_text(TEXT)
    worker = Worker(from_path(str(file)))
    yield {one.name: Subject(one.name, one, worker) for one in load(worker)[0]}
    worker.close()


def test_a_law_from_coins_with_drafts_and_completions(loaded: dict) -> None:
    for name in ("right", "kernel"):
        seen = law(loaded[name], STEP, TOKENS, run_key="k", draws=10)
        assert isinstance(seen, Exactly)
        assert (seen.evidence, seen.law.kind, seen.steps[0][0]) == ("near-exact", "near-exact", "exact")
        assert seen.comparison.verdict in {"equal", "rounding"}
    assert "where only a plain one fits" in law(loaded["right"], STEP, TOKENS, run_key="k", draws=10).steps[0][1]


@pytest.mark.parametrize(("name", "distance"), [("used_again", 0.05), ("lenient", 1e-5)])
def test_a_fault_is_found_in_one_law(loaded: dict, name: str, distance: float) -> None:
    seen = law(loaded[name], STEP, TOKENS, run_key="k", draws=10)
    assert isinstance(seen, Exactly)
    assert seen.comparison.verdict == "different"
    assert seen.comparison.tv > distance
    assert seen.law.paths[0, 0].steps[0][0] == "draft"


@pytest.mark.parametrize("name", ["followed", "followed_in_numpy"])
def test_what_is_read_through_torch_or_numpy_is_explored_exactly(loaded: dict, name: str) -> None:
    seen = law(loaded[name], STEP, TOKENS, run_key="k", draws=10)
    assert isinstance(seen, Exactly)
    assert (seen.evidence, seen.steps) == ("exact", ())


def test_notes_name_a_coin_read_twice(loaded: dict) -> None:
    (told,) = loaded["used_again"].laws([{**STEP, "draft": array("int64", (1,), (1,))}])
    assert "uniform #1 is never read" in told.law.notes
    two = {"probs": array("float32", (2, 2), (0.5, 0.5, 0.25, 0.75))}
    (told,) = loaded["one_for_all"].laws([two])
    assert any("uniform #0 decides places 0 and 1" in note for note in told.law.notes)


@pytest.mark.parametrize(("name", "reason"), [("own_randomness", "another outcome|besides"), ("state", "another outcome"), ("behind", "behind those")])
def test_what_else_decides_makes_no_law_and_is_sampled(loaded: dict, name: str, reason: str) -> None:
    (told,) = loaded[name].laws([ROW])
    assert isinstance(told, Unexplored)
    assert told.hidden
    assert any(word in told.reason for word in reason.split("|")), told.reason
    seen = law(loaded[name], ROW, TOKEN, run_key="k", draws=10)
    assert isinstance(seen, Observed)
    assert seen.steps == (("exact", told.above), ("near-exact", told.reason))


def test_a_thin_range_that_nobody_foresees_accuses_nobody(loaded: dict) -> None:
    """Token 2 has a thousandth, in the middle of the range of token 0: where the same comes on both sides, nothing points there."""
    weights = (0.3, 0.3, 0.001, 0.101, 0.1, 0.1, 0.05, 0.048)
    case = {"probs": array("float32", (8,), weights)}
    (told,) = loaded["inside_another"].laws([case], probe=0)
    assert 2 not in told.law.probabilities
    question = Question(Law(dict(enumerate(weights))), lambda outcome: outcome)
    seen = ladder._exactly(told, question)
    assert seen.comparison.verdict == "different"
    assert "were not met" in ladder._undecided(seen)


def test_more_coins_than_given_raise(loaded: dict) -> None:
    (told,) = loaded["too_many"].laws([ROW])
    assert told.law.probabilities[("raised", "IndexError")] == pytest.approx(0.25)
    assert told.examples["IndexError"].type == "IndexError"


def test_two_calls_have_coins_of_their_own(loaded: dict) -> None:
    p, q = ((0.25, 0.75), (0.5, 0.5)), (0.75, 0.25)
    case = {"p": array("float32", (2, 2), itertools.chain(*p)), "q": array("float32", (1, 2), q)}
    (told,) = loaded["right"].laws([case], spans=2)
    joint: dict = {}
    for outcome, mass in told.law.probabilities.items():
        tokens = tuple(token for one in outcome for token in one[2])
        joint[tokens] = joint.get(tokens, 0.0) + mass
    assert joint == pytest.approx(product_law([*p, *p]).probabilities, abs=1e-6)


def test_a_draft_that_was_looked_up(loaded: dict) -> None:
    case = {"p": STEP["p"], "draft": array("int64", (1,), (1,))}
    seen = law(loaded["looked_up"], case, TOKENS, run_key="k", draws=10)
    assert isinstance(seen, Exactly)
    assert seen.comparison.verdict in {"equal", "rounding"}


def test_streams_draw_coins_and_repeat_with_their_key(loaded: dict) -> None:
    first = loaded["right"].sample(STEP, 400, key=3)
    assert first == loaded["right"].sample(STEP, 400, key=3)
    assert first != loaded["right"].sample(STEP, 400, key=4)
    counts: dict = {}
    for outcome, n in first.counts.items():
        counts[outcome[2]] = counts.get(outcome[2], 0) + n
    assert log_e_value(counts, product_law(P)) < 5


def test_a_bound_is_put_into_the_coins_themselves(loaded: dict) -> None:
    subject = loaded["one_for_all"]
    low, high = (subject.call(ROW, put=(value, 0)) for value in (0.0, 1.0))
    assert (low.outcome, high.outcome) == (0, 2)
    assert (low.uniforms, low.put) == (1, "float32")
    assert subject.call(ROW, put=(0.0, 1)).put == ""
    wide = {"p": array("float64", (2, 3), itertools.chain(*P)), "q": array("float64", (1, 3), itertools.chain(*Q)), "draft": array("int64", (1,), (0,))}
    assert isinstance(seen := loaded["right"].call(wide, put=(1.0, 1)), Value)
    assert (seen.uniforms, seen.put) == (2, "float64")
    assert isinstance(loaded["too_many"].call(ROW, put=(0.0, 0)), Raised)


def test_coins_in_a_list_are_followed_too(subjects: Callable) -> None:
    seen = law(subjects(PLAIN)["plain"], ROW, TOKEN, run_key="k", draws=10)
    assert isinstance(seen, Exactly)
    assert (seen.evidence, seen.comparison.verdict) == ("exact", "equal")


def test_without_coins_the_record_says_so(loaded: dict) -> None:
    seen = law(loaded["no_coins"], ROW, TOKEN, run_key="k", draws=10)
    assert isinstance(seen, Observed)
    assert seen.steps[1] == ("near-exact", "it declares no coins that could be handed to it")


def test_a_signature_without_coins_is_told(loaded: dict) -> None:
    assert "cannot be called as sample(probs, coins=)" in (loaded["misnamed"].description.problem or "")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"rng": "coin"}, "Did you mean 'coins'"), ({"contract": "warp", "rng": "coins"}, "warp takes no coins"), ({"rng": "counter"}, "")],
)
def test_the_option_is_checked(options: dict, sentence: str) -> None:
    if not sentence:
        sv.subject(**{"contract": "sample", **options})
        return
    with pytest.raises(sv.SpecverifyError, match=sentence):
        sv.subject(**{"contract": "sample", **options})
    DECLARED.clear()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("right", 0), ("kernel", 0), ("lenient", 1), ("used_again", 1)])
def test_an_audit_of_coins(project: Callable, audit: Callable, name: str, code: int) -> None:
    """Every law is near-exact, with the reason why it is not exact."""
    kept = TEXT[: TEXT.index("@sv.subject")] + "".join(f"@sv.subject{part}" for part in TEXT.split("@sv.subject")[1:] if f"def {name}(" in part)
    done = audit(str(project(kept)))
    assert done.code == code, done.out
    laws = {record.property: record.evidence for record in done.records if getattr(record, "law", False)}
    assert laws["CHN-008"] == "near-exact"
    assert all(finding.evidence == "near-exact" and finding.steps[0][0] == "exact" for finding in done.findings() if finding.severity == "finding")
