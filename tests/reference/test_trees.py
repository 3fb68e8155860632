"""Draft trees: layout, attention, positions, branches, batches, compaction (theory: 1d)."""

import random
from itertools import permutations

import pytest
import torch

from specref.trees import NONE, Tree, kept, pack

PATHS = [(1, 2, 3), (1, 2), (1, 0), (4,)]
TREE = Tree((1, 4, 2, 0, 3), (NONE, NONE, 0, 0, 2))


def some_trees(count: int) -> list[Tree]:
    rng = random.Random(5)
    return [Tree.from_paths([[rng.randrange(4) for _ in range(rng.randrange(5))] for _ in range(rng.randrange(9))]) for _ in range(count)]


def prefixes(tree: Tree) -> list[tuple]:
    found: list[tuple] = []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        found.append((*(found[parent] if parent != NONE else ()), token))
    return found


def test_paths_become_a_trie_in_breadth_first_order() -> None:
    assert Tree.from_paths(PATHS) == TREE
    assert (TREE.depths, TREE.widths, len(TREE)) == ((0, 0, 1, 1, 2), (2, 2, 1), 5)


def test_a_trie_holds_every_prefix_once() -> None:
    for order in permutations(PATHS):
        assert sorted(prefixes(Tree.from_paths([*order, order[0], ()]))) == sorted(prefixes(TREE))


def test_siblings_stand_in_the_order_in_which_paths_bring_them() -> None:
    assert Tree.from_paths([(3,), (1, 1), (2,), (1, 0)]) == Tree((3, 1, 2, 1, 0), (NONE, NONE, NONE, 1, 1))


def test_unmerged_paths_are_branches_of_their_own() -> None:
    """Equal siblings are kept: two draws with replacement."""
    assert Tree.from_paths([(1, 2), (1, 2), (1,)], merge=False) == Tree((1, 1, 1, 2, 2), (NONE, NONE, NONE, 0, 1))


def test_the_tree_of_nothing_is_empty() -> None:
    tree = Tree.from_paths([(), ()])
    assert (tree, tree.depths, tree.widths) == (Tree((), ()), (), ())
    assert (tree.mask().shape, tree.retrieve().shape, tree.positions(3).shape) == ((0, 0), (0, 0), (0,))


BAD = [
    ((1,), (), "a tree of 1 tokens has 0 parents"),
    ((1, -2), (NONE, 0), "tokens, node 1: -2 is no token"),
    ((1, 2), (NONE, 1), "parents, node 1: 1 is neither -1 nor a node before it"),
    ((1, 2), (NONE, -2), "parents, node 1: -2 is neither"),
    ((1, 2, 3), (NONE, 0, NONE), "parents must never decrease"),
]


@pytest.mark.parametrize(("tokens", "parents", "sentence"), BAD)
def test_what_is_no_tree_is_refused(tokens: tuple, parents: tuple, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Tree(tokens, parents)


def test_no_batch_without_a_tree() -> None:
    with pytest.raises(ValueError, match="at least one tree"):
        pack([])


def test_the_mask_has_the_invariants_of_theory() -> None:
    """A1: ancestor or self; row sums are depth + 1; applying it twice gives nothing new; lower triangular with its diagonal."""
    for tree in some_trees(50):
        mask, names = tree.mask(), prefixes(tree)
        assert mask.tolist() == [[other == name[: len(other)] for other in names] for name in names]
        assert mask.sum(1).tolist() == [depth + 1 for depth in tree.depths]
        assert torch.equal((mask.int() @ mask.int()) > 0, mask)
        assert torch.equal(mask, mask.tril())


def test_children_of_the_root_stand_right_behind_the_context() -> None:
    """A2: context 0 … 6, so the first new position is 7."""
    assert TREE.positions(7).tolist() == [7, 7, 8, 8, 9]
    assert pack([TREE, Tree((5,), (NONE,))]).positions(torch.tensor([7, 2])).tolist() == [[7, 7, 8, 8, 9], [2, 2, 2, 2, 2]]


def test_branches_run_from_the_root_to_the_leaves() -> None:
    """A3: a row per leaf, every node on a row, padded at the end."""
    assert TREE.retrieve().tolist() == [[1, -1, -1], [0, 3, -1], [0, 2, 4]]
    for tree in some_trees(50):
        rows = [[n for n in branch if n != NONE] for branch in tree.retrieve().tolist()]
        assert sorted(branch[-1] for branch in rows) == [n for n in range(len(tree)) if n not in tree.parents]
        assert {n for branch in rows for n in branch} == set(range(len(tree)))
        assert all([NONE, *branch[:-1]] == [tree.parents[n] for n in branch] for branch in rows)


def test_a_batch_is_its_trees_filled_up() -> None:
    trees = some_trees(20)
    packed = pack(trees)
    size, widest = packed.tokens.shape[1], packed.children.shape[2]
    for b, tree in enumerate(trees):
        n, fill = len(tree), [NONE] * (size - len(tree))
        assert packed.sizes[b] == n
        assert packed.drafted[b].tolist() == [True] * n + [False] * len(fill)
        for rows, own in ((packed.tokens, tree.tokens), (packed.parents, tree.parents), (packed.depths, tree.depths)):
            assert rows[b].tolist() == [*own, *fill]
        for place, row in enumerate(packed.children[b].tolist()):
            mine = [child for child, parent in enumerate(tree.parents) if parent == place - 1]
            assert row == mine + [NONE] * (widest - len(mine))
        mask = packed.mask()[b]
        assert torch.equal(mask[:n, :n], tree.mask())
        assert mask[n:].nonzero().tolist() == [[i, n + i] for i in range(size - n)]
        assert not mask[:n, n:].any()
    assert packed.widths == tuple(max(t.widths[d] for t in trees if d < len(t.widths)) for d in range(max(len(t.widths) for t in trees)))


def test_an_accepted_path_is_moved_into_one_piece() -> None:
    """Whoever gathers by it and crops to the accepted length holds the path's nodes, in order."""
    path = torch.tensor([[0, 2, 4], [1, NONE, NONE], [NONE, NONE, NONE]])
    assert kept(path).tolist() == [[0, 2, 4], [1, 1, 2], [0, 1, 2]]
