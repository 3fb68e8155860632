"""Whole loops as cases: what must come out, by hand; results in any form; and what each bad result is told."""

import itertools
import math

import pytest

from specprops import texts
from specprops.generate import tokens_of
from specverify.contracts import CONTRACTS, array
from specverify.contracts.base import Malformed, Opaque
from specverify.contracts.generate import calls, new_ids, prompts, room, tables
from specverify.errors import SpecverifyError
from specverify.subjects.subject import Description

ANYBODY = Description("x", "generate", "lossless")
GENERATE = CONTRACTS["generate"]
PROMPT, WIDTH, MOST = (1, 0), 4, 3


@pytest.mark.parametrize(
    "result",
    [[3, 1, 0], [[3, 1, 0]], array("int64", (3,), (3, 1, 0)), array("int64", (1, 3), (3, 1, 0)), [array("int64", (3,), (3, 1, 0))], [[[3, 1, 0]]]],
    ids=["list", "batch of lists", "tensor", "batch", "list of a tensor", "nested"],
)
def test_new_ids_come_in_any_form(result: object) -> None:
    assert new_ids(result, PROMPT, WIDTH, MOST) == (3, 1, 0)


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("a text", "text came back"),
        (Opaque("<Output>"), "an object of type Output"),
        ([1, 0, 3, 1, 0], r"the prompt comes first .* ids\[len\(prompt\):\]"),
        ([[3, 1, 0], 0.5], "2 values came back"),
        ([["sequences", array("int64", (1, 3), (3, 1, 0))]], "2 values came back"),
        (array("int64", (2, 3), (0,) * 6), r"shape \(2, 3\)"),
        (array("float32", (3,), (3, 1, 0)), "float32"),
        ([3, 4, 0], "token id 4 is outside 0 … 3"),
        ([-1], "token id -1"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_row_of_new_ids_is_told(result: object, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        new_ids(result, PROMPT, WIDTH, MOST)


@pytest.mark.parametrize("result", [[], [0, 1, 2, 3, 0, 1], [1, 0, 3]], ids=["nothing", "too long", "begins like the prompt"])
def test_length_and_tokens_are_left_to_the_properties(result: list[int]) -> None:
    assert new_ids(result, PROMPT, WIDTH, MOST) == tuple(result)


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompts": []}, {"prompts": [[]]}, {"prompts": [[3]]}, {"prompts": [1, 0]}, {"gamma": 0}, {"max_new_tokens": 0}, {"top_k": 4}, {"top_k": 1.0},
        {"temperature": -1.0}, {"temperature": math.nan}, {"top_p": 0.0}, {"eos": 3}, {"eos": True}, {"seed": 1}, {"context": 2}, {"context": 2.5}, {"prompts": [[[1], []]]}, {"prompts": [[[1], 1]]},
    ],
)  # fmt: skip
def test_what_is_no_case_is_refused(wrong: dict[str, object]) -> None:
    case = texts.case(ANYBODY, texts.SMALL[1])
    GENERATE.check(case)
    with pytest.raises(SpecverifyError, match="no case of generate"):
        GENERATE.check({**case, **wrong})


def test_a_law_has_the_products_of_rows_and_ends_with_its_end() -> None:
    law = texts.right_law(texts.case(ANYBODY, texts.Shape(((1, 3),), ((1, 1),), 1, 2), eos=1)).probabilities
    assert law == pytest.approx({(1,): 3 / 4, (0, 0): 1 / 16, (0, 1): 3 / 16})


@pytest.mark.parametrize(
    ("more", "right"),
    [
        ({}, (5 / 8, 2 / 8, 1 / 8)),
        ({"temperature": 0.5}, (25 / 30, 4 / 30, 1 / 30)),
        ({"temperature": 0.0}, (1, 0, 0)),
        ({"top_k": 2}, (5 / 7, 2 / 7, 0)),
        ({"top_p": 0.7}, (5 / 7, 2 / 7, 0)),
        ({"top_p": 0.5}, (1, 0, 0)),
    ],
    ids=str,
)
def test_a_row_is_warped(more: dict[str, object], right: tuple[float, ...]) -> None:
    case = texts.case(ANYBODY, texts.Shape(((5, 2, 1),), ((1, 1, 1),), 1, 1), **more)
    assert texts.warped(case, tables(case)[0], ()) == pytest.approx(right)


def test_sure_texts_are_sure_and_their_drafters_right_wrong_or_both() -> None:
    for drafter, agree in (("right", {True}), ("wrong", {False}), ("half", {True, False})):
        case = texts.sure(ANYBODY, 3, texts.LONG, drafter)
        target, draft = tables(case)
        text = texts.right_text(case)
        prefixes = [(*target.text, *text[:place]) for place in range(len(text))]
        assert {max(target.line(prefix)) for prefix in prefixes} == {1.0}
        assert {target.line(prefix) == draft.line(prefix) for prefix in prefixes} == agree
    assert set(text) == {0, 1, 2}


def test_ends_stand_at_every_place_accepted_missed_and_rejected() -> None:
    found = [(texts.right_text(case), tables(case)[1]) for case in texts.ends(ANYBODY)]
    lengths = [len(text) for text, _ in found]
    assert sorted(set(lengths)) == list(range(1, texts.ENDS + 1))
    drafted = [draft.line((*draft.text, *text[:-1]))[texts.END] == 1 for text, draft in found]
    assert drafted[:3] == [True, False, False]
    assert [texts.END in text for text, _ in found[:3]] == [True, True, False]


def test_a_loop_that_is_greedy_alone_is_asked_at_temperature_0() -> None:
    greedy = Description("x", "generate", "greedy-exact")
    assert {case["temperature"] for case in (*texts.lengths(greedy), *texts.ends(greedy), texts.sure(greedy, 2, 4))} == {0.0}


def test_the_law_is_that_of_the_last_call() -> None:
    case = texts.sure(ANYBODY, 1, 2, prompts=[texts.OTHER, texts.PROMPT])
    assert tables(case)[0].text == prompts(case)[-1] == tuple(texts.PROMPT)
    assert tokens_of((((0, 0), 1, 1), ((1, 2), 3, 4))) == (1, 2)


BATCHES = Description("x", "generate", "lossless", batch=True, conventions={"padding": "left"})
WITHIN = Description("x", "generate", "lossless", conventions={"context": 16})


def outcome(result: object, prompts_: object = ((PROMPT, (1,)),), **more: object) -> object:
    """What is read of a batch of two, a call of each model."""
    case = {
        **texts.case(ANYBODY, texts.Shape(((1, 1, 1, 1),), ((1, 1, 1, 1),), 1, 9), eos=3),
        "prompts": [[list(row) for row in call] for call in prompts_],
        "many": True,
    }
    return tuple(row[0] for row in GENERATE.outcome({**case, **more}, [[result, 1, 1]]))


@pytest.mark.parametrize(
    ("result", "more"),
    [
        ([[1, 2, 3], [0, 0, 2, 1]], {}),
        ([array("int64", (3,), (1, 2, 3)), array("int64", (4,), (0, 0, 2, 1))], {}),
        (array("int64", (2, 4), (1, 2, 3, -1, 0, 0, 2, 1)), {}),
        (array("int64", (2, 5), (1, 2, 3, 9, 9, 0, 0, 2, 1, 9)), {"sentinel": 9}),
        (array("int64", (2, 4), (1, 2, 3, 0, 0, 0, 2, 1)), {"sentinel": 0}),
        ([array("int64", (2, 4), (1, 2, 3, 0, 0, 0, 2, 1)), array("int64", (2,), (3, 4))], {}),
    ],
    ids=["lists", "tensors", "filled with no id", "filled with a number", "filled with an id", "lengths beside"],
)
def test_rows_of_a_batch_come_in_any_form(result: object, more: dict[str, object]) -> None:
    assert outcome(result, **more) == ((1, 2, 3), (0, 0, 2, 1))


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (array("int64", (2, 4), (1, 2, 3, 0, 0, 0, 2, 1)), "declare sentinel=0"),
        ([[1, 2, 3]], "no list or matrix of one row for each of 2 requests"),
        (array("int64", (4,), (1, 2, 3, 0)), "no list or matrix"),
        ([[1, 0, *[2] * 9], [0]], "the prompt comes first"),
        ([[1, 7, 2], [0]], "token id 7|tokens behind an unused slot"),
    ],
)
def test_what_is_no_batch_of_rows_is_told(result: object, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        outcome(result)


def test_a_row_that_goes_on_is_left_to_the_properties() -> None:
    assert outcome([[3, 0, 0], [1]]) == ((3, 0, 0), (1,))
    assert outcome(array("int64", (2, 3), (3, 0, 1, 2, 2, 2)), sentinel=0) == ((3, 0, 1), (2, 2, 2))


@pytest.mark.parametrize(("side", "right"), [("left", (0, 0, 1, 1, 0, 2)), ("right", (1, 0, 0, 1, 0, 2)), (None, (1, 0, 0, 1, 0, 2))])
def test_prompts_of_a_batch_are_filled_up_on_the_declared_side(side: str | None, right: tuple[int, ...]) -> None:
    case = {**texts.case(ANYBODY, texts.SMALL[1]), "prompts": [[[1], [1, 0, 2]]], "many": True, **({"padding": side} if side else {})}
    ((ids, lengths),) = GENERATE.prepare(case)["prompt"]  # type: ignore[misc, attr-defined]
    assert (ids.shape, ids.values, lengths.values) == ((2, 3), right, (1, 3))


def test_a_prompt_alone_is_a_batch_of_one_to_a_loop_that_takes_batches() -> None:
    ((ids, lengths),) = GENERATE.prepare({**texts.case(ANYBODY, texts.SMALL[1]), "many": True})["prompt"]  # type: ignore[misc, attr-defined]
    assert (ids.shape, ids.values, lengths.values) == ((1, 2), (1, 0), (2,))


def test_batches_have_short_and_long_prompts_and_rows_that_end_rounds_apart() -> None:
    for case in (*texts.batches(BATCHES), *texts.ends_apart(BATCHES), *texts.pair_of_rows(BATCHES)):
        GENERATE.check(case)
        assert len({len(prompt) for prompt in prompts(case)}) > 1
    apart = [[len(texts.right_text(case, prompt)) for prompt in prompts(case)] for case in texts.ends_apart(BATCHES)]
    assert [first < second for first, second in apart] in ([True, False], [False, True])
    assert all(abs(first - second) > case_gamma + 1 for (first, second), case_gamma in zip(apart, (3, 3), strict=True))
    alike = Description("x", "generate", "lossless", batch=True)
    for case in (*texts.batches(alike), *texts.ends_apart(alike), *texts.pair_of_rows(alike)):
        assert len({len(prompt) for prompt in prompts(case)}) == 1 < len(calls(case)[0])


def test_a_text_ends_at_the_context_limit_or_at_the_length_that_was_asked_for() -> None:
    cases = texts.at_the_limit(WITHIN)
    assert {room(case, prompts(case)[0]) % (case["gamma"] + 1) for case in cases if case["gamma"] == 3} == {0, 1, 2, 3}  # type: ignore[operator]
    for case in (*cases, *texts.lengths(WITHIN)):
        (prompt,) = prompts(case)
        assert len(texts.right_text(case)) == room(case, prompt) == min(case["max_new_tokens"], 16 - len(prompt))  # type: ignore[call-overload]


def test_all_orders_of_the_filters_agree_where_they_are_judged_at_once() -> None:
    (case,) = texts.filtered(ANYBODY)

    def kept(line: list[float], order: tuple[str, ...]) -> list[float]:
        for what in order:
            ranked = sorted(line, reverse=True)
            if what == "temperature":
                line = [x**2 for x in line]
            elif what == "top_k":
                line = [x if x >= ranked[1] else 0.0 for x in line]
            else:
                least = next(x for x, before in zip(ranked, [sum(ranked[:i]) for i in range(3)], strict=True) if before + x >= 0.87 * sum(line))
                line = [x if x >= least else 0.0 for x in line]
        return [x / sum(line) for x in line]

    for weights in texts.FILTERED.target:
        alone = texts.case(ANYBODY, texts.Shape((weights,), texts.Q3, 1, 1), temperature=0.5, top_k=2, top_p=0.87)
        right = texts.warped(alone, tables(alone)[0], ())
        for order in itertools.permutations(("temperature", "top_k", "top_p")):
            assert kept([float(x) for x in weights], order) == pytest.approx(right)
    assert case["top_k"] == 2


@pytest.mark.parametrize(
    ("draft", "gamma", "most", "mean", "variance"),
    [((1, 1), 3, 8, 2, 0), ((1, 1), 3, 9, 3, 0), ((0, 1), 1, 2, 1.5, 0.25), ((0, 1), 1, 1, 1, 0), ((0, 1), 1, 3, 2.25, 0.1875)],
    ids=["its own draft", "a round more", "two tokens", "one token", "three tokens"],
)
def test_calls_of_the_target_by_the_standard_rule(draft: tuple[float, ...], gamma: int, most: int, mean: float, variance: float) -> None:
    case = texts.case(ANYBODY, texts.Shape(((1, 1),), (draft,), gamma, most))
    assert texts.calls_expected(case) == pytest.approx((mean, variance), abs=1e-9)


def test_three_drafts_in_four_are_accepted_of_open_rows() -> None:
    (case,) = texts.open_rows(ANYBODY)
    p, q = (table.lines[0] for table in tables(case))
    assert sum(map(min, p, q)) == 3 / 4
