"""Whole loops as cases: what must come out, by hand; results in any form; and what each bad result is told."""

import math

import pytest

from specprops import texts
from specprops.generate import tokens_of
from specverify.contracts import CONTRACTS, array
from specverify.contracts.base import Malformed, Opaque
from specverify.contracts.generate import new_ids, prompts, tables
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
        {"temperature": -1.0}, {"temperature": math.nan}, {"top_p": 0.0}, {"eos": 3}, {"eos": True}, {"seed": 1},
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
