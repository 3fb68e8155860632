"""Tree rules beside the chain's, in batches, at the edges, without a device."""

from collections.abc import Callable
from itertools import permutations, product

import pytest
import torch
from torch import Tensor

from specref.rules import (
    DeterministicChildren,
    DeterministicDraft,
    Greedy,
    GreedyTree,
    KSequential,
    RecursiveRejection,
    Round,
    SampleAndMatch,
    Standard,
    TreeRound,
    TreeRule,
    TreeVerdict,
    TrieSampleAndMatch,
)  # fmt: skip
from specref.rules.tree_verdict import Step, follow, of_nodes, of_tokens, walk
from specref.rules.verdict import row_at
from specref.tree_verification import verify_tree
from specref.trees import NONE, Tree, Trees, pack


def chain(gamma: int, b: int, v: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of the target, of the draft, tokens, uniforms."""
    g = torch.Generator().manual_seed(11)
    p, q = (torch.rand(b, gamma + 1, v, generator=g, dtype=torch.float64) ** 2 for _ in range(2))
    p[:, :, 0], q[:, :, 1] = 0, 0
    draft = torch.randint(0, v, (b, gamma), generator=g)
    return p / p.sum(-1, keepdim=True), q / q.sum(-1, keepdim=True), draft, torch.rand(b, gamma + 1, generator=g, dtype=torch.float64)


CHAINS = [
    (RecursiveRejection(replacement=True), Standard()), (RecursiveRejection(replacement=False), Standard()), (KSequential(), Standard()),
    (DeterministicChildren(), DeterministicDraft()), (TrieSampleAndMatch(), SampleAndMatch()), (GreedyTree(), Greedy()),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("of_trees", "of_chains"), CHAINS)
def test_a_chain_as_a_tree_is_the_chain(of_trees: TreeRule, of_chains, dtype: torch.dtype) -> None:
    """Same uniforms, same tokens, bit by bit; chains of several lengths in one batch."""
    p, q, draft, u = chain(3, 400, 5)
    p, q, lengths = p.to(dtype), q.to(dtype), torch.arange(400) % 4
    trees = pack([Tree(tuple(row[:n]), tuple(range(-1, n - 1))) for row, n in zip(draft.tolist(), lengths.tolist(), strict=True)])
    found = of_trees(TreeRound(p, q, trees, u[:, :3], u[:, 3]))
    right = of_chains(Round(p, q[:, :3], torch.where(trees.drafted, draft, -1), lengths, u[:, :3], u[:, 3]))
    assert torch.equal(found.tokens, right.tokens)
    assert torch.equal(found.accepted, right.accepted)


BEST = {(): 1, (1,): 0, (1, 0): 2}
"""The target's likeliest token after some prefixes, with a tie at the first; 2 after any other."""


def greedy_rows(tree: Tree) -> Tensor:
    rows = []
    for place in range(-1, len(tree)):
        prefix: tuple = ()
        node = place
        while node != NONE:
            prefix, node = (tree.tokens[node], *prefix), tree.parents[node]
        rows.append([0.2, 0.4, 0.4] if not prefix else [0.5 if x == BEST.get(prefix, 2) else 0.25 for x in range(3)])
    return torch.tensor(rows, dtype=torch.float64)


def greedy_tokens(rule: Callable[[TreeRound], TreeVerdict], paths: tuple | list, *, merge: bool = True) -> list[int]:
    tree = Tree.from_paths(paths, merge=merge)
    verdict = rule(TreeRound(greedy_rows(tree)[None], None, pack([tree]), torch.zeros(1, len(tree)).double(), torch.zeros(1).double()))
    return [x for x in verdict.tokens[0].tolist() if x != NONE]


PATHS = [(1, 0), (2, 1, 2), (1,), (1, 2)]


def test_greedy_walks_the_targets_own_way() -> None:
    """Lowest index among equals; permuted, doubled or unused branches and a path that begins another change nothing (theory: A5, S10)."""
    for order in permutations(PATHS):
        assert greedy_tokens(GreedyTree(), order) == greedy_tokens(GreedyTree(), [*order, (0,), order[0]]) == [1, 0, 2]
    assert greedy_tokens(GreedyTree(), PATHS, merge=False) == [1, 0, 2]
    assert greedy_tokens(GreedyTree(), [(2, 2), (0,)]) == [1]


def test_the_highest_index_among_equals_is_found_out() -> None:
    """The wrong twin of the greedy rule."""
    assert greedy_tokens(lambda given: follow(given, lambda place: 2 - row_at(given.p, place).flip(-1).argmax(-1)), PATHS) != [1, 0, 2]


ALL = [of_trees for of_trees, _ in CHAINS]
FOREST = [Tree.from_paths(paths) for paths in ([(1, 2, 3), (1, 0), (4,)], [], [(2,), (3,), (0, 1)], [(0, 0), (0, 1), (1, 1), (3, 2, 2)])]


@pytest.mark.parametrize("rule", ALL)
def test_a_row_of_a_batch_is_the_row_alone(rule: TreeRule) -> None:
    """Whatever its neighbours are, and whatever stands in rows that are not its own (NaN here)."""
    size = max(map(len, FOREST))
    p, q, _, _ = chain(size, len(FOREST), 5)
    for row_of, tree in zip((*p, *q), FOREST * 2, strict=True):
        row_of[len(tree) + 1 :] = torch.nan
    for seed in range(10):
        batch = verify_tree(rule, p, q, pack(FOREST), [torch.Generator().manual_seed(100 * seed + b) for b in range(len(FOREST))])
        for b, tree in enumerate(FOREST):
            own = slice(b, b + 1), slice(0, len(tree) + 1)
            alone = verify_tree(rule, p[own], q[own], pack([tree]), [torch.Generator().manual_seed(100 * seed + b)])
            for wide, narrow in zip(batch[:2], alone[:2], strict=True):
                assert wide[b].tolist() == narrow[0].tolist() + [-1] * (wide.shape[1] - narrow.shape[1])
            assert batch.accepted[b] == alone.accepted[0]
            assert alone.tokens[0, : int(alone.accepted)].tolist() == [tree.tokens[n] for n in alone.path[0, : int(alone.accepted)].tolist()]


@pytest.mark.parametrize("rule", ALL)
def test_nothing_waits_for_the_device(rule: TreeRule) -> None:
    """On the meta device there are no data to wait for."""
    packed = pack(FOREST)
    trees = Trees(*(x.to("meta") for x in packed[:-1]), packed.widths)
    p = torch.empty(len(FOREST), 7, 5, device="meta")
    verdict = rule(TreeRound(p, p, trees, torch.empty(len(FOREST), 6, dtype=torch.float64, device="meta"), torch.empty(len(FOREST), device="meta").double()))
    assert verdict.tokens.shape == (len(FOREST), 4)


def test_waiting_for_the_device_is_found_out() -> None:
    def waits(given: TreeRound) -> TreeVerdict:
        return GreedyTree()(given if bool(given.last[0] < 1) else given._replace(q=None))

    with pytest.raises((RuntimeError, NotImplementedError)):
        test_nothing_waits_for_the_device(waits)


VALUES = [(0.5, 0.25, 0.25), (0.0, 0.5, 0.5), (0.625, 0.375, 0.0), (1 / 3, 1 / 3, 1 / 3), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)]
EDGES = list(product(VALUES, VALUES, product(range(3), repeat=3)))
"""Rows of target and draft, and three siblings: p = 0, q = 0, both; equal rows, an exhausted q, equal siblings."""


def impossible_tokens(rule: Callable[[TreeRound], TreeVerdict], u: float) -> int:
    p, q = (torch.tensor([case[i] for case in EDGES], dtype=torch.float64)[:, None].expand(-1, 4, 3) for i in (0, 1))
    trees = pack([Tree(tokens, (-1, -1, -1)) for _, _, tokens in EDGES])
    tokens = rule(TreeRound(p, q, trees, torch.full((len(EDGES), 3), u).double(), torch.full((len(EDGES),), u, dtype=torch.float64))).tokens
    return int(((tokens != NONE) & (p[:, 0].gather(1, tokens.clamp(min=0)) == 0)).sum())


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("rule", ALL)
def test_no_token_of_probability_zero_at_the_ends_of_the_uniforms(rule: TreeRule, u: float) -> None:
    """Theory S12 c."""
    assert impossible_tokens(rule, u) == 0


def test_an_inclusive_comparison_is_found_out() -> None:
    """The wrong twin: u <= p / q accepts p = 0 at u = 0 (theory: C6)."""

    def inclusive(given: TreeRound) -> TreeVerdict:
        def step(place: Tensor, nodes: Tensor) -> Step:
            p, node = row_at(given.p, place), nodes[:, 0]
            passed = (node != NONE) & (of_nodes(given.coins, node) <= of_tokens(p, given.token(node)))
            return Step(torch.where(passed, node, NONE), p)

        return walk(given, step)

    assert impossible_tokens(inclusive, 0.0) > 0


def one(p: tuple, q: tuple, tokens: tuple, coins: list, last: float) -> TreeRound:
    rows = (torch.tensor(x, dtype=torch.float64).expand(1, len(tokens) + 1, len(x)) for x in (p, q))
    return TreeRound(*rows, pack([Tree(tokens, (-1,) * len(tokens))]), torch.tensor([coins], dtype=torch.float64), torch.tensor([last], dtype=torch.float64))


def test_an_exhausted_draft_cannot_have_drawn_more() -> None:
    """q has one token, the second child is a filler: accepting it because q = 0 < p would give it all of the residual."""
    given = one((0.25, 0.25, 0.5), (1.0, 0.0, 0.0), (0, 1), [0.5, 0.0], 0.9)
    assert RecursiveRejection(replacement=False)(given).tokens.tolist() == [[2, -1]]
    assert RecursiveRejection(replacement=False)(given._replace(coins=torch.tensor([[0.2, 0.0]]).double())).accepted.tolist() == [1]


@pytest.mark.parametrize("rule", [RecursiveRejection(replacement=True), RecursiveRejection(replacement=False), KSequential()])
def test_a_child_with_q_zero_is_accepted_where_p_is_positive(rule: TreeRule) -> None:
    assert rule(one((0.5, 0.5), (1.0, 0.0), (1,), [1 - 2**-53], 0.0)).path.tolist() == [[0]]


@pytest.mark.parametrize("rule", [RecursiveRejection(replacement=True), RecursiveRejection(replacement=False)])
def test_equal_rows_accept_the_first_child(rule: TreeRule) -> None:
    assert rule(one((0.3, 0.7), (0.3, 0.7), (1, 0), [1 - 2**-53, 0.0], 0.0)).path.tolist() == [[0]]


SOUND = (torch.full((1, 3, 2), 0.5), torch.full((1, 3, 2), 0.5), pack([Tree((0, 1), (-1, 0))]))
BAD = [
    (lambda p, q, t: (p * 2, q, t), r"p, row \(0, 0\): the probabilities sum to 2"),
    (lambda p, q, t: (p, q - 1, t), r"q, row \(0, 0\), column 0: -0.5 is not a probability"),
    (lambda p, q, t: (p[:, :2], q, t), r"1 trees of up to 2 nodes need p of shape \(1, 3, V\), not \(1, 2, 2\)"),
    (lambda p, q, t: (p, q[..., :1], t), r"q must have shape \(1, 3, 2\), not \(1, 3, 1\)"),
    (lambda p, q, t: (p, None, t), r"RecursiveRejection needs the draft's rows q"),
    (lambda p, q, t: (p, q, t._replace(tokens=t.tokens + 5)), r"tokens, row 0, column 0: token 5 is outside 0 … 1"),
]


@pytest.mark.parametrize(("spoil", "sentence"), BAD)
def test_bad_input_is_refused_with_its_place(spoil, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        verify_tree(RecursiveRejection(replacement=True), *spoil(*SOUND), torch.Generator())


def test_draws_come_from_the_generator_alone_and_repeat() -> None:
    before = torch.get_rng_state()
    first, second = (verify_tree(RecursiveRejection(replacement=True), *SOUND, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first.tokens, second.tokens)
