"""Properties of `tree_buffers`: the buffers are those of the tree that the paths make, in whatever order its nodes stand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import trees
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

TREES = "2305.09781, section 4; theory "
FOLDED = (5, 65_541)
"""Ids that are one in 16 bits."""
ALPHABET = (0, 1, 2, *FOLDED, 199_999)
"""Small ids, which meet often; and the last of a large vocabulary."""
NODES = 70
"""More than a word of 64 bits has places for."""

Paths = list[list[int]]


class Buffers(NamedTuple):
    """What a subject gave."""

    mask: trees.Mask
    positions: Sequence[int]
    rows: Sequence[Sequence[int]]
    tokens: Sequence[int] | None

    @property
    def labels(self) -> Sequence[int]:
        """Tokens where they are told; else every node is like any other."""
        return self.tokens if self.tokens is not None else [0] * len(self.mask)


def _case(paths: Paths) -> Case:
    return {"paths": paths}


def first(_: Description) -> list[Case]:
    """One node; depth 1; a chain; a fork; branches of two lengths; equal tokens under different nodes; beginnings, repeats, ids that a narrow type folds."""
    given: list[Paths] = [
        [[1]], [[0], [2]], [[1, 2]], [[1, 2], [1, 0]], [[0, 1], [2]], [[2], [1, 0]], [[0, 2], [1, 2]], [[0, 0, 0]], [[1], [1, 1], [1, 1, 0]],
        [[1, 0], [2], [1, 0]], [[1, 0], [2, 0], [1, 2]], [[FOLDED[0]], [FOLDED[1]]], [[0, 1, 2], [0, 2], [1]], [[2, 1, 0, 1], [0], [2, 1, 1]],
    ]  # fmt: skip
    return [_case(paths) for paths in given] + [_case(_many())]


def _many() -> Paths:
    """Paths of up to six ids with as many nodes as a word has no places for."""
    rng = random.Random("many nodes")
    paths: Paths = []
    while len(trees.prefixes(paths)) < NODES:
        paths.append([rng.randrange(3) for _ in range(rng.randint(1, 6))])
    return paths


def drawn(_: Description) -> st.SearchStrategy[Case]:
    """Up to six paths of up to four ids."""
    return st.lists(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=4), min_size=1, max_size=6).map(_case)


def _paths(case: Case) -> Paths:
    paths = case["paths"]
    assert isinstance(paths, list)
    return paths


def _found(trial: Trial, case: Case) -> Buffers:
    return Buffers(*trial.value(case).outcome)


def _tree(trial: Trial, case: Case) -> tuple[Buffers, list[int]]:
    """The buffers, and the parents that their mask tells; TRB-003 says whether it tells any."""
    found = _found(trial, case)
    return found, trees.parents(found.mask) or []


@prop("TRB-001", "The result is a square mask of truth values, a position for each node, and rows of node numbers.", source=TREES + "A1 to A3",
      guards="well-formed", first=first, cases=drawn, limit=30)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("TRB-002", "There is one node for each distinct non-empty beginning of a path.", source=TREES + "A5; faults B085, B090", guards="position", after=("TRB-001",),
      first=first, cases=drawn, limit=40)  # fmt: skip
def test_nodes(trial: Trial, case: Case) -> None:
    found, right = _found(trial, case), trees.prefixes(_paths(case))
    if len(found.mask) != len(right):
        raise Violation(f"The tree has {len(found.mask)} nodes instead of {len(right)}.", _nodes(found, right), kind="nodes")


@prop("TRB-003", "A node attends to itself and to its ancestors, and to no other node.", source=TREES + "A1; faults B088", guards="position", after=("TRB-002",),
      first=first, cases=drawn, limit=40)  # fmt: skip
def test_mask(trial: Trial, case: Case) -> None:
    found, right = _found(trial, case), trees.prefixes(_paths(case))
    told = trees.parents(found.mask)
    if told is None:
        raise Violation("The mask is no relation of ancestor or self: of no tree at all.", (_mask_row(found, right),), kind="no tree")
    labels = [prefix[-1] for prefix in right] if found.tokens is not None else [0] * len(right)
    if trees.shape(told, found.labels) != trees.shape(trees.above(right), labels):
        raise Violation("The mask is that of another tree than the paths make.", (_mask_row(found, right), *_nodes(found, right)), kind="another tree")


@prop("TRB-004", "A node's position is its depth, 1 for a child of the context.", source=TREES + "A2; faults B085, B089", guards="position", after=("TRB-003",),
      first=first, cases=drawn, limit=40)  # fmt: skip
def test_positions(trial: Trial, case: Case) -> None:
    found = _found(trial, case)
    right = [sum(row) for row in found.mask]
    if list(found.positions) != right:
        raise Violation("A position is not the depth of its node.", (Row("positions", str(list(found.positions)), str(right)),))


@prop("TRB-005", "Each row of retrieve goes from a child of the context down to a node, and every leaf ends one.", source=TREES + "A3", guards="position",
      after=("TRB-003",), first=first, cases=drawn, limit=40)  # fmt: skip
def test_branches(trial: Trial, case: Case) -> None:
    found, parents = _tree(trial, case)
    branches = [trees.branch(parents, row) for row in found.rows]
    if not all(branches):
        row = found.rows[branches.index(())]
        raise Violation("A row does not begin with a child of the context.", (Row("row", str(list(row)), _branches(parents)),), kind="no branch")
    missing = _leaves(parents) - {branch[-1] for branch in branches}
    if missing:
        raise Violation(f"No row leads to the leaf {min(missing)}.", (Row("retrieve", str(found.rows), _branches(parents)),), kind="leaf")


@prop("TRB-006", "The order of paths, their repetition, and paths that begin another change nothing but the numbers of nodes.", source=TREES + "A5",
      guards="position", after=("TRB-003", "TRB-005"), first=first, cases=drawn, limit=25)  # fmt: skip
def test_paths_as_a_set(trial: Trial, case: Case) -> None:
    paths, once = _paths(case), _relabelled(_found(trial, case))
    for how, other in _alike(paths).items():
        again = _relabelled(_found(trial, _case(other)))
        if again != once:
            told = f"The paths {how} make another tree."
            raise Violation(told, (Row(f"of {other}", str(again), str(once)),), kind="paths")


def _alike(paths: Paths) -> dict[str, Paths]:
    """Paths that make the same tree, by what is done to them."""
    begun = [list(prefix) for prefix in trees.prefixes(paths)]
    return {
        "in reverse": paths[::-1],
        "given twice": [*paths, *paths],
        "after all their beginnings": [*begun, *paths],
        "before their beginnings": [*paths, *begun],
    }


def _relabelled(found: Buffers) -> str | tuple[object, ...]:
    """What a relabelling of nodes leaves: each node's label and position with what hangs under it, and whether every leaf ends a row."""
    parents = trees.parents(found.mask)
    if parents is None:
        return "no tree"
    ends = {branch[-1] for row in found.rows if (branch := trees.branch(parents, row))}
    return trees.shape(parents, list(zip(found.labels, found.positions, strict=True))), _leaves(parents) <= ends


@prop("TRB-007", "Without any id the tree is empty: a plain decoding step. Empty paths add nothing.", source=TREES + "A8", guards="position", after=("TRB-002",),
      first=lambda _: [_case([]), _case([[]]), _case([[], [1]]), _case([[1, 0], []])])  # fmt: skip
def test_empty(trial: Trial, case: Case) -> None:
    reply, nodes = trial.call(case), trees.prefixes(_paths(case))
    if isinstance(reply, Raised):
        raise Violation(f"Without a path that has ids, the subject {reply}.", kind="refused", severity="advisory")
    found = _found(trial, case)
    labels = [prefix[-1] if found.tokens is not None else 0 for prefix in nodes]
    right = trees.shape(trees.above(nodes), list(zip(labels, map(len, nodes), strict=True))), True
    if _relabelled(found) != right:
        raise Violation("It is another tree than the paths make.", (Row("tree", str(_relabelled(found)), str(right)),), kind="tree")


@prop("TRB-008", "Behind its leaf a row of retrieve holds pads alone, and a pad is no number of a node.", source=TREES + "A4; faults B081", guards="position",
      after=("TRB-005",), first=first, cases=drawn, limit=40)  # fmt: skip
def test_pads(trial: Trial, case: Case) -> None:
    found, parents = _tree(trial, case)
    for row in found.rows:
        behind = row[len(trees.branch(parents, row)) :]
        if any(pad in range(len(parents)) for pad in behind):
            raise Violation(
                "A row names a node behind its branch: a pad that is a node, or a wrong turn.", (Row("row", str(list(row)), _branches(parents)),), kind="pad"
            )


@prop("TRB-009", "There is one row for each leaf.", source=TREES + "A3, A5", guards="efficiency", severity="advisory", after=("TRB-005",), first=first, cases=drawn,
      limit=15)  # fmt: skip
def test_a_row_for_each_leaf(trial: Trial, case: Case) -> None:
    found, parents = _tree(trial, case)
    if len(found.rows) != len(_leaves(parents)):
        told = f"There are {len(found.rows)} rows for {len(_leaves(parents))} leaves: who draws for each row draws a node more than once."
        raise Violation(told, (Row("retrieve", str(found.rows), _branches(parents)),), kind="rows")


@prop("TRB-011", "Pads are -1, or what is declared.", source=TREES + "A4; contracts, C", guards="hygiene", severity="advisory", after=("TRB-008",), first=first)  # fmt: skip
def test_the_pad_that_is_declared(trial: Trial, case: Case) -> None:
    found, parents = _tree(trial, case)
    declared = trial.subject.conventions.get("pad", -1)
    others = {pad for row in found.rows for pad in row[len(trees.branch(parents, row)) :]} - {declared}
    if others:
        raise Violation(f"Rows are filled up with {min(others)}.", (Row("pad", str(min(others)), str(declared)),), kind="pad")


@prop("TRB-010", "The call leaves the paths as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("TRB-001",), first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("TRB-013", "The same paths give the same buffers twice.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("TRB-001",), first=first)  # fmt: skip
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def _leaves(parents: Sequence[int]) -> set[int]:
    return set(range(len(parents))) - set(parents)


def _branches(parents: Sequence[int]) -> str:
    """All branches, as text."""
    found: list[list[int]] = []
    for leaf in sorted(_leaves(parents)):
        nodes = [leaf]
        while parents[nodes[0]] != trees.ROOT:
            nodes.insert(0, parents[nodes[0]])
        found.append(nodes)
    return f"one of the branches {found}"


def _nodes(found: Buffers, right: Sequence[trees.Prefix]) -> tuple[Row, ...]:
    tokens = "" if found.tokens is None else f", tokens {list(found.tokens)}"
    return (Row("nodes", f"{len(found.mask)}{tokens}", f"{len(right)}: {[list(prefix) for prefix in right]}"),)


def _mask_row(found: Buffers, right: Sequence[trees.Prefix]) -> Row:
    """Whom each node attends to, and what is right in one order of nodes."""
    told = [[j for j, sees in enumerate(row) if sees] for row in found.mask]
    wanted = [[j for j, other in enumerate(right) if prefix[: len(other)] == other] for prefix in right]
    return Row("attends to", str(told), f"up to the nodes' order, {wanted}")
