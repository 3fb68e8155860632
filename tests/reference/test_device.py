"""Everything happens on the device of its inputs, gives there what it gives on the CPU, and waits for nobody while it verifies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch

from specref import sample, verify, verify_tree, warp
from specref.generation import ModelDrafter, ModuleModel, speculative
from specref.rules import (
    Block,
    DeterministicChildren,
    DeterministicDraft,
    Greedy,
    GreedyTree,
    KSequential,
    Lenient,
    RecursiveRejection,
    Round,
    SampleAndMatch,
    Standard,
    TreeRound,
    TrieSampleAndMatch,
    Typical,
)  # fmt: skip
from specref.trees import Tree, pack
from specref.warp import GREEDY

RULES = [Standard(), DeterministicDraft(), SampleAndMatch(), Greedy(), Block(), Lenient(0.8), Typical()]
TREE_RULES = [
    RecursiveRejection(replacement=True),
    RecursiveRejection(replacement=False),
    KSequential(),
    DeterministicChildren(),
    TrieSampleAndMatch(),
    GreedyTree(),
]
TREES = [Tree((1, 2, 1, 0, 3), (-1, -1, 0, 0, 1)), Tree((4,), (-1,)), Tree((), ())]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
every_tree_rule = pytest.mark.parametrize("rule", TREE_RULES, ids=str)
every_size = pytest.mark.parametrize("vocabulary", [7, 1_000])


def rows(*shape: int, seed: int) -> torch.Tensor:
    return (3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))).softmax(-1)


def chain_round(vocabulary: int, device: torch.device) -> Round:
    g = torch.Generator().manual_seed(1)
    p, q, lengths = rows(64, 5, vocabulary, seed=2), rows(64, 4, vocabulary, seed=3), torch.arange(64) % 5
    draft, u = torch.randint(0, vocabulary, (64, 4), generator=g), torch.rand(64, 5, generator=g, dtype=torch.float64)
    return Round(*(one.to(device) for one in (p, q, draft, lengths, u[:, :4], u[:, 4])))


def tree_round(vocabulary: int, device: torch.device) -> TreeRound:
    u = torch.rand(3, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64).to(device)
    return TreeRound(rows(3, 6, vocabulary, seed=5).to(device), rows(3, 6, vocabulary, seed=6).to(device), pack(TREES, device), u[:, :5], u[:, 5])


@contextmanager
def unsynchronised(device: torch.device) -> Iterator[None]:
    """An error wherever the host waits for a CUDA device."""
    if device.type != "cuda":
        yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def beside_the_cpu(rule: Callable, given: Callable[[torch.device], object], device: torch.device) -> None:
    mine = given(device)
    with unsynchronised(device):
        found = rule(mine)
    right = rule(given(torch.device("cpu")))
    for one, other in zip(found, right, strict=True):
        assert one.device.type == device.type
        assert torch.equal(one.cpu(), other)


@every_rule
@every_size
def test_a_rule_gives_what_it_gives_on_the_cpu(rule, vocabulary: int, device: torch.device) -> None:
    beside_the_cpu(rule, lambda where: chain_round(vocabulary, where), device)


@every_tree_rule
@every_size
def test_a_tree_rule_gives_what_it_gives_on_the_cpu(rule, vocabulary: int, device: torch.device) -> None:
    beside_the_cpu(rule, lambda where: tree_round(vocabulary, where), device)


@every_rule
def test_verification_draws_on_the_device_and_does_not_wait(rule, device: torch.device) -> None:
    given, generator = chain_round(7, device), torch.Generator(device).manual_seed(7)
    with unsynchronised(device):
        verdict = verify(rule, given.p, given.q, given.draft, generator, check=False)
    assert verdict.tokens.device.type == device.type


@every_tree_rule
def test_tree_verification_draws_on_the_device_and_does_not_wait(rule, device: torch.device) -> None:
    given, generator = tree_round(7, device), torch.Generator(device).manual_seed(7)
    with unsynchronised(device):
        verdict = verify_tree(rule, given.p, given.q, given.trees, generator, check=False)
    assert verdict.tokens.device.type == device.type


@pytest.mark.cuda
@every_rule
def test_a_rule_can_be_captured_in_a_graph(rule, device: torch.device) -> None:
    if device.type != "cuda":
        pytest.skip("graphs are CUDA's; run with --device cuda")
    given = chain_round(1_000, device)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        right = rule(given)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = rule(given)
    graph.replay()
    assert torch.equal(found.tokens, right.tokens)


def test_sampling_and_warping_stay_on_the_device(device: torch.device) -> None:
    logits = torch.randn(5, 600, generator=torch.Generator().manual_seed(8)).to(device)
    probs = warp(logits, 0.7, top_k=50, top_p=0.9, min_p=0.01)
    assert torch.allclose(probs.cpu(), warp(logits.cpu(), 0.7, top_k=50, top_p=0.9, min_p=0.01), atol=1e-6)
    assert sample(probs, torch.Generator(device).manual_seed(9)).device.type == device.type


def test_generation_runs_on_the_device(device: torch.device) -> None:
    """A bigram module: greedy tokens of the device and of the CPU are the same, and drafts change nothing."""
    table = torch.randn(12, 12, generator=torch.Generator().manual_seed(10), dtype=torch.float64)

    def generated(where: torch.device, *, drafted: bool) -> list[list[int]]:
        rows_there = table.to(where)
        model = ModuleModel(lambda tokens: rows_there[tokens], 12, where)
        drafter = ModelDrafter(model) if drafted else None
        return speculative(model, drafter, [[0], [1, 2]], torch.Generator(where).manual_seed(1), max_new_tokens=10, gamma=3, sampling=GREEDY).tokens

    assert generated(device, drafted=True) == generated(device, drafted=False) == generated(torch.device("cpu"), drafted=False)
