"""What stands around a step, by hand: what is right, how results are read, and what the searches meet."""

import math
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings

from specprops import grammar_mask, logprobs, processed_rows, processors, vocab_map
from specprops.readings import Judge, Reading, explained
from specprops.violation import Violation
from specverify.contracts import CONTRACTS, array
from specverify.contracts.grammar_mask import Grammar
from specverify.contracts.processed_rows import NEUTRAL
from specverify.subjects.replies import Value
from specverify.subjects.subject import Description

SPANS = dict.fromkeys(processors.LOOKS_OVER.values(), "prompt and generated")
GENERATED = dict.fromkeys(processors.LOOKS_OVER.values(), "generated")
LINE, TEXT = (2.0, -1.0, 0.5, 0.0), (3, 1, 1)
INF = math.inf


@pytest.mark.parametrize(("on", "spans", "row"), [
    ({"repetition_penalty": 2.0}, SPANS, (2, -2, 0.5, 0)),
    ({"presence_penalty": 1.0}, SPANS, (2, -2, 0.5, -1)),
    ({"presence_penalty": 1.0}, GENERATED, (2, -2, 0.5, 0)),
    ({"frequency_penalty": 0.5}, SPANS, (2, -2, 0.5, -0.5)),
    ({"temperature": 0.5}, SPANS, (4, -2, 1, 0)),
    ({"logit_bias": [[0, 1.0], [3, -1.0]]}, SPANS, (3, -1, 0.5, -1)),
    ({"no_repeat_ngram_size": 1}, SPANS, (2, -INF, 0.5, -INF)),
    ({"no_repeat_ngram_size": 2}, SPANS, (2, -INF, 0.5, 0)),
    ({"no_repeat_ngram_size": 3}, SPANS, LINE),
    ({"min_tokens": 3}, SPANS, LINE),
    ({"min_tokens": 3}, GENERATED, (-INF, -1, 0.5, 0)),
])  # fmt: skip
def test_each_processor_after_3_1_1(on: dict, spans: dict, row: tuple) -> None:
    """The prompt is 3, the end 0."""
    parameters = {**NEUTRAL, "prompt_length": 1, "eos_token_id": 0, **on}
    assert processors.processed(LINE, TEXT, parameters, spans, processors.SCALERS) == row


def test_orders_that_are_free_are_all_read_and_those_that_are_declared_are_not() -> None:
    """Three that do not commute make six orders; what penalties look at doubles them."""
    parameters = {**NEUTRAL, "prompt_length": 1, "eos_token_id": 0, "presence_penalty": 1.0, "temperature": 2.0, "logit_bias": [[0, 1.0]]}
    case = {**CONTRACTS["processed_rows"].smoke, "parameters": parameters}
    free = Description("x", "processed_rows", "lossless")
    told = Description("x", "processed_rows", "lossless", conventions={"penalties_over": "generated"})
    assert [len(processors.readings(one, case)) for one in (free, told)] == [12, 6]


def test_a_row_sees_the_drafts_before_it() -> None:
    case = {**CONTRACTS["processed_rows"].smoke, "prefix": array("int64", (2,), (2, 0)), "draft": array("int64", (1,), (1,))}
    assert processors.histories(case) == [(2, 0), (2, 0, 1)]


def test_rows_behind_a_forbidden_token_and_the_end_are_free() -> None:
    """0 once, then 1s, then a 2 that ends it: 1 is allowed at first too."""
    masks = grammar_mask.right(grammar_mask._case(grammar_mask.ENDING, 0, (0, 1, 2, 0)))
    assert masks == [(True, True, False), (False, True, True), (False, True, True), None, None]
    assert grammar_mask.right(grammar_mask._case(grammar_mask.ENDING, 1, (0,))) == [(False, True, True), None]


def test_an_automaton_moves_and_takes_back() -> None:
    grammar = Grammar([[1, -1], [-1, 0]], 0)
    assert [grammar.advance(token) for token in (1, 0, 0, 1)] == [False, True, False, True]
    grammar.rollback(1)
    assert (grammar.state, grammar.allowed()) == (1, [False, True])
    with pytest.raises(ValueError, match="2 tokens to take back of 1"):
        grammar.rollback(2)


@pytest.mark.parametrize("result", [
    [[True, False], [True, True]],
    array("bool", (2, 2), (True, False, True, True)),
    array("float32", (2, 2), (1, 0, 1, 1)),
    array("float32", (2, 2), (0, -INF, 0, 0)),
    array("int32", (2, 1), (1, -1)),
    [array("int64", (1,), (1,)), array("int64", (1,), (3,))],
])  # fmt: skip
def test_a_mask_comes_in_many_forms(result: object) -> None:
    told = CONTRACTS["grammar_mask"]
    assert told.outcome(told.smoke, result) == ((True, False), (True, True))


def test_what_is_added_may_forbid_nothing() -> None:
    told = CONTRACTS["grammar_mask"]
    assert told.outcome(told.smoke, array("float32", (2, 2), (0,) * 4)) == ((True, True),) * 2


@pytest.mark.parametrize(("conventions", "held", "right"), [
    ({}, (0, 2), (1, 4)),
    ({"table": "offsets"}, (0, 2), (1, 4)),
    ({"direction": "target to draft"}, (1, 4), (0, 2)),
    ({"direction": "target to draft", "table": "offsets"}, (1, 4), (0, 2)),
])  # fmt: skip
def test_ids_are_given_and_mapped_as_declared(conventions: dict, held: tuple, right: tuple) -> None:
    subject = Description("x", "vocab_map", "lossless", conventions=conventions)
    case = vocab_map._case(subject, (1, 3, 4), (0, 2))
    assert case["ids"].values == held
    assert case["table"].values == ((1, 2, 2) if "table" in conventions else (1, 3, 4))
    assert tuple(vocab_map.right(subject, case)) == right


def test_log_probabilities_are_of_logits_or_of_p() -> None:
    """Logits of 1 to 3 at temperature 1; at 1/2 of 1 to 9; p as it is."""
    case = {**CONTRACTS["logprobs"].smoke, "rows": array("float64", (2, 2), (0, math.log(3), 9, 9)), "emitted": 1, "temperature": 0.5}
    found = {kind: math.exp(rows[0][1]) for kind, rows in logprobs.laws(Description("x", "logprobs", "lossless"), case).items()}
    assert found == pytest.approx({"raw": 0.75, "processed": 0.9})
    of_p = logprobs.laws(Description("x", "logprobs", "lossless", conventions={"rows": "p"}), {**case, "rows": array("float64", (2, 2), (1, 0, 1, 0))})
    assert of_p == {"p": [[0.0, -INF]]}


@pytest.mark.parametrize("top", [0, 1])
def test_log_probabilities_come_with_lists_where_they_are_asked_for(top: int) -> None:
    told, entries = CONTRACTS["logprobs"], [-1.0, -2.0]
    lists = [array("int64", (2, 1), (1, 0)), [[-1.0], [-2.0]]]
    found = told.outcome({**told.smoke, "top": top}, [entries, lists] if top else entries)
    assert found == ((-1.0, -2.0), (((1,), (0,)), ((-1.0,), (-2.0,))) if top else None)


SUPPORTS = tuple(NEUTRAL)


@pytest.mark.parametrize("drawn", [
    lambda: (vocab_map, vocab_map.cases(Description("x", "vocab_map", "lossless", batch=True))),
    lambda: (grammar_mask, grammar_mask.drawn_chains(None)),
    lambda: (grammar_mask, grammar_mask.drawn_trees(Description("x", "grammar_mask", "lossless", supports=("tree",)))),
    lambda: (logprobs, logprobs.all_cases(Description("x", "logprobs", "lossless"))),
    lambda: (logprobs, logprobs.list_cases(Description("x", "logprobs", "lossless", conventions={"rows": "p"}))),
    lambda: (processed_rows, processed_rows.several(Description("x", "processed_rows", "lossless", supports=SUPPORTS))),
])  # fmt: skip
def test_every_case_that_is_searched_is_one_of_the_contract(drawn: Callable) -> None:
    module, strategy = drawn()
    name = module.__name__.rpartition(".")[2]

    @settings(max_examples=40, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def search(case: dict) -> None:
        CONTRACTS[name].check(case)

    search()


@pytest.mark.parametrize(("module", "subject"), [
    (vocab_map, Description("x", "vocab_map", "lossless")),
    (grammar_mask, Description("x", "grammar_mask", "lossless", supports=("tree",))),
    (logprobs, Description("x", "logprobs", "lossless")),
    (processed_rows, Description("x", "processed_rows", "lossless", supports=SUPPORTS)),
])  # fmt: skip
def test_the_first_cases_are_of_the_contract(module: object, subject: Description) -> None:
    names = ("first", "large", "none", "lacking", "chains", "forks", "wide", "accepted", "warm", "lists", "pairs", "masked", "long")
    for name in names:
        for case in getattr(module, name, lambda _: [])(subject):
            CONTRACTS[subject.contract].check(case)


STATEFUL = """
import specverify as sv

@sv.subject("grammar_mask", arrays="list")
def forgets(grammar, tokens, parents):
    rows = [grammar.allowed()]
    for token in tokens:
        grammar.advance(token)
        rows.append(grammar.allowed())
    return rows

@sv.subject("grammar_mask", arrays="list")
def fails_the_second_time(grammar, tokens, parents):
    grammar.transitions[grammar.state].pop()
    return [[x >= 0 for x in grammar.transitions[grammar.state]] + [True]] * (len(tokens) + 1) if grammar.transitions[grammar.state] else tokens[9]
"""


def test_a_second_call_gets_the_very_objects_of_the_first(subjects: Callable) -> None:
    made = subjects(STATEFUL)
    case = grammar_mask._case(grammar_mask.COUNTING, 0, (0,))
    reply = made["forgets"].call(case, again=True)
    assert isinstance(reply, Value)
    assert isinstance(reply.again, Value)
    assert (reply.outcome[0], reply.again.outcome[0]) == ((True, False, False), (False, True, False))
    assert made["forgets"].call(case) == Value(reply.outcome)
    assert not isinstance(made["fails_the_second_time"].call(case, again=True).again, Value)


def test_a_reading_that_explains_all_rows_tells_what_is_free_and_none_is_a_finding() -> None:
    """Two conventions of two words each; the rows tell the first, and leave the second open."""
    told = SimpleNamespace(remark="seen before")
    ways = [Reading(frozenset({f"first: {a}", f"second: {b}"}), [(float(a),)]) for a in (0, 1) for b in (0, 1)]
    judge = Judge(lambda a, b: a == b, str, lambda off: f"rows {off}")
    explained(told, [(1.0,)], ways, judge, "…")
    assert told.remark == "first: 1; seen before"
    with pytest.raises(Violation) as caught:
        explained(told, [(2.0,)], ways, judge, "…")
    assert (caught.value.kind, len(caught.value.table)) == ("rows [0]", 1)
