"""What a draft tree must be, by hand."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specprops import draft_trees, trees, verify_tree, verify_tree_greedy
from specprops.draft_trees import Tree, standing
from specprops.tree_buffers import NODES, first
from specverify.contracts import CONTRACTS, array
from specverify.contracts.nodes import ORDERS, numbers
from specverify.contracts.picks import every
from specverify.contracts.verify_tree import SIBLINGS, row_of
from specverify.errors import SpecverifyError
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


TREE = Tree((-1, 0, -1, 0, 2), (5, 6, 7, 8, 9), ((0.0,), (5.0,), (6.0,), (7.0,), (8.0,), (9.0,)))


@pytest.mark.parametrize(("order", "tokens", "parents"), [
    ("breadth-first", (5, 7, 6, 8, 9), (-1, -1, 0, 0, 1)),
    ("depth-first", (5, 6, 8, 7, 9), (-1, 0, 0, -1, 3)),
    ("parents first", TREE.tokens, TREE.parents),
])  # fmt: skip
def test_nodes_stand_as_declared(order: str, tokens: tuple[int, ...], parents: tuple[int, ...]) -> None:
    """Each node takes its row along."""
    found = standing(TREE, order)
    assert (found.tokens, found.parents) == (tokens, parents)
    assert found.rows == ((0.0,), *((float(token),) for token in tokens))


@pytest.mark.parametrize("order", ORDERS)
def test_siblings_in_reverse_are_the_same_tree(order: str) -> None:
    other = standing(TREE, order, reverse=True)
    assert other.tokens[0] == 7
    assert trees.shape(other.parents, other.tokens) == trees.shape(TREE.parents, TREE.tokens)


def test_the_deepest_branch_that_agrees() -> None:
    """A node below one that does not agree does not count; a pad never agrees."""
    rows = ((0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0))
    assert verify_tree_greedy.deepest(Tree((-1, 0, 1), (1, 0, 1), rows)) == 3
    assert verify_tree_greedy.deepest(Tree((-1, 0, 1), (0, 0, 1), rows)) == 0
    assert verify_tree_greedy.deepest(Tree((-1, 0, -1), (1, 1, -1), rows)) == 1


@pytest.mark.parametrize("order", ORDERS)
def test_searched_trees_are_cases_and_meet_what_they_are_searched_for(order: str) -> None:
    """Forks, chains, accepted branches that are short beside longer ones; every case is one of the contract."""
    subject = Description("x", "verify_tree_greedy", "lossless", conventions={"order": order})
    met: list[tuple[int, int, int]] = []

    @settings(max_examples=60, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(verify_tree_greedy.cases(subject), st.sampled_from(verify_tree_greedy.first(subject))))
    def search(case: dict) -> None:
        CONTRACTS["verify_tree_greedy"].check(case)
        tree = verify_tree_greedy._tree(case)
        assert standing(tree, draft_trees.order(subject)) == tree
        met.append((len(tree.parents), max(sum(row) for row in _mask(tree.parents)), verify_tree_greedy.deepest(tree)))

    search()
    assert max(accepted for _, _, accepted in met) >= 3
    assert any(0 < accepted < depth < nodes for nodes, depth, accepted in met)


def _mask(parents: tuple[int, ...]) -> list[list[bool]]:
    found: list[list[bool]] = []
    for node, parent in enumerate(parents):
        above = found[parent] if parent >= 0 else [False] * len(parents)
        found.append([sees or other == node for other, sees in enumerate(above)])
    return found


def step(siblings: str, **more: object) -> Description:
    return Description("x", "verify_tree", "lossless", siblings=siblings, **more)  # type: ignore[arg-type]


def test_prefixes_are_numbered_breadth_first() -> None:
    prefixes = sorted((prefix for depth in range(4) for prefix in itertools.product(range(3), repeat=depth)), key=lambda p: (len(p), p))
    assert [row_of(prefix, 3) for prefix in prefixes] == list(range(40))


@pytest.mark.parametrize(("siblings", "right"), [
    ("with-replacement", {(x, y): a * b for (x, a), (y, b) in itertools.product(enumerate((0.2, 0.6, 0.2)), repeat=2)}),
    ("without-replacement", {(0, 1): 0.15, (0, 2): 0.05, (1, 0): 0.3, (1, 2): 0.3, (2, 0): 0.05, (2, 1): 0.15}),
    ("deterministic", {(1, 0): 1.0}),
])  # fmt: skip
def test_children_are_drawn_as_declared(siblings: str, right: dict) -> None:
    """Two children over three tokens, q = (.2, .6, .2): of those drawn without replacement the second from what the first leaves."""
    case = verify_tree.first(step(siblings, dtypes=("float64",)))[2]
    found: dict[tuple[int, ...], float] = {}
    for mass, drawn in every(CONTRACTS["verify_tree"].stream(case).draw):
        found[numbers(drawn, "tokens")] = found.get(numbers(drawn, "tokens"), 0.0) + mass
    assert found == pytest.approx(right)


def test_rows_are_those_of_the_prefixes_that_are_drawn() -> None:
    """A chain of 1, then 0 over two tokens, and a pad: rows 0, 2 and 5 of the tables, and any for the pad; completions go on from what was emitted."""
    case = {**verify_tree.first(step("deterministic"))[4], "pads": [-1]}
    stream = CONTRACTS["verify_tree"].stream(case)
    drawn = stream.draw(lambda _: 1)
    table = list(case["target"].rows())
    assert list(drawn["p"].rows())[:3] == [table[0], table[2], table[5]]
    assert drawn["q"] is None
    assert (numbers(drawn, "tokens"), numbers(drawn, "parents")) == ((1, 0, -1), (-1, 0, -1))
    assert stream.finish(lambda sums: len(sums) - 1, drawn, ((0,), 0)) == ((1, 0, -1), (0,), (1, 0, 1))
    assert stream.finish(lambda _: 0, drawn, ((2,), 0)) == ((1, 0, -1), (2,), (-1, 0))
    assert stream.finish(lambda _: 0, drawn, ("raised", "ValueError")) == ("raised", "ValueError")


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_cases_of_a_step_are_of_its_contract(siblings: str) -> None:
    """Small, with pads, explicit and searched; the right law is one."""
    subject = step(siblings, conventions={"pad": -1, "order": "depth-first"})
    given_cases = [*verify_tree.first(subject), *verify_tree.padded(subject), *verify_tree.explicit(subject), *verify_tree.large(subject)]

    @settings(max_examples=30, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(verify_tree.tables(subject), st.sampled_from(given_cases)))
    def check(case: dict) -> None:
        CONTRACTS["verify_tree"].check(case)
        if "target" in case:
            assert sum(verify_tree.right_law(case).probabilities.values()) == pytest.approx(1)

    check()
    for case in given_cases:
        CONTRACTS["verify_tree"].check(case)


@pytest.mark.parametrize(("change", "told"), [
    ({"siblings": "sorted"}, "siblings must be one of"),
    ({"pads": [1]}, "pads ints below 0"),
    ({"target": array("float64", (1, 3), (0.5, 0.25, 0.25))}, "target must have shape .4, V."),
    ({"tokens": array("int64", (2,), (0, 1))}, "it takes"),
    ({"drafter": array("float64", (4, 3), (1, 0, 0) * 4)}, "must have 2 tokens to draw"),
])  # fmt: skip
def test_what_is_no_case_of_a_law_is_refused(change: dict, told: str) -> None:
    case = {**verify_tree.first(step("without-replacement", dtypes=("float64",)))[2], **change}
    with pytest.raises(SpecverifyError, match=told):
        CONTRACTS["verify_tree"].check(case)
