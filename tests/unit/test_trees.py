"""What a draft tree must be, by hand."""

import itertools

import pytest

from specprops import trees
from specprops.tree_buffers import NODES, first
from specverify.subjects.subject import Description

ANYBODY = Description("x", "tree_buffers", "lossless")
FORK = [[True, False, False], [True, True, False], [False, False, True]]


def test_nodes_are_distinct_beginnings() -> None:
    nodes = trees.prefixes([[1, 0], [], [2], [1], [1, 0]])
    assert nodes == [(1,), (2,), (1, 0)]
    assert trees.above(nodes) == [-1, -1, 0]


def test_a_mask_tells_its_tree() -> None:
    assert trees.parents(FORK) == [-1, 0, -1]
    assert trees.parents([]) == []


@pytest.mark.parametrize("mask", [
    [[False]],
    [[True, True], [True, True]],
    [[True, False, False], [True, True, False], [False, True, True]],
    [[True, False, False], [False, True, False], [True, True, True]],
])  # fmt: skip
def test_what_is_no_tree_has_no_parents(mask: trees.Mask) -> None:
    """Nobody sees itself; a cycle; an ancestor skipped; two parents."""
    assert trees.parents(mask) is None


def test_a_shape_is_the_same_under_every_relabelling_and_no_other_tree_has_it() -> None:
    """All trees of four nodes: as many shapes as there are rooted trees of five nodes, 9; each keeps its shape in every order of nodes."""
    shapes = {}
    for parents in itertools.product(*(range(-1, node) for node in range(4))):
        found = trees.shape(parents, [0] * 4)
        shapes.setdefault(found, parents)
        for order in itertools.permutations(range(4)):
            place = {-1: -1, **{node: order.index(node) for node in range(4)}}
            assert trees.shape([place[parents[node]] for node in order], [0] * 4) == found
    assert len(shapes) == 9


def test_labels_are_part_of_a_shape() -> None:
    assert trees.shape([-1, 0, -1], [5, 6, 7]) == trees.shape([-1, -1, 1], [7, 5, 6])
    assert trees.shape([-1, 0, -1], [5, 6, 7]) != trees.shape([-1, 0, -1], [7, 6, 5])


@pytest.mark.parametrize(("row", "found"), [((0, 1, -1), (0, 1)), ((1, 0), ()), ((2, 0), (2,)), ((-1,), ()), ((0, 9), (0,))])
def test_a_row_is_read_as_far_as_it_goes_down(row: tuple[int, ...], found: tuple[int, ...]) -> None:
    assert trees.branch([-1, 0, -1], row) == found


def test_the_first_cases_hold_what_faults_need() -> None:
    """Equal tokens under different nodes, branches of two lengths, a repeated path, ids above 16 bits, more nodes than a word has bits."""
    given = [case["paths"] for case in first(ANYBODY)]
    assert [[0, 2], [1, 2]] in given
    assert any(len(set(map(len, paths))) > 1 for paths in given)
    assert any(paths.count(path) > 1 for paths in given for path in paths)
    assert any(token >= 2**16 for paths in given for path in paths for token in path)
    assert max(len(trees.prefixes(paths)) for paths in given) >= NODES
