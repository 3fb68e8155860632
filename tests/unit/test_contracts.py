"""Each contract refuses what is no case of it, and what is no result of it."""

import pytest

from specverify.contracts import CONTRACTS, Malformed, Opaque, array, contract, digest
from specverify.errors import SpecverifyError

ROW = array("float32", (2,), (0.5, 0.5))
TREE = dict(CONTRACTS["verify_tree_greedy"].smoke)
CHOSEN = {"parents": array("int64", (3,), (-1, -1, 0)), "selected": array("int64", (1,), (0,))}
NODES = dict(CONTRACTS["verify_tree"].smoke)
ROUND = dict(CONTRACTS["draft_and_verify"].smoke)
STEP = dict(CONTRACTS["verify_chain"].smoke)
SEARCH = dict(CONTRACTS["retriever"].smoke)
ROWS = dict(CONTRACTS["processed_rows"].smoke)
NEUTRAL = dict(ROWS["parameters"])
IDS = dict(CONTRACTS["vocab_map"].smoke)
MASK = dict(CONTRACTS["grammar_mask"].smoke)
LOGPROBS = dict(CONTRACTS["logprobs"].smoke)

ROTARY = CONTRACTS["rotary"].smoke
CACHE = CONTRACTS["kv_cache"].smoke
SESSION = CONTRACTS["session"].smoke
PREFILL = CONTRACTS["prefill"].smoke
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
    ("rotate_half", {"x": array("float32", (3,), (1, 2, 3))}, "even number"),
    ("rotary", {**ROTARY, "positions": array("int64", (1, 1), (1,))}, "a row of cos"),
    ("rotary", {**ROTARY, "k": array("float32", (1, 1, 2, 2), (1, 2, 3, 4))}, "differ in H alone"),
    ("rotary", {**ROTARY, "cos": array("float32", (1, 2), (1, 0))}, "must be alike"),
    ("repeat_kv", {"kv": ROW, "n": 1}, "(B, H, T, D)"),
    ("kv_cache", {**CACHE, "operations": [["append", 0]]}, "is no operation; there are append, rollback, select"),
    ("kv_cache", {**CACHE, "operations": [["select", 0, [1, 0]]]}, "is no operation"),
    ("kv_cache", {**CACHE, "operations": [["forget", 0]]}, "is no operation"),
    ("kv_cache", {**CACHE, "operations": [["read", 8]]}, "is no operation"),
    ("kv_cache", {**CACHE, "operations": ["read"]}, "a list of lists"),
    ("kv_cache", {**CACHE, "operations": [["append", 0, 2]]}, "hold all rows"),
    ("kv_cache", {**CACHE, "v": ROW}, "of one shape"),
    ("recurrent_state", {"tokens": ROW, "operations": []}, "tokens must be ids"),
    ("recurrent_state", {"tokens": array("int64", (1,), (0,)), "operations": [["advance", 0, 2]]}, "hold all that are read"),
    ("session", {**SESSION, "model": ROW}, "must have shape .n, V."),
    ("session", {**SESSION, "prompts": [[2]]}, "ids of the vocabulary"),
    ("session", {**SESSION, "operations": [["begin", 0, 1]]}, "names a prompt of the case"),
    ("session", {**SESSION, "operations": [["draft", 0, 1]]}, "begins first"),
    ("session", {**SESSION, "operations": [["begin", 0, 0], ["draft", 0, 1], ["draft", 0, 1]]}, "in turns"),
    ("prefill", {**PREFILL, "model": ROW}, "must have shape .n, V."),
    ("prefill", {**PREFILL, "requests": [[[0], [1]]]}, "must be lists .tokens, chunks, parents."),
    ("prefill", {**PREFILL, "requests": [[[2], [1], []]]}, "ids of the vocabulary"),
    ("prefill", {**PREFILL, "requests": [[[0, 1], [1, 2], []]]}, "add up to the prompt's length"),
    ("prefill", {**PREFILL, "requests": [[[0], [], [-1]]]}, "of at least 1 too"),
    ("prefill", {**PREFILL, "requests": [[[0, 1], [1], [0]]]}, "-1 or a node before"),
    ("repeat_kv", {"kv": array("float32", (1, 1, 1, 1), (1,)), "n": 0}, "at least 1"),
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
    ("build_tree", {**CHOSEN, "selected": [0]}, "must be int64"),
    ("build_tree", {**CHOSEN, "parents": array("int64", (2,), (-1, 1))}, "a node before"),
    ("build_tree", {**CHOSEN, "selected": array("int64", (2,), (2, 0))}, "ascending order"),
    ("build_tree", {**CHOSEN, "selected": array("int64", (1,), (3,))}, "must be nodes"),
    ("build_tree", {**CHOSEN, "selected": array("int64", (1,), (2,))}, "must be selected"),
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

BAD_CASES += [
    ("processed_rows", {**ROWS, "draft": array("int64", (0,), ())}, "logits must have shape"),
    ("processed_rows", {**ROWS, "prefix": array("int64", (0,), ())}, "at least one token"),
    ("processed_rows", {**ROWS, "prefix": array("int64", (1,), (3,))}, "ids of the vocabulary"),
    ("processed_rows", {**ROWS, "draft": [1]}, "draft must be int64"),
    ("processed_rows", {**ROWS, "parameters": {"temperature": 1.0}}, "parameters must hold temperature"),
    ("processed_rows", {**ROWS, "parameters": {**NEUTRAL, "temperature": 0.0}}, "temperature must be"),
    ("processed_rows", {**ROWS, "parameters": {**NEUTRAL, "presence_penalty": float("nan")}}, "presence_penalty must be"),
    ("processed_rows", {**ROWS, "parameters": {**NEUTRAL, "prompt_length": 2}}, "prompt_length must be an int from 0 to 1"),
    ("processed_rows", {**ROWS, "parameters": {**NEUTRAL, "logit_bias": [[3, 1.0]]}}, "logit_bias must be"),
    ("vocab_map", {**IDS, "ids": array("int64", (1,), (-1,))}, "ids must be"),
    ("vocab_map", {**IDS, "ids": [1]}, "ids must be"),
    ("vocab_map", {**IDS, "table": array("int64", (0,), ())}, "table must be"),
    ("grammar_mask", {**MASK, "transitions": array("int64", (2, 2), (2, 0, 0, 0))}, "entries of transitions must be states"),
    ("grammar_mask", {**MASK, "state": 2}, "must be states"),
    ("grammar_mask", {**MASK, "transitions": [[0]]}, "of shape .S, V."),
    ("grammar_mask", {**MASK, "tokens": array("int64", (1,), (-1,))}, "tokens must be ids"),
    ("grammar_mask", {**MASK, "parents": array("int64", (1,), (0,))}, "a node before"),
    ("logprobs", {**LOGPROBS, "tokens": array("int64", (1,), (1,))}, "tokens .gamma . 1,."),
    ("logprobs", {**LOGPROBS, "emitted": 3}, "emitted must be"),
    ("logprobs", {**LOGPROBS, "tokens": array("int64", (2,), (1, -1))}, "ids of the vocabulary"),
    ("logprobs", {**LOGPROBS, "temperature": 0}, "temperature must be above 0"),
    ("logprobs", {**LOGPROBS, "top": 4}, "top 0"),
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
    ("build_tree", [[[1, 0], [1, 1]], [5, 6], [1, -1], [-1, -1]], None),
    ("build_tree", [array("float32", (3, 3), (1, 0, 0, 1, 1, 0, *[float("nan")] * 3)), [5, 6, 0], [1, -1, 0], [-1, -1, 0]], None),
    ("build_tree", [[[1], [1]], [5], [1, -1], [-1, -1]], "mask has 2 slots, and positions 1"),
    ("build_tree", [[[1]], [5], [-1], [-1]], "all must have the same, 2 or more"),
    ("build_tree", [[[1, 0], [1]], [5, 6], [1, -1], [-1, -1]], "no matrix"),
    ("build_tree", [[[1, 0], [1, 0.5]], [5, 6], [1, -1], [-1, -1]], "holds 0.5"),
    ("build_tree", [[[1, 0], [1, 1]], [5, 6], [1, -1]], "no tuple"),
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
    ("processed_rows", array("float32", (2, 3), (0.5, 0.5, 0) * 2), None),
    ("processed_rows", [[0.5, 0.5, 0]] * 2, None),
    ("processed_rows", [[0.5, 0.5, 0]], "nested list"),
    ("vocab_map", array("int32", (2,), (3, 1)), None),
    ("vocab_map", [3], "nested list"),
    ("vocab_map", array("float32", (2,), (3, 1)), "no array of integers"),
    ("grammar_mask", None, "no list of rows but NoneType"),
    ("recurrent_state", [["done"], ["read", Opaque("<State>"), 1]], "no array, number or list of them but State"),
    ("recurrent_state", [["done"], ["read", [ROW, 1], [ROW, 1]]], None),
    ("session", [["done"], ["read", [1], [0], ["read", [1]], ["raised", "ValueError", "", "x.py:1"]], ["done"], ["read", [0, 1, 1], [0, 1, 1]]], None),
    ("session", [["done"], ["read", [1, 1], [0]], ["done"], ["done"]], "2 tokens, and 1 were asked for"),
    ("session", [["done"], ["read", [2], [0]], ["done"], ["done"]], "token 2, which is outside 0 … 1"),
    ("session", [["done"], ["read", 0.5, [0]], ["done"], ["done"]], "draft.. gave float, not token ids"),
    ("prefill", array("float16", (1, 2, 2), (0, 1, 0, 1)), None),
    ("prefill", [ROW, [0.5, float("-inf")]], None),
    ("prefill", [ROW], "no nested list"),
    ("prefill", array("float32", (1, 2), (0, 1)), "a row behind each token has .2, 2."),
    ("prefill", [ROW, [0.5, float("nan")]], "hold NaN or inf"),
    ("prefill", [[ROW, ROW], Opaque("<DynamicCache>")], "no nested list"),
    ("kv_cache", [["done"], ["read", 1.5, [], []]], "length.. gave float"),
    ("kv_cache", [["done"], ["read", 1, None, None]], "rows.. gave NoneType"),
    ("kv_cache", [["done"], ["read", 1, [[[1, 2]], [[1]]], []]], "keys of rows.. are list, not of shape .length, 1."),
    ("kv_cache", [["done"], ["read", 1, [ROW, ROW], [ROW, ROW]]], "are of shape .2,."),
    ("kv_cache", [["raised", "ValueError", "", "x.py:1"], ["read", 0, [None, []], [None, None]]], None),
    ("grammar_mask", [[1, 0]], "1 rows instead of 2"),
    ("grammar_mask", [[1, 0, 1]] * 2, "3 entries instead of 2, or 1 words"),
    ("grammar_mask", [[1, 0.5]] * 2, "holds 0.5"),
    ("grammar_mask", [[0.5], [1.0]], "came as something else than ints"),
    ("logprobs", [-1.0, -2.0], None),
    ("logprobs", array("float32", (2, 1), (-1, -2)), None),
    ("logprobs", [[-1.0, -2.0]], "no flat list"),
    ("logprobs", -1.0, "came as float"),
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


def test_prefixes_do_not_clash() -> None:
    prefixes = [one.prefix for one in CONTRACTS.values()]
    assert {prefix for prefix in prefixes if prefixes.count(prefix) > 1} <= {"TRB", "TRE", "ROT"}  # contracts that come in two forms have one list of ids


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
