"""Rounds of a loop, by hand: table models, how rounds follow each other, what is read of them, and the laws that they must have."""

import itertools
import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specprops import draft_and_verify, loops
from specverify.contracts import CONTRACTS, Case, array
from specverify.contracts.draft_and_verify import NOWHERE, sorted_in
from specverify.contracts.picks import every
from specverify.contracts.table_models import Table, TableModel
from specverify.subjects import adapt, trial
from specverify.subjects.declare import Declaration
from specverify.subjects.subject import Description

CONTRACT = CONTRACTS["draft_and_verify"]
ANYBODY = Description("x", "draft_and_verify", "lossless", dtypes=("float64",))
ROWS = array("float64", (7, 2), itertools.chain(*((i / 8, 1 - i / 8) for i in range(7))))
CASE: Case = {"target": ROWS, "draft": ROWS, "prefix": [1, 0], "gamma": 1, "rounds": 2, "places": 0}


def bound(function: Callable, **options: object) -> trial.Bound:
    return trial.Bound(Declaration(function, "draft_and_verify", "x", arrays="list", **options), CONTRACT)  # type: ignore[arg-type]


def test_rows_go_by_what_follows_the_text() -> None:
    """Breadth first; longer continuations and other texts have one of the rows too, always the same."""
    table = Table(ROWS, (1, 0))
    numbers = [table.number((1, 0, *behind)) for depth in range(3) for behind in itertools.product(range(2), repeat=depth)]
    assert numbers == list(range(7))
    others = [(1, 0, *behind) for behind in itertools.product(range(2), repeat=5)] + [(), (1,), (0, 0)]
    assert len({table.number(one) for one in others}) > 4
    assert all(table.number(one) == Table(ROWS, (1, 0)).number(one) < 7 for one in others)


def test_a_model_tells_what_it_was_asked_and_who_wrote_into_its_rows() -> None:
    model = TableModel(Table(ROWS, (1,))).giving(lambda row: row.nested())
    untouched = model.clone()
    row = model([1, 0])
    assert (model.asked, row) == ([(1, 0)], [1 / 8, 7 / 8])
    assert adapt.plain(model) == adapt.plain(untouched) == [[[1, 0], [1 / 8, 7 / 8]]]
    row[0] = 0.0
    assert adapt.plain(model) != adapt.plain(untouched)
    with pytest.raises(ValueError, match="what follows token -1, and has the ids 0 … 1"):
        model((1, -1))


def test_tokens_and_rows_of_a_batch_of_one_are_read() -> None:
    def subject(target: Callable, draft: Callable, prefix: tuple, gamma: int) -> tuple:
        return np.array([[1, 0]]), np.array([[draft(prefix)]]), np.array([[1]])

    told = trial.call(bound(subject), CASE)
    assert [one[:2] for one in told["value"]] == [((1, 0), (1,))] * 2


def test_a_round_goes_on_from_what_the_one_before_emitted() -> None:
    seen = []

    def subject(target: Callable, draft: Callable, prefix: tuple, gamma: int) -> tuple:
        seen.append((prefix, gamma))
        return [1, 0][: len(seen)], [draft(prefix)], [1]

    reply = trial.call(bound(subject), CASE)
    assert seen == [((1, 0), 1), ((1, 0, 1), 1)]
    assert [one[0] for one in reply["value"]] == [(1,), (1, 0)]
    assert [one[4] for one in reply["value"]] == [((1, 0),), ((1, 0, 1),)]


@pytest.mark.parametrize(("rng", "seeds"), [(None, 2), ("counter", 1)])
def test_each_round_has_a_seed_of_its_own_unless_numbers_go_by_position(rng: str | None, seeds: int) -> None:
    seen = []

    def subject(target: Callable, draft: Callable, prefix: tuple, gamma: int, seed: int) -> tuple:
        seen.append(seed)
        return [1], []

    trial.sample(bound(subject, seed="int", rng=rng), CASE, n=3, key=1)
    assert len(set(seen)) == 3 * seeds


def test_results_come_in_many_forms() -> None:
    """Pairs, triples, mappings; q as lists, rows of arrays, none at all; tokens as an array."""
    row = [0.25, 0.75]
    forms = [([1], [row]), ((1,), np.array([row]), None), {"tokens": np.array([1]), "q": [np.array(row, dtype=np.float32)]}, ([np.int64(1)], None)]
    for form in forms:
        reply = trial.call(bound(lambda *_, form=form: form), {**CASE, "rounds": 1})
        ((tokens, drafted, q, *asked),) = reply["value"]
        assert (tokens, drafted, asked) == ((1,), None, [(), ()])
        assert list(q.rows()) == ([] if form is forms[-1] else [(0.25, 0.75)])


@pytest.mark.parametrize(("result", "told"), [
    (3, "no .tokens, q. or .tokens, q, drafted. but int"),
    (([1],), "no .tokens, q."),
    (([1], [[0.5, 0.5]] * 2), "q has 2 rows, and 1 tokens were to be drafted"),
    (([1], [[0.5, 0.25, 0.25]]), "shape .1, 2."),
    (([1], [[0.5, float("nan")]]), "not finite"),
    (([1], 0.5), "q came as float"),
    (([1], [[0.5, 0.5]], [0, 1]), "2 draft tokens are told beside 1 rows"),
    (([1], [[0.5, 0.5]], [2]), "each is an id of 0 … 1"),
    (([1, 0], []), "2 tokens came back for 0 draft tokens"),
    (([2], []), "token id 2 is outside"),
    ({"tokens": [1], "probs": []}, "a mapping with probs, tokens"),
])  # fmt: skip
def test_what_is_no_round(result: object, told: str) -> None:
    reply = trial.call(bound(lambda *_: result), CASE)
    assert reply["is"] == "malformed"
    assert re.search(told, str(reply["sentence"]))


@pytest.mark.parametrize(("row", "token", "right"), [
    ((0.25, 0.75), 0, {0: 1.0}),
    ((0.25, 0.75), 1, {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}),
    ((0.375, 0.625), 0, {0: 2 / 3, 1: 1 / 3}),
    ((0.0, 1.0), 0, {NOWHERE: 1.0}),
])  # fmt: skip
def test_places_of_a_draft_token(row: tuple, token: int, right: dict) -> None:
    """Of four: the token's share of the cumulative sum, cut by quarters."""
    found = every(lambda pick: sorted_in(pick, (token,), array("float64", (1, 2), row), 1, 4))
    assert {place: chance for chance, (place,) in found} == pytest.approx(right)


def test_places_are_uniform_where_drafts_follow_q_and_not_where_they_follow_another_row() -> None:
    q, other = (0.125, 0.5, 0.375), (0.25, 0.25, 0.5)
    for law, uniform in ((q, True), (other, False)):
        masses = dict.fromkeys(range(8), 0.0)
        for token, mass in enumerate(law):
            for chance, (place, _) in every(lambda pick, token=token: sorted_in(pick, (token,), array("float64", (1, 3), q), 2, 8)):
                masses[place] += mass * chance
        assert (masses == pytest.approx(dict.fromkeys(range(8), 1 / 8))) is uniform


def test_what_rounds_lack_is_completed_by_the_target() -> None:
    """One token of two in the first round, two in the second: the target's row behind all three gives the fourth."""
    q, case = array("float64", (1, 2), (0.5, 0.5)), CASE
    stream, table = CONTRACT.stream(case), Table(ROWS, (1, 0))
    outcome = (((1,), (0,), q, (), ()), ((0, 1), (0,), q, (), ()))
    ends = {told[2]: chance for chance, told in every(lambda pick: stream.finish(pick, {}, outcome))}
    line = table.line((1, 0, 1, 0, 1))
    assert ends == pytest.approx({(1, 0, 1, token): x for token, x in enumerate(line)})
    assert stream.finish(lambda _: 0, {}, ("raised", "ValueError")) == ("raised", "ValueError")


def test_cases_are_of_the_contract_and_their_laws_are_laws() -> None:
    given_cases = [*loops.first(ANYBODY), *draft_and_verify.several(ANYBODY), *(loops.sure("float64", 2, 1, draft) for draft in ("right", "wrong", "open"))]

    @settings(max_examples=20, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(loops.drawn(ANYBODY), st.sampled_from(given_cases)))
    def check(case: dict) -> None:
        CONTRACT.check(case)
        law = loops.right_law(case)
        assert sum(law.probabilities.values()) == pytest.approx(1)
        if case["rounds"] == 1:
            assert loops.standard_law(case).project(lambda outcome: outcome[1]).total_variation(law) < 1e-9

    check()


def test_the_sure_target_has_one_text_and_drafts_are_right_but_for_the_token_behind_them() -> None:
    target, draft = (Table(loops.sure("float64", 2, 1, "right")[name], loops.TEXT) for name in ("target", "draft"))
    texts = [(), (0,), (0, 1)]
    told = [[table.line((*loops.TEXT, *text)).index(1.0) for text in texts] for table in (target, draft)]
    assert told == [[0, 1, 2], [0, 1, 0]]
    assert {target.line((*loops.TEXT, *text)).index(1.0) for text in ((), (1,), (0,))} == {0, 1}


def test_a_row_of_q_is_compared_behind_its_own_drafts() -> None:
    """Where drafts are not told, those behind the accepted ones may be any that the draft was asked for."""
    table, text = Table(ROWS, (1, 0)), (1, 0)

    def strange(drafted: tuple | None, tokens: tuple, rows: list, asked: tuple) -> object:
        q = array("float64", (len(rows), 2), itertools.chain(*rows))
        return draft_and_verify._strange_row(table, text, draft_and_verify.Round(tokens, drafted, q, (), asked), 2)

    rows = [table.line(text), table.line((*text, 0))]
    asked = (text, (*text, 0))
    assert strange((0, 1), (1,), rows, asked) is None
    assert strange((1, 1), (1,), rows, asked) is not None
    assert strange(None, (1,), rows, asked) is None
    assert strange(None, (1,), rows, (text, (*text, 1))) is not None
    assert strange(None, (1, 0), rows, asked) is not None
    assert strange((0,), (1,), rows[:1], asked).outcome == "rows of q"


def test_half_precision_is_not_asked_for_laws() -> None:
    assert "float16 is declared" in str(
        draft_and_verify._as_they_are("standard")(SimpleNamespace(rule="standard", conventions={"drafting": "rows"}, dtypes=("float16",)))
    )
