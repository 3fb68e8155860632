"""A packed batch gives the same requests in each of its views, and holds what a subject declares; what parameters make of logits."""

import ast
import math
from pathlib import Path

import pytest
import torch

from specprops import packed
from specprops.batches import EMPTY, TOSS, TWICE, Padding, decided, taken_apart, together
from specverify.contracts import CONTRACTS, Malformed, array
from specverify.contracts.packed import Packed
from specverify.contracts.ragged import Expected, read
from specverify.errors import SpecverifyError
from specverify.subjects.subject import Description

PACKED = CONTRACTS["verify_packed"]
CASE = {**decided(together("float32", [TWICE, EMPTY, TOSS]), 1), "draft": array("int64", (3, 2), (0, 1, 0, 0, 1, 0))}
LOGITS = Description("x", "verify_packed", "lossless", conventions={"target": "logits"}, supports=("temperature", "top_k", "top_p", "id map", "no q"))
ROWS = [[0.25, 0.75], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.25, 0.75], [0.5, 0.5]]
"""Of the target, in line: three of the first request, one of the second, two of the third."""
LINES = 10
"""Of an adapter, its decorator and its name not counted."""


def batch(**change: object) -> Packed:
    return Packed({**CASE, **change}, lambda one: one.nested())


def test_views_hold_the_same_rows() -> None:
    one = batch()
    flat, line, dense = one.flat_inclusive(), one.flat_exclusive(), one.dense(fill=-1)
    assert (line.target, line.starts) == (ROWS, [0, 3, 4, 6])
    assert (flat.target, flat.bonus, flat.ends) == (ROWS[:2] + ROWS[4:5], [ROWS[2], ROWS[3], ROWS[5]], [2, 2, 3])
    assert (flat.draft, line.draft, dense.draft) == ([0, 1, 1], [0, 1, 0, 0, 1, 0], [[0, 1], [-1, -1], [1, -1]])
    assert flat.q == [[0.75, 0.25], [0.25, 0.75], [0.75, 0.25]] == dense.q[0] + dense.q[2][:1]
    assert [dense.target[0], dense.target[1][:1], dense.target[2][:2]] == [ROWS[:3], ROWS[3:4], ROWS[4:]]


def test_parameters_are_neutral_unless_the_case_has_them() -> None:
    one = batch()
    assert (one.temperature, one.greedy, one.top_k, one.top_p, one.id_map) == ([1, 1, 1], [False] * 3, [2, 2, 2], [1, 1, 1], None)
    assert batch(temperature=array("float32", (3,), (0, 1, 2))).greedy == [True, False, False]


def test_an_id_map_puts_rows_and_ids_into_the_vocabulary_of_the_draft() -> None:
    case = decided(packed.mapped(LOGITS)[3], 1)
    one = Packed(case, lambda one: one.nested())
    assert one.id_map == [3, 1]
    assert one.flat_inclusive().q == [[0.25, 0.75]] * 2
    assert [one.id_map[x] for x in one.flat_inclusive().draft] == [asked.draft[0] for asked in taken_apart(case) if asked.draft]


def test_what_is_undefined_is_no_number_and_no_id() -> None:
    one = Packed(decided(together("float32", [EMPTY, TOSS], Padding(poison=True)), 1), lambda one: one.nested())
    assert all(math.isnan(x) for x in one.flat_exclusive().q[0])
    assert one.flat_exclusive().draft[0] == one.dense().draft[0][0] == 2**31 - 1


def test_declared_scratch_is_poisoned_and_the_rest_is_zero() -> None:
    one = batch(scratch=["out", "weights"], poison=-7)
    assert one.scratch("out") == [[-7] * 3] * 3
    assert one.scratch("accepted") == [0, 0, 0]
    assert math.isnan(one.scratch("weights")[0][0])
    assert one.scratch("out") is one.scratch("out")


def test_what_a_kernel_writes_is_told_but_for_scratch() -> None:
    one = batch()
    one.dense().q[0][0][0] = one.scratch("out")[0][0] = 9
    assert one.written(lambda value: value) == ["q"]


def test_ids_of_32_bits_are_everywhere() -> None:
    one = Packed({**CASE, "ids": "int32"}, lambda one: one)
    assert {one.lengths.dtype, one.dense().draft.dtype, one.flat_inclusive().ends.dtype, one.scratch("flat").dtype} == {"int32"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id_map": array("int64", (2,), (1, 1))}, "different ids"),
        ({"id_map": array("int64", (1,), (0,))}, "a token that id_map lacks"),
        ({"top_k": array("int64", (1,), (1,))}, "top_k must be an array"),
        ({"ids": "int8"}, "ids must be one of"),
        ({"no_q": 1}, "q is certain"),
        ({"lengths": array("int64", (3,), (9, 0, 0))}, "no case of verify_packed"),
    ],
)
def test_no_case_of_a_packed_batch(change: dict, sentence: str) -> None:
    with pytest.raises(SpecverifyError, match=sentence):
        PACKED.check({**CASE, **change})


FLAT = [
    ([array("int64", (5,), (0, 1, 1, 0, 0)), array("int64", (3,), (2, 1, 2))], "flat and counts"),
    ([array("int32", (6,), (0, 1, -7, 1, 0, 0)), [1, 0, 1]], "in line and accepted"),
]
BAD = [
    ([[0, 1], [1, 1, 1]], "flat and counts", "2 ids came for counts that sum to 3"),
    ([[0, 1, 1, 1, 0], [1, 0, 1]], "in line and accepted", "5 slots came for 6"),
    ([[0, 1, 1, 1, 0, 0], [3, 0, 1]], "in line and accepted", "row 0 has 3 slots, and 4 tokens are told"),
    ([[0, 1]], "flat and counts", "no two vectors"),
]


@pytest.mark.parametrize(("result", "output"), FLAT)
def test_flat_outputs_read_alike(result: object, output: str) -> None:
    assert read(result, Expected([(0, 1), (), (1,)], 2, output)) == ((0, 1), (1,), (0, 0))


@pytest.mark.parametrize(("result", "output", "sentence"), BAD)
def test_flat_outputs_that_cannot_be_read(result: object, output: str, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        read(result, Expected([(0, 1), (), (1,)], 2, output))


def test_cases_of_every_kind_are_in_the_domain() -> None:
    for make in (packed.first, packed.parameters, packed.mapped, packed.certain, packed.many, packed.seeded_parameters):
        for case in make(LOGITS):
            PACKED.check(case)


def test_conventions_agree_on_the_requests_with_parameters() -> None:
    assert all(packed.agreed(one) for some in packed.PARAMETERS.values() for one in some)
    assert not packed.agreed(packed.asked_raw(((1.0, 1.0, 0.0),), (), top_k=1))


def test_rows_are_processed_as_torch_does_it() -> None:
    row = torch.tensor([2.0, 0.0, 1.0, -1.0], dtype=torch.float64)
    assert packed.processed(row.tolist(), 0.5, None, 1.0) == pytest.approx((row / 0.5).softmax(-1).tolist())
    assert packed.processed(row.tolist(), 1.0, 2, 1.0) == pytest.approx([*row[[0, 2]].softmax(-1)[[0]].tolist(), 0, row[[0, 2]].softmax(-1)[1].item(), 0])
    assert packed.processed(row.tolist(), 1.0, None, 0.5) == (1, 0, 0, 0)
    assert packed.processed(row.tolist(), 0.0, None, 1.0) == (1, 0, 0, 0)


def test_what_comes_beside_a_batch_lies_on_it(subjects: object) -> None:
    """Seeds, generators and coins of a case; coins are those of each request's seed, in any order."""
    told = subjects(
        """
import specverify as sv

@sv.subject("verify_packed", arrays="list", supports=("seeds",))
def seeds(batch):
    return [[seed % 2] for seed in batch.seeds]

@sv.subject("verify_packed", rng="generators")
def generators(batch):
    return [[generator.initial_seed() % 2] for generator in batch.generators]

@sv.subject("verify_packed", arrays="list", rng="coins")
def coins(batch):
    return [[int(batch.coins[start] < 0.5)] for start in batch.flat_exclusive().starts[:-1]]

@sv.subject("verify_packed")
def misfit(batch, lengths):
    return []
"""
    )
    asked = taken_apart(CASE)
    for name in ("seeds", "generators", "coins"):
        one = told[name].call(CASE).outcome
        assert one == told[name].call(together("float32", asked[::-1])).outcome[::-1]
    assert told["seeds"].call(CASE).outcome == tuple((one.seed % 2,) for one in asked)
    assert "cannot be called as verify_packed(batch)" in told["misfit"].description.problem


def test_adapters_are_short() -> None:
    path = Path(__file__).resolve().parents[1] / "twins" / "packed" / "specverify_subjects.py"
    adapters = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    assert len(adapters) >= 5
    assert all(node.end_lineno - node.lineno <= LINES for node in adapters)
