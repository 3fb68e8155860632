"""Each contract refuses what is no case of it, and what is no result of it."""

import pytest

from specverify.contracts import CONTRACTS, PLANNED, Malformed, Opaque, array, contract, digest
from specverify.errors import SpecverifyError

ROW = array("float32", (2,), (0.5, 0.5))
TREE = dict(CONTRACTS["verify_tree_greedy"].smoke)
NODES = dict(CONTRACTS["verify_tree"].smoke)
ROUND = dict(CONTRACTS["draft_and_verify"].smoke)
STEP = dict(CONTRACTS["verify_chain"].smoke)
SEARCH = dict(CONTRACTS["retriever"].smoke)

BAD_CASES = [
    ("positive_part", {"x": [1.0]}, "floating-point array"),
    ("positive_part", {"y": ROW}, "it takes x"),
    ("positive_part", {"x": array("int64", (1,), (1,))}, "floating-point array"),
    ("sample", {"probs": array("float32", (2,), (0.5, 0.25))}, "no probability distribution"),
    ("sample", {"probs": array("float32", (2,), (1.5, -0.5))}, "no probability distribution"),
    ("sample", {"probs": array("float32", (2,), (float("nan"), 1))}, "no probability distribution"),
    ("pad_path", {"path": (1,), "length": 2, "pad": -1}, "list of ints"),
    ("pad_path", {"path": [1], "length": -2, "pad": -1}, "at least 0"),
    ("verify_chain", {**STEP, "q": ROW}, "p must have shape"),
    ("verify_chain", {**STEP, "draft": array("int64", (2,), (0, 0))}, "draft must have shape"),
    ("residual", {"p": ROW, "q": array("float32", (3,), (0.5, 0.25, 0.25))}, "one shape"),
    ("ratio", {"num": ROW, "den": array("float32", (2,), (2, 1))}, "must be probabilities"),
    ("accept_probability", {"p_x": ROW, "q_x": array("float32", (1,), (1,))}, "of one shape"),
    ("first_rejection", {"accepted": ROW}, "bool array"),
    ("warp", {"logits": ROW, "temperature": -1.0, "top_k": 1, "top_p": 1.0}, "temperature"),
    ("warp", {"logits": ROW, "temperature": 1.0, "top_k": 0, "top_p": 1.0}, "top_k"),
    ("filter_logits", {"logits": array("float32", (2,), (float("-inf"), float("-inf"))), "top_k": 1, "top_p": 1.0}, "finite entry"),
    ("filter_logits", {"logits": ROW, "top_k": 1, "top_p": 0.0}, "top_p"),
    ("keep_fraction", {"logits": ROW, "thres": 2.0}, "thres"),
    ("verify_chain_greedy", {"logits": ROW, "draft": array("int64", (1,), (0,))}, "logits must have shape"),
    ("verify_deterministic_draft", {"p": ROW, "draft": array("int64", (1,), (0,))}, "p must have shape"),
    ("verify_chain", {**STEP, "draft": array("int64", (1,), (5,))}, "ids of the vocabulary"),
    ("verify_chain", {**STEP, "q": array("float64", (1, 2), (0.5, 0.5))}, "one dtype"),
]

BAD_CASES += [
    ("seeding", {"seed": -1, "draw": ["torch"]}, "from 0 to 4294967295"),
    ("seeding", {"seed": 2**32, "draw": ["torch"]}, "from 0 to 4294967295"),
    ("seeding", {"seed": True, "draw": ["torch"]}, "from 0 to 4294967295"),
    ("seeding", {"seed": 1, "draw": ["jax"]}, "out of torch, numpy, random"),
    ("seeding", {"seed": 1, "draw": ["torch", "torch"]}, "different names"),
    ("seeding", {"seed": 1, "draw": []}, "different names"),
    ("helper", {"n": 1}, "it takes , not n"),
    ("retriever", {**SEARCH, "corpus": [1, 2]}, "corpus must be"),
    ("retriever", {**SEARCH, "corpus": [[-1]]}, "corpus must be"),
    ("retriever", {**SEARCH, "context": [2**31]}, "context must be"),
    ("retriever", {**SEARCH, "m": 0}, "of at least 1"),
    ("retriever", {**SEARCH, "n_min": 3}, "n_min at most n_max"),
    ("tree_buffers", {"paths": [1, 2]}, "paths must be"),
    ("tree_buffers", {"paths": [[-1]]}, "paths must be"),
    ("tree_buffers", {"path": []}, "it takes paths"),
    ("verify_tree_greedy", {**TREE, "tokens": [1, 2]}, "must be int64"),
    ("verify_tree_greedy", {**TREE, "tokens": array("int64", (1,), (1,))}, "both of shape"),
    ("verify_tree_greedy", {**TREE, "parents": array("int64", (2,), (-1, 1))}, "a node before"),
    ("verify_tree_greedy", {**TREE, "parents": array("int64", (2,), (-2, -1))}, "a node before"),
    ("verify_tree_greedy", {**TREE, "parents": array("int64", (2,), (-1, 0)), "tokens": array("int64", (2,), (1, -1))}, "-1 where the token is none"),
    ("verify_tree_greedy", {**TREE, "logits": array("float32", (2, 3), range(6))}, "logits must have shape"),
    ("verify_tree", {**NODES, "p": array("float32", (1, 2), (0.5, 0.5))}, "p must have shape .2, V."),
    ("verify_tree", {**NODES, "q": array("float64", (2, 2), (0.5,) * 4)}, "of one dtype"),
    ("verify_tree", {**NODES, "q": ROW}, "q too"),
    ("verify_tree", {**NODES, "pads": []}, "it takes p, q, parents, tokens"),
    ("draft_and_verify", {**ROUND, "draft": ROW}, "target and draft must have shape"),
    ("draft_and_verify", {**ROUND, "prefix": []}, "not empty"),
    ("draft_and_verify", {**ROUND, "prefix": [2]}, "ids of the vocabulary"),
    ("draft_and_verify", {**ROUND, "gamma": -1}, "gamma and places must be ints of at least 0"),
    ("draft_and_verify", {**ROUND, "rounds": 0}, "rounds one of at least 1"),
]

DRAWN = [["torch", [1, 2, 3, 4]], ["numpy", [5, 6, 7, 8]], ["random", [9, 10, 11, 12]]]

BAD_RESULTS = [
    ("seeding", DRAWN, None),
    ("seeding", tuple((name, tuple(numbers)) for name, numbers in DRAWN[2:]), None),
    ("seeding", None, "not what draw"),
    ("seeding", DRAWN[:2], "not what draw"),
    ("seeding", DRAWN[::-1], "not what draw"),
    ("seeding", [["random", [1, 2, 3]]], "not what draw"),
    ("seeding", [["random", [1, 2, 3, 0.5]]], "not what draw"),
    ("seeding", [["random", [1, 2, 3, True]]], "not what draw"),
    ("helper", None, None),
    ("sample", Opaque("<Thing>"), "token ids came as Thing"),
    ("first_rejection", Opaque("<Thing>"), "no array of integers but Thing"),
    ("positive_part", array("float32", (3,), (1, 0, 0)), None),
    ("positive_part", array("float32", (1, 3), (1, 0, 0)), "shape"),
    ("positive_part", array("int64", (3,), (1, 0, 0)), "no array of floating-point"),
    ("positive_part", [0.5, 0.5], "nested list"),
    ("positive_part", None, "no array"),
    ("first_rejection", 2, None),
    ("first_rejection", array("int32", (), (2,)), None),
    ("first_rejection", True, "no array of integers"),
    ("first_rejection", [1, 2], "nested list"),
    ("ratio", [0.5, 2], None),
    ("ratio", array("float32", (2, 1), (1, 1)), "shape"),
    ("verify_chain_greedy", [1, 0], None),
    ("verify_deterministic_draft", [0, 1, 1], "3 tokens"),
    ("sample", 2, None),
    ("sample", [[2]], None),
    ("sample", array("int64", (1, 1), (2,)), None),
    ("sample", 3, "outside 0 … 2"),
    ("sample", [0, 1], "1 row gave 2"),
    ("sample", array("float32", (1,), (1,)), "not as integers"),
    ("sample", True, "bool"),
    ("sample", "<object>", "str"),
    ("pad_path", [0, 1, -1], None),
    ("pad_path", array("int64", (2,), (0, 1)), None),
    ("pad_path", [[0]], "no flat list"),
    ("pad_path", None, "no flat list"),
    ("verify_chain", [0], None),
    ("verify_chain", array("int64", (2,), (0, 1)), None),
    ("verify_chain", [], "0 tokens"),
    ("verify_chain", [0, 1, 1], "3 tokens"),
    ("verify_chain", [-1], "outside"),
    ("retriever", None, None),
    ("retriever", [], None),
    ("retriever", array("int64", (0, 3), ()), None),
    ("retriever", 3, "no list of"),
    ("retriever", Opaque("<set>"), "no list of"),
    ("retriever", [3], "no pair"),
    ("retriever", [[[3], 1, 2]], "3 parts"),
    ("retriever", [[[3, True], 1]], "among the ids of a candidate is bool"),
    ("retriever", array("float32", (1, 2), (3, 1)), "no list of"),
    ("tree_buffers", [[[1]], [1], [[0]]], None),
    ("tree_buffers", [array("float32", (1, 1), (1,)), array("int32", (1,), (1,)), [[0]], [1]], None),
    ("tree_buffers", [array("bool", (0, 0), ()), array("float32", (0,), ()), []], None),
    ("tree_buffers", [[[1]], [1]], "no tuple .mask, positions, retrieve. but list"),
    ("tree_buffers", Opaque("<Buffers>"), "no tuple .* but Buffers"),
    ("tree_buffers", [array("float32", (1, 1, 1), (1,)), [1], [[0]]], "no square matrix but of shape"),
    ("tree_buffers", [array("float32", (1, 1), (0.5,)), [1], [[0]]], "holds 0.5"),
    ("tree_buffers", [[[float("-inf")]], [1], [[0]]], "give `mask == 0`"),
    ("tree_buffers", [[[1]], [1, 2], [[0]]], "of 1 nodes, and positions of 2"),
    ("tree_buffers", [[[1]], [1], [[0]], []], "of 1 nodes, and tokens of 0"),
    ("tree_buffers", [[[1]], [1.0], [[0]]], "positions came as list, not as a flat list of ints"),
    ("tree_buffers", [[[1]], [1], [0]], "a row of retrieve came as int"),
    ("tree_buffers", [[[1]], [1], 0], "retrieve is no list of rows but int"),
    ("verify_tree_greedy", [[], 2], None),
    ("verify_tree_greedy", [array("int32", (2,), (1, -1)), array("int64", (1,), (0,))], None),
    ("verify_tree_greedy", [1, 0], "the path came as int"),
    ("verify_tree_greedy", [[2], 0], "is not of the 2 nodes 0 … 1"),
    ("verify_tree_greedy", [[-1, 1], 0], "is not of the 2 nodes"),
    ("verify_tree_greedy", [[1], 3], "not one id of 0 … 2"),
    ("verify_tree_greedy", [[1], [0, 1]], "not one id"),
    ("verify_tree_greedy", [[1]], "no tuple"),
    ("verify_tree", [[0], 1], None),
    ("verify_tree", [[1], 1], "is not of the 1 nodes"),
    ("verify_tree", [[0], 2], "not one id of 0 … 1"),
]


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_smoke_case_is_lawful(name: str) -> None:
    CONTRACTS[name].check(CONTRACTS[name].smoke)


@pytest.mark.parametrize(("name", "case", "sentence"), BAD_CASES)
def test_no_case_of_the_contract(name: str, case: dict, sentence: str) -> None:
    with pytest.raises(SpecverifyError, match=sentence) as caught:
        CONTRACTS[name].check(case)
    assert caught.value.hint


@pytest.mark.parametrize(("name", "result", "sentence"), BAD_RESULTS)
def test_results(name: str, result: object, sentence: str | None) -> None:
    told = CONTRACTS[name]
    if sentence is None:
        told.outcome(told.smoke, result)
    else:
        with pytest.raises(Malformed, match=sentence):
            told.outcome(told.smoke, result)


def test_a_candidate_comes_in_many_forms() -> None:
    """Pairs, bare ids, arrays; a weight that is no number is none."""
    outcome = CONTRACTS["retriever"].outcome
    found = [
        [[3, 4], 2],
        [array("int32", (1,), (3,)), array("int64", (1,), (2,))],
        [5, 6],
        array("int64", (2,), (7, 8)),
        [[9], 2.0],
        [[1], 0.5],
        [[2], None],
        [],
    ]
    right = (((3, 4), 2), ((3,), 2), ((5, 6), None), ((7, 8), None), ((9,), 2), ((1,), 0.5), ((2,), None), ((), None))
    assert outcome({}, found) == right


def test_an_unknown_contract_names_the_nearest() -> None:
    with pytest.raises(SpecverifyError, match="Did you mean 'verify_chain'"):
        contract("verify_chian")


def test_equal_cases_have_equal_digests() -> None:
    assert digest({"x": ROW}) == digest({"x": array("float32", (2,), (0.5, 0.5))})
    assert digest({"x": ROW}) != digest({"x": array("float64", (2,), (0.5, 0.5))})


def test_the_stream_of_a_step_draws_from_q_and_completes_from_p() -> None:
    """q is sure of 1; p is sure of 0 at the second position: a step that rejects is completed with 0."""
    import random

    from specverify.contracts.picks import at_random

    case = {"p": array("float32", (2, 2), (0.5, 0.5, 1, 0)), "q": array("float32", (1, 2), (0, 1))}
    stream = CONTRACTS["verify_chain"].stream(case)
    pick = at_random(random.Random(1))
    drawn = stream.draw(pick)
    assert drawn["draft"] == array("int64", (1,), (1,))
    assert stream.finish(pick, drawn, (0,)) == ((1,), 0, (0, 0))
    assert stream.finish(pick, drawn, (1, 0)) == ((1,), 1, (1, 0))
    assert stream.finish(pick, drawn, ("raised", "ValueError")) == ("raised", "ValueError")


def test_planned_contracts_are_told_from_unknown_ones() -> None:
    with pytest.raises(SpecverifyError, match=r"build_tree\(parents, selected\) is settled but not in this version"):
        contract("build_tree")


def test_names_and_prefixes_do_not_clash() -> None:
    assert not set(PLANNED) & set(CONTRACTS)
    shared = {one.prefix for one in PLANNED.values()} & {one.prefix for one in CONTRACTS.values()}
    assert shared <= {"TRB", "TRE"}  # contracts that come in two forms have one list of ids
    assert len({one.prefix for one in CONTRACTS.values()}) == len(CONTRACTS)


def test_a_helpers_outcome_tells_whether_it_can_be_compared() -> None:
    outcome = CONTRACTS["helper"].outcome
    assert outcome({}, ["<s>", 1.5, [None, ROW]]) == (True, ("<s>", 1.5, (None, ROW)))
    assert outcome({}, [1, ["k", Opaque("<object>")]]) == (False, (1, ("k", "<object>")))


def test_draw_takes_its_numbers_from_the_loaded_generators_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw moves on; the same state gives the same numbers; an absent library is left out."""
    import random
    import sys

    import numpy  # noqa: F401  what draw() is to find
    import torch  # noqa: F401

    told = CONTRACTS["seeding"]
    draw = told.prepare(told.smoke)["draw"]
    random.seed(3)
    first, second = draw(), draw()
    random.seed(3)
    again = draw()
    assert told.outcome(told.smoke, first) != told.outcome(told.smoke, second)
    assert dict(map(tuple, first))["random"] == dict(map(tuple, again))["random"]
    assert all(max(numbers) > 2**30 for _, numbers in first)
    monkeypatch.delitem(sys.modules, "numpy")
    assert [name for name, _ in draw()] == ["torch", "random"]
