"""Batches of copies: counts that follow the law, in every form in which a batch may answer; failures as outcomes."""

from collections.abc import Callable

import pytest
import torch

import specref
from specref.rules import Standard
from specverify.contracts import Case, array, array_of, contract
from specverify.law import Law, product_law
from specverify.stats import log_e_value
from specverify.subjects import batched
from specverify.subjects.declare import Declaration
from specverify.subjects.trial import Bound

P = ((0.5, 0.25, 0.25), (0.125, 0.375, 0.5), (0.25, 0.5, 0.25))
Q = ((0.25, 0.25, 0.5), (0.5, 0.25, 0.25))
CASE = {"p": array("float64", (3, 3), [x for row in P for x in row]), "q": array("float64", (2, 3), [x for row in Q for x in row])}
SURE = 14.0
"""Natural logarithm of an e-value of a million."""


def right_step(p, q, draft):
    return specref.verify(Standard(), torch.as_tensor(p), torch.as_tensor(q), torch.as_tensor(draft), torch.default_generator)


def with_counts(p, q, draft):
    """What stands behind a row's end may be anything, where the lengths tell it."""
    tokens, accepted = right_step(p, q, draft)
    return tokens.clamp(min=0), accepted


def as_lists(p, q, draft):
    tokens, accepted = right_step(p, q, draft)
    return [row[: n + 1].tolist() for row, n in zip(tokens, accepted, strict=True)]


def as_numpy(p, q, draft):
    return right_step(p, q, draft).tokens.numpy().astype("int32")


def with_coins(p, q, draft, coins):
    """A row of the coins for each copy."""
    lengths = torch.full((len(p),), 2)
    tokens, accepted = Standard()(specref.rules.Round(p, q, draft, lengths, coins[:, :2], coins[:, 2]))
    return tokens, accepted


def bonus_from_q(p, q, draft):
    return right_step(torch.cat([p[:, :-1], q[:, -1:]], 1), q, draft)


def counts(step: Callable, keep: str, n: int = 100_000, case: Case = CASE, name: str = "verify_chain", **declared: object) -> dict:
    bound = Bound(Declaration(step, name, "step", batch=True, **declared), contract(name))
    found = batched.sample(bound, case, n=n, key=5, keep=keep, seconds=60)
    assert found["drawn"] == n
    return dict(found["counts"])


@pytest.mark.parametrize(("step", "arrays"), [(right_step, "torch"), (with_counts, "torch"), (as_lists, "torch"), (as_numpy, "numpy")])
def test_counts_follow_the_law(step, arrays) -> None:
    seen = counts(step, "tokens", 40_000, arrays=arrays)
    assert log_e_value(seen, product_law(P)) < 7


def test_coins_come_for_every_copy() -> None:
    assert log_e_value(counts(with_coins, "tokens", 40_000, rng="coins"), product_law(P)) < 7


def test_a_block_tells_how_many_were_accepted() -> None:
    """P(n = 0) is the mass of the first residual: theory S2."""
    seen = counts(right_step, "block")
    refused = sum(count for outcome, count in seen.items() if outcome[0] == 0) / 100_000
    assert refused == pytest.approx(sum(max(a - b, 0) for a, b in zip(P[0], Q[0], strict=True)), abs=0.01)


def test_a_draft_that_is_given_is_kept() -> None:
    seen = counts(right_step, "block", case={**CASE, "draft": array("int64", (2,), (2, 0))})
    assert {outcome[1:3] for outcome in seen if outcome[0] == 2} == {(2, 0)}


def test_the_same_key_gives_the_same_counts() -> None:
    assert counts(right_step, "block", 20_000) == counts(right_step, "block", 20_000)


def test_bonus_from_q_shows_in_blocks_and_not_in_first_tokens() -> None:
    """The twin that a certificate of the first token passes."""
    assert log_e_value(counts(bonus_from_q, "first"), Law({(t,): x for t, x in enumerate(P[0])})) < 7
    assert log_e_value(counts(bonus_from_q, "tokens"), product_law(P)) > SURE


def test_a_sampler_takes_many_rows() -> None:
    case = {"probs": array("float32", (3,), (0.5, 0.25, 0.25))}
    seen = counts(lambda probs: torch.multinomial(probs, 1)[:, 0], "first", case=case, name="sample")
    assert log_e_value(seen, Law({(t,): x for t, x in enumerate((0.5, 0.25, 0.25))})) < 7


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (lambda p, q, draft: p, "a batch of 10 copies gave an array of float64 of shape (10, 3, 3), not token ids (10, 3)"),
        (lambda p, q, draft: draft[:3], "a batch of 10 copies gave an array of int64 of shape (3, 2), not token ids (10, 3)"),
        (lambda p, q, draft: None, "a batch of 10 copies gave NoneType, not token ids (10, 3)"),
        (lambda p, q, draft: torch.full((10, 3), -1), "row 0 of a batch of 10 copies gave [-1, -1, -1]; a row begins with 1 to 3 token ids below 3"),
        (lambda p, q, draft: (torch.full((10, 3), 3), torch.zeros(10).long()), "row 0 of a batch of 10 copies gave [3, 3, 3]; a row begins with 1 to 3 token ids below 3"),
    ],
)  # fmt: skip
def test_what_is_no_batch_of_tokens_is_malformed(step, told: str) -> None:
    assert counts(step, "tokens", 10) == {("malformed", told): 10}


def test_an_exception_is_the_outcome_of_every_row() -> None:
    def fails(p, q, draft):
        raise IndexError("row 7")

    bound = Bound(Declaration(fails, "verify_chain", "step", batch=True), contract("verify_chain"))
    found = batched.sample(bound, CASE, n=10, key=5, keep="tokens", seconds=60)
    assert found["counts"] == [[("raised", "IndexError"), 10]]
    assert found["raised"]["IndexError"]["message"] == "row 7"


def test_rows_stay_in_their_dtype() -> None:
    case = {name: array("float32", array_of(CASE, name).shape, array_of(CASE, name).values) for name in CASE}
    kinds = set()

    def step(p, q, draft):
        kinds.update((p.dtype, q.dtype, draft.dtype))
        return right_step(p, q, draft)

    counts(step, "tokens", 100, case=case)
    assert kinds == {torch.float32, torch.int64}
