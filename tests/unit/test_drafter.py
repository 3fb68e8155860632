"""The contract `drafter`: its cases, its results, and the drafts that its properties take for right."""

import pytest

from specprops import drafts
from specverify.contracts import CONTRACTS, Case, Malformed, array
from specverify.contracts.drafter import targets
from specverify.errors import SpecverifyError

CONTRACT = CONTRACTS["drafter"]
SMOKE = dict(CONTRACT.smoke)
DOCUMENTS: Case = {**SMOKE, "source": [[1, 2, 3], [3, 4]]}
MAPPED: Case = {**SMOKE, "id_map": array("int64", (2,), (3, 5)), "contexts": [[5]]}
"""Draft id 0 is 3 to the target, and 1 is 5."""
HALVES = array("float32", (1, 2), (0.5, 0.5))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"contexts": [[]]}, "none empty"),
        ({"contexts": [[2]]}, "every id of a context"),
        ({"gamma": 0}, "gamma must be"),
        ({"places": -1}, "places one of at least 0"),
        ({"source": [[-1]]}, "lists of ids"),
        ({"source": [[1]], "id_map": array("int64", (2,), (3, 5))}, "without an id map"),
        ({"id_map": array("int64", (3,), (3, 5, 6))}, "id_map"),
        ({"id_map": array("int64", (2,), (3, 5))}, "every id of a context"),
    ],
)
def test_no_case_of_the_contract(changed: Case, sentence: str) -> None:
    with pytest.raises(SpecverifyError, match=sentence):
        CONTRACT.check({**SMOKE, **changed})


@pytest.mark.parametrize(
    ("case", "result", "outcome"),
    [
        (SMOKE, [1], ((1,), None)),
        (SMOKE, None, ((), None)),
        (SMOKE, [1, 0], ((1, 0), None)),
        (SMOKE, [[1], None], ((1,), None)),
        (SMOKE, [None, None], ((), None)),
        (SMOKE, [[], []], ((), array("float64", (0, 2), ()))),
        (SMOKE, [array("int64", (1,), (1,)), array("int64", (1,), (0,))], ((1, 0), None)),
        (SMOKE, [array("int64", (1, 1), (1,)), HALVES], ((1,), HALVES)),
        (SMOKE, [array("int64", (1, 1), (1,)), array("float32", (1, 1, 2), (0.5, 0.5))], ((1,), HALVES)),
        (MAPPED, [array("int64", (1,), (3,)), HALVES], ((3,), HALVES)),
        (DOCUMENTS, [[9], HALVES], ((9,), HALVES)),
    ],
)
def test_forms_of_a_result(case: Case, result: object, outcome: object) -> None:
    assert CONTRACT.outcome(case, [result]) == (outcome,)


@pytest.mark.parametrize(
    ("case", "result", "sentence"),
    [
        (SMOKE, [2], "token 2 is drafted"),
        (SMOKE, [-1], "token -1 is drafted"),
        (DOCUMENTS, [-1], "token -1 is drafted"),
        (MAPPED, [1], "in the target's numbers"),
        (SMOKE, [["q", None], ["tokens", [1]]], "a mapping came back"),
        (SMOKE, [[1, 0], HALVES], "a row for each draft token"),
        (SMOKE, [[1], array("float32", (1, 2), (float("nan"), 1))], "not finite"),
        (SMOKE, array("float32", (1,), (1,)), "not as integers"),
    ],
)
def test_what_is_no_result(case: Case, result: object, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        CONTRACT.outcome(case, [result])


def test_a_mapped_model_reads_its_own_ids_and_writes_the_targets() -> None:
    """Rows behind draft id 1: the second; then behind (1, 0) and (1, 1), which have rows by a hash, all sure of 0 here."""
    rows = array("float32", (3, 2), (0, 1, 1, 0, 1, 0))
    case = {**MAPPED, "source": rows, "gamma": 1}
    assert targets(case) == (3, 5)
    assert drafts.right_drafts(case) == (5,)
    assert drafts.right_drafts({**case, "gamma": 2}) == (5, 3)


def test_drafts_from_documents_are_what_follows_the_last_id_inside_one() -> None:
    case = drafts.case(drafts.DOCUMENTS, [[6, 7]], 2)
    assert drafts.lawful(case) == {(), (8,), (8, 9), (4,)}
    assert drafts.lawful({**case, "contexts": [[4]]}) == {()}
    assert drafts.lawful(drafts.case([], [[2, 1, 2]], 3)) == {(), (1,), (1, 2)}


def test_places_of_drafts_that_tell_no_rows_are_none() -> None:
    finish = CONTRACT.stream({**SMOKE, "places": 2}).finish
    assert finish(lambda _sums: 0, {}, (((1,), None),)) == ()
    assert finish(lambda _sums: 0, {}, (((1,), array("float32", (1, 2), (0.5, 0.5))),)) == (0,)
    assert finish(lambda _sums: 0, {}, ("raised", "ValueError")) == ("raised", "ValueError")
