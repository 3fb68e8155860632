"""One normaliser for what batched kernels give back; what it cannot read is shown, with what was expected."""

import random

import pytest

from specprops.batches import EMPTY, TOSS, TWICE, Padding, decided, taken_apart, together
from specverify.contracts import CONTRACTS, Malformed, array
from specverify.contracts.picks import at_random
from specverify.contracts.ragged import Expected, read
from specverify.errors import SpecverifyError

BATCH = CONTRACTS["verify_batch"]
DRAFTS = [(2, 0), (), (1,)]
RIGHT = ((2, 3), (1,), (1, 0))
FORMS = [
    ([[2, 3], [1], [1, 0]], {}),
    ([array("int32", (2,), (2, 3)), array("int32", (1,), (1,)), [1, 0]], {}),
    (array("int64", (3, 3), (2, 3, -1, 1, -1, -1, 1, 0, -1)), {}),
    (array("int64", (3, 3), (2, 3, 99, 1, 99, 99, 1, 0, 99)), {}),
    (array("int64", (3, 3), (2, 3, -1, 1, -1, -1, 1, 0, -1)), {"sentinel": -1}),
    ([array("int32", (3, 3), (2, 3, 3, 1, 0, 0, 1, 0, 2)), array("int64", (3,), (1, 0, 1))], {}),
    ([array("int32", (3, 3), (2, 3, 3, 1, 0, 0, 1, 0, 2)), array("int64", (3,), (2, 1, 2))], {"output": "rows and counts"}),
    ([array("int64", (3,), (1, 0, 1)), [3, 1, 0]], {"output": "accepted and bonus"}),
]
BAD = [
    ([[2, 3], [1]], {}, "one row for each of 3 requests"),
    ([[2, 3], [1, 1], [1, 0]], {}, "row 1 holds 2 tokens for 0 draft tokens; expected 3 rows of 1 to .3, 1, 2. ids below 4; the result is"),
    ([[2, 3], [], [1, 0]], {}, "row 1 holds 0 tokens"),
    ([[2, -1, 3], [1], [1, 0]], {}, "row 0 holds tokens behind an unused slot"),
    ([[2, 7], [1], [1, 0]], {"sentinel": -1}, "token id 7, which is outside 0 … 3"),
    ([array("float32", (3,), (1, 0, 1)), [3, 1, 0]], {}, "token ids came as float32"),
    ([[3, 0, 1], [3, 1, 0]], {"output": "accepted and bonus"}, "row 0 accepts 3 of 2 draft tokens"),
    ([[1, 0, 1]], {"output": "accepted and bonus"}, "no two vectors"),
    ([array("int32", (3, 1), (2, 1, 1)), array("int64", (3,), (1, 0, 1))], {}, "row 0 has 1 slots, and 2 tokens are told"),
    (None, {}, "no list or matrix"),
]


@pytest.mark.parametrize(("result", "told"), FORMS)
def test_every_form_reads_alike(result: object, told: dict) -> None:
    assert read(result, Expected(DRAFTS, 4, **told)) == RIGHT


@pytest.mark.parametrize(("result", "told", "sentence"), BAD)
def test_what_cannot_be_read_is_shown(result: object, told: dict, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        read(result, Expected(DRAFTS, 4, **told))


def test_two_rows_of_two_tokens_are_no_two_vectors_unless_declared() -> None:
    expected = Expected([(0,), (1,)], 4)
    assert read([[0, 1], [1, 0]], expected) == ((0, 1), (1, 0))
    assert read([[0, 1], [1, 0]], Expected([(0,), (1,)], 4, "accepted and bonus")) == ((1,), (1, 0))


@pytest.mark.parametrize("padding", [Padding(), Padding(1, 4), Padding(0, 3, poison=True)])
def test_requests_come_out_of_a_batch_as_they_went_in(padding: Padding) -> None:
    asked = [TOSS, EMPTY, TWICE]
    case = together("float32", asked, padding)
    BATCH.check(case)
    assert taken_apart(case) == asked
    BATCH.check(decided(case, 1))


def test_the_stream_draws_each_request_and_completes_it_from_its_own_rows() -> None:
    case = together("float32", [TOSS, EMPTY], Padding(1))
    stream, pick = BATCH.stream(case), at_random(random.Random(1))
    drawn = stream.draw(pick)
    assert drawn["draft"].shape == (2, 1)
    assert drawn["draft"].values[1] == 1
    (draft, n, tokens), empty = stream.finish(pick, drawn, ((1,), (0,)))
    assert (len(draft), n, len(tokens), tokens[0]) == (1, 0, 2, 1)
    assert empty == ((), 0, (0,))
    assert stream.finish(pick, drawn, ("raised", "ValueError")) == ("raised", "ValueError")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"lengths": array("int64", (2,), (2, 0))}, "lengths must lie"),
        ({"lengths": array("int64", (1,), (1,))}, "lengths must be an array"),
        ({"draft": array("int64", (2, 1), (2, 0))}, "draft must hold ids"),
        ({"temperature": array("float32", (2,), (0, 1))}, "point masses"),
        ({"seeds": array("float32", (2,), (0, 1))}, "seeds must be an array of int64"),
        ({"p": array("float32", (2, 2, 2), (0.5, 0.25, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5))}, "no probability distribution"),
        ({"q": array("float32", (2, 2), (0.5, 0.5, 0.25, 0.75))}, "p must have shape"),
    ],
)
def test_no_case_of_a_batch(change: dict, sentence: str) -> None:
    with pytest.raises(SpecverifyError, match=sentence):
        BATCH.check({**BATCH.smoke, **change})


def test_padding_may_be_anything() -> None:
    rows = (0.5, 0.5, 0.25, 0.75, 0.5, 0.5, float("nan"), -7)
    BATCH.check({**BATCH.smoke, "p": array("float32", (2, 2, 2), rows), "draft": array("int64", (2, 1), (0, -7))})


def test_keywords_and_generators_reach_the_subject(subjects: object) -> None:
    """Seeds of a case are handed over as they are, those that it lacks drawn; a row tells what its request was given."""
    told = subjects(
        """
import specverify as sv

@sv.subject("verify_batch", arrays="list", supports=("seeds", "temperature"))
def seeds(p, q, draft, lengths, *, seeds, temperature):
    return [[seed % 2] for seed in seeds]

@sv.subject("verify_batch", rng="generators")
def generators(p, q, draft, lengths, *, generators):
    return [[generator.initial_seed() % 2] for generator in generators]

@sv.subject("verify_batch", rng="generators")
def misfit(p, q, draft, lengths):
    return []
"""
    )
    case = {**BATCH.smoke, "seeds": array("int64", (2,), (7, 4))}
    assert told["seeds"].call(case).outcome == ((1,), (0,))
    assert told["generators"].call(case).outcome == ((1,), (0,))
    assert "cannot be called as verify_batch(p, q, draft, lengths, generators=)" in told["misfit"].description.problem
    assert {told["seeds"].call(BATCH.smoke, key=key).outcome for key in range(20)} > {((1,), (0,))}
