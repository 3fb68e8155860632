"""A packed batch of trees gives links and rows by slot; what comes back is read as rows; requests are taken out of a batch and put together again."""

import ast
import math
from pathlib import Path

import pytest

from specprops import packed_trees, tree_claims
from specprops.tree_cases import right_law
from specprops.verify_chain import Draw
from specverify.contracts import CONTRACTS, Malformed, array
from specverify.contracts.packed_trees import PackedTrees
from specverify.contracts.verify_tree_lcrs import requests
from specverify.errors import SpecverifyError
from specverify.observe.exploring import explored
from specverify.subjects.replies import Explored
from specverify.subjects.subject import Description

LCRS = CONTRACTS["verify_tree_lcrs"]
DRAWN = Description("x", "verify_tree_lcrs", "lossless", siblings="with-replacement", supports=("temperature", "undefined padding"))
GIVEN = Description("x", "verify_tree_lcrs", "lossless", siblings="deterministic", supports=("seeds",))
ROWS = (0.5, 0.5, 0.25, 0.75, 0.75, 0.25, 1.0, 0.0, 0.0, 1.0)
CASE = {
    "p": array("float32", (5, 2), ROWS), "q": None, "parents": array("int64", (3,), (-1, -1, 0)), "tokens": array("int64", (3,), (1, 0, 1)),
    "sizes": array("int64", (2,), (3, 0)), "pad": 0,
}  # fmt: skip
"""A tree of three nodes, the third under the first, and a request without a tree."""
LINES = 10
"""Of an adapter, its decorator and its name not counted."""


def batch(**change: object) -> PackedTrees:
    return PackedTrees({**CASE, **change}, lambda one: one.nested())


def test_links_and_rows_stand_by_slot() -> None:
    one = batch(slots=5).lcrs()
    assert (one.first_child, one.next_sibling) == ([[1, 3, -1, -1, -1], [-1] * 5], [[-1, 2, -1, -1, -1], [-1] * 5])
    assert one.tokens == [[0, 1, 0, 1, 0], [0] * 5]
    assert one.target[0] == [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [1, 0], [1, 0]]
    assert one.target[1][0] == [0, 1]
    assert one.q is None


def test_lists_end_as_they_are_asked_to_but_not_with_a_node() -> None:
    assert batch().lcrs(end=0).first_child == [[1, 3, 0, 0], [0] * 4]
    assert batch().lcrs(end=4).next_sibling == [[4, 2, 4, 4], [4] * 4]
    with pytest.raises(ValueError, match="3 is the slot of a node"):
        batch().lcrs(end=3)


def test_slots_without_a_node_may_hold_what_is_no_id_and_no_number() -> None:
    one = batch(slots=5, pad=2**31 - 1).lcrs()
    assert one.tokens[0][4] == one.first_child[0][4] == one.next_sibling[1][1] == 2**31 - 1
    assert math.isnan(one.target[1][1][0])
    assert one.first_child[1][0] == -1


def test_declared_scratch_is_poisoned_and_temperatures_are_neutral() -> None:
    one = batch(scratch=["path"], poison=-7)
    assert (one.scratch("path"), one.scratch("out")) == ([[-7] * 4] * 2, [[0] * 4] * 2)
    assert (one.temperature, one.greedy, one.sizes) == ([1, 1], [False] * 2, [3, 0])


PATHS = [
    ([[[1, 3], [-1, -1]], [0, 1]], ((1, 1, 0), (1,))),
    ([[[0, 2, -1], [0, -1, -1]], [0, 1]], ((0, 0), (1,))),
    ([array("int32", (2, 2), (1, -1, -1, -1)), array("int64", (2,), (1, 1))], ((1, 1), (1,))),
]
BAD = [
    ([[[3], []], [0, 1]], "from slot 0 to 3"),
    ([[[2, 3], []], [0, 1]], "from slot 2 to 3"),
    ([[[1, -1, 3], []], [0, 1]], "goes on behind its end"),
    ([[[], [1]], [0, 1]], "the path of request 1"),
    ([[[1]], [0]], "no row of slots and no token for each of 2"),
    ([[[1], []], [5, 1]], r"behind the paths are \[5, 1\]"),
]


@pytest.mark.parametrize(("result", "told"), PATHS)
def test_paths_of_slots_are_read_as_tokens(result: object, told: object) -> None:
    assert LCRS.outcome({**CASE, "output": "path and token"}, result) == told


@pytest.mark.parametrize(("result", "sentence"), BAD)
def test_paths_that_are_none(result: object, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        LCRS.outcome({**CASE, "output": "path and token"}, result)


def test_rows_are_no_longer_than_the_longest_branch_and_one() -> None:
    assert LCRS.outcome(CASE, [[1, 1, 0], [1]]) == ((1, 1, 0), (1,))
    with pytest.raises(Malformed, match="row 1 holds 2 tokens"):
        LCRS.outcome(CASE, [[1], [1, 1]])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sizes": array("int64", (2,), (2, 0))}, "the sum of sizes"),
        ({"sizes": array("int64", (0,), ())}, "at least one request"),
        ({"parents": array("int64", (3,), (-1, 1, 0))}, "a node before"),
        ({"tokens": array("int64", (3,), (1, 2, 0))}, "ids of the vocabulary"),
        ({"p": array("float32", (4, 2), ROWS[:8])}, "p must have 5 rows"),
        ({"seeds": array("int64", (1,), (1,))}, "seeds must be"),
        ({"ids": "int8"}, "ids must be one of"),
        ({"other": 1}, "no case of verify_tree_lcrs"),
    ],
)
def test_no_case_of_a_packed_batch_of_trees(change: dict, sentence: str) -> None:
    LCRS.check(CASE)
    with pytest.raises(SpecverifyError, match=sentence):
        LCRS.check({**CASE, **change})


@pytest.mark.parametrize("subject", [DRAWN, GIVEN])
def test_cases_of_every_kind_are_in_the_domain_and_come_back(subject: Description) -> None:
    for case in (*packed_trees.first(subject), *packed_trees.many(subject)):
        LCRS.check(case)
        sure = packed_trees.decided(case, 1)
        LCRS.check(sure)
        again = packed_trees.together("float32", packed_trees.taken_apart(sure), packed_trees.padding_of(sure))
        assert again == sure


def test_claims_see_what_leaves_the_tree_and_the_support() -> None:
    one, none = requests(CASE)
    assert [tree_claims.follows_a_path(one)(Draw((1, 0, 1), n, tokens)) for n, tokens in ((2, (1, 1, 0)), (2, (0, 1, 0)), (0, (0,)))] == [True, False, True]
    assert [tree_claims.keeps_support(one)(Draw((1, 0, 1), 2, (1, 1, last))) for last in (0, 1)] == [True, False]
    assert [tree_claims.keeps_support(none)(Draw((), 0, (last,))) for last in (0, 1)] == [False, True]
    assert [tree_claims.replaces_the_refused(one)(Draw((1, 0, 1), 1, (1, last))) for last in (0, 1)] == [True, False]


def test_the_law_of_two_requests_is_that_of_each() -> None:
    case = packed_trees.first(DRAWN)[7]
    both = tree_claims.together([right_law(one) for one in requests(case)])
    assert math.fsum(both.probabilities.values()) == pytest.approx(1)
    assert {len(tokens) for tokens in both.probabilities} == {5}


def test_coins_come_by_slot_and_a_pair_of_arrays_is_explored(subjects: object) -> None:
    """Each coin is of its request's seed; two arrays of numpy that come back as a tuple are no exception."""
    told = subjects(
        """
import numpy as np
import specverify as sv

@sv.subject("verify_tree_lcrs", siblings="with-replacement", arrays="list", rng="coins")
def coins(batch):
    return [[int(row[0] < 0.5)] for row in batch.coins]

@sv.subject("verify_tree_lcrs", siblings="with-replacement", arrays="numpy", conventions={"output": "flat and counts"})
def pair(batch):
    return (np.random.random(len(batch)) < 0.5).astype(int), np.ones(len(batch), int)
"""
    )
    sure = packed_trees.decided(packed_trees.first(DRAWN)[7], 1)
    asked, padding = packed_trees.taken_apart(sure), packed_trees.padding_of(sure)
    rows = [
        told["coins"].call({**packed_trees.together("float32", some, padding), "slots": slots}).outcome
        for some, slots in ((asked, 3), (asked[::-1], 3), (asked, 9))
    ]
    assert rows[0] == rows[1][::-1] == rows[2]
    assert isinstance(explored(told["pair"], packed_trees.first(DRAWN)[0], 1), Explored)


def test_adapters_are_short() -> None:
    path = Path(__file__).resolve().parents[1] / "twins" / "packed_trees" / "specverify_subjects.py"
    adapters = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    assert len(adapters) >= 6
    assert all(node.end_lineno - node.lineno <= LINES for node in adapters)
