"""Properties of `verify_tree_greedy`: the target's own greedy tokens come out, along a path of the tree (theory S10, A4 to A6)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import draft_trees, logit_rows, rows
from specprops.draft_trees import Tree, is_path, standing, takes_pads
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trees import ROOT, children
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, Family, array, array_of
from specverify.contracts.nodes import numbers
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "2305.09781, section 4; theory S10, "
LARGE = 32_000
PADS = (1, 6)
"""Slots without a node: the least, and more than most branches have nodes."""

A, B, C = (2.0, 1.0, 0.0), (0.0, 2.0, 1.0), (1.0, 0.0, 2.0)
"""Rows over three tokens whose argmax is 0, 1, and 2, the last."""


def _case(dtype: str, tree: Tree) -> Case:
    n, lines = len(tree.parents), tree.rows
    return {
        "logits": array(dtype, (n + 1, len(lines[0])), itertools.chain(*lines)),
        "parents": array("int64", (n,), tree.parents),
        "tokens": array("int64", (n,), tree.tokens),
    }


def _tree(case: Case) -> Tree:
    return Tree(numbers(case, "parents"), numbers(case, "tokens"), tuple(array_of(case, "logits").rows()))


SMALL = (
    Tree((ROOT,), (0,), (A, B)),
    Tree((ROOT,), (2,), (A, B)),
    Tree((ROOT, ROOT), (1, 0), (A, B, C)),
    Tree((ROOT, 0), (0, 1), (A, B, C)),
    Tree((ROOT, 0), (1, 2), (A, C, B)),
    Tree((ROOT, ROOT, 1), (1, 0, 1), (B, A, C, C)),
    Tree((ROOT, ROOT, 1), (1, 0, 1), (B, C, A, A)),
    Tree((ROOT, ROOT, 0), (1, 0, 2), (A, C, B, A)),
    Tree((ROOT, ROOT, 1), (1, 0, 1), (A, C, B, A)),
    Tree((ROOT, ROOT, 0), (2, 1, 0), (C, B, A, C)),
    Tree((ROOT, ROOT, 0, 2), (1, 2, 1, 0), (B, A, C, B, A)),
    Tree((ROOT, ROOT, 0, 1, 1), (2, 0, 0, 1, 2), (A, A, C, B, C, A)),
    Tree((ROOT, ROOT, ROOT, 0, 0, 1, 3), (0, 1, 2, 1, 2, 0, 0), (A, C, B, A, B, B, C, A)),
)
"""Depth 1, chains, forks; the branch that is right is first, last, and the shortest; leaves whose row says 0 and the last token. Breadth-first."""


def first(subject: Description) -> list[Case]:
    """The small trees in the order that the subject takes."""
    return [_case(subject.dtypes[0], standing(tree, draft_trees.order(subject))) for tree in SMALL]


@st.composite
def cases(draw: st.DrawFn, subject: Description, *, ties: bool = True) -> Case:
    """Up to eight nodes; children that agree with the row above them more often than not; ties, unless they are not wanted."""
    v = draw(st.integers(2, 6))
    line = logit_rows.row(v) if ties else st.permutations(range(v)).map(lambda row: tuple(map(float, row)))
    parents = draw(draft_trees.parents(8, v))
    lines = [draw(line) for _ in range(len(parents) + 1)]
    tree = Tree(parents, (), tuple(lines))
    for node, parent in enumerate(parents):
        free = [t for t in range(v) if t not in {tree.tokens[other] for other in range(node) if parents[other] == parent}]
        best = lines[parent + 1].index(max(lines[parent + 1]))
        token = best if best in free and draw(st.integers(0, 2)) else draw(st.sampled_from(free))
        tree = tree._replace(tokens=(*tree.tokens, token))
    return _case(draw(st.sampled_from(subject.dtypes)), standing(tree, draft_trees.order(subject)))


def without_ties(subject: Description) -> st.SearchStrategy[Case]:
    """Rows of which each has one argmax: then there is one right answer."""
    return cases(subject, ties=False)


@prop("TRG-001", "Every call gives a path of nodes and one token of the vocabulary, and no exception.", source=SOURCE + "A3", guards="well-formed", first=first,
      cases=cases, limit=40)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("TRG-002", "The path goes from a child of the context down, node after node.", source=SOURCE + "A3", guards="well-formed", after=("TRG-001",), first=first,
      cases=cases, limit=40)  # fmt: skip
def test_path(trial: Trial, case: Case) -> None:
    path, _ = trial.value(case).outcome
    parents = numbers(case, "parents")
    if not is_path(parents, path):
        raise Violation("The path is no path of the tree.", (Row("path", str(list(path)), f"down the parents {list(parents)}"),), kind="path")


@prop("TRG-003", "Every emitted token is an argmax of the row above it.", source=SOURCE + "A6; faults B081, B089", guards="greedy", after=("TRG-002",), first=first,
      cases=cases, limit=100)  # fmt: skip
def test_argmax(trial: Trial, case: Case) -> None:
    _judge(_tree(case), trial.value(case).outcome)


def _judge(tree: Tree, outcome: tuple[tuple[int, ...], int]) -> None:
    """Tokens of the path and the one after it, each against its row."""
    path, token = outcome
    above = [tree.rows[place + 1] for place in (ROOT, *path)]
    emitted = tree.emitted(path, token)
    if any(row[t] != max(row) for row, t in zip(above, emitted, strict=True)):
        told = f"path {list(path)}, tokens {list(emitted)}"
        right = ", ".join(" or ".join(str(t) for t, x in enumerate(row) if x == max(row)) for row in above)
        raise Violation("A token is not the target's argmax.", (Row("emitted", told, f"of the rows along the path, {right}"),), kind="argmax")


def deepest(tree: Tree) -> int:
    """How far the target's argmax agrees with a branch, the deepest of them."""
    found = [0]
    for parent, token in zip(tree.parents, tree.tokens, strict=True):
        row, depth = tree.rows[parent + 1], found[parent + 1]
        found.append(depth + 1 if depth >= 0 and token in range(len(row)) and row[token] == max(row) else -1)
    return max(found)


@prop("TRG-004", "The path is the deepest that agrees.", source=SOURCE + "A5", guards="efficiency", severity="advisory", after=("TRG-003",), first=first,
      cases=without_ties, limit=60)  # fmt: skip
def test_deepest(trial: Trial, case: Case) -> None:
    path, _ = trial.value(case).outcome
    if len(path) < deepest(_tree(case)):
        told = "A longer path agrees with the target: right, but slower than it could be."
        raise Violation(told, (Row("accepted", str(len(path)), str(deepest(_tree(case)))),), kind="shorter")


@prop("TRG-005", "Of a tree without nodes the target's argmax is emitted: a plain decoding step.", source=SOURCE + "A8", guards="greedy", after=("TRG-003",),
      first=lambda subject: [_case(subject.dtypes[0], Tree((), (), (row,))) for row in (A, C)])  # fmt: skip
def test_empty(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Raised):
        raise Violation(f"Without any node, the subject {reply}.", kind="refused", severity="advisory")
    _judge(_tree(case), trial.value(case).outcome)


@prop("TRG-006", "The order of siblings and a branch that the target does not take change no token.", source=SOURCE + "A5", guards="greedy", after=("TRG-003",),
      first=first, cases=without_ties, limit=40)  # fmt: skip
def test_other_branches(trial: Trial, case: Case) -> None:
    tree, how = _tree(case), draft_trees.order(trial.subject)
    others = {"with its siblings in reverse": standing(tree, how, reverse=True)}
    strangers = [t for t, x in enumerate(tree.rows[0]) if x < max(tree.rows[0]) and t not in {tree.tokens[node] for node in children(tree.parents)[ROOT]}]
    if strangers:
        others["with a branch more"] = standing(tree.hung(ROOT, strangers[0], tree.rows[0]), how)
    _alike(trial, case, others)


@prop("TRG-007", "Slots that hold pads change no token, whatever their rows say, and however many they are.", source=SOURCE + "A4; faults B079, B081, B083",
      guards="greedy", after=("TRG-003",), first=first, cases=without_ties, limit=40, applies=takes_pads)  # fmt: skip
def test_pads(trial: Trial, case: Case) -> None:
    tree, pad = _tree(case), int(trial.subject.conventions["pad"])
    v = len(tree.rows[0])
    lures = [tuple(float(token == other) for other in range(v)) for token in (0, v - 1)]
    given = {f"with {n} pads whose rows say {row.index(1.0)}": tree.padded(pad, [row] * n) for n in PADS for row in lures}
    _alike(trial, case, given)


@prop("TRG-008", "A sibling that comes twice changes no token.", source=SOURCE + "A5; faults B090", guards="greedy", after=("TRG-003",), first=first,
      cases=without_ties, limit=40)  # fmt: skip
def test_repeated_siblings(trial: Trial, case: Case) -> None:
    tree, how = _tree(case), draft_trees.order(trial.subject)
    others = {}
    for node in range(len(tree.parents)):
        twice = standing(tree.hung(tree.parents[node], tree.tokens[node], tree.rows[node + 1]), how)
        reply = trial.call(_case(array_of(case, "logits").dtype, twice))
        if isinstance(reply, Raised):
            raise Violation(f"Of equal siblings, the subject {reply}.", kind="refused", severity="advisory")
        others[f"with node {node} twice"] = twice
    _alike(trial, case, others)


def _alike(trial: Trial, case: Case, others: dict[str, Tree]) -> None:
    """Trees that are right with the same tokens give them; less of them is slower, and no fault."""
    tree = _tree(case)
    once = tree.emitted(*trial.value(case).outcome)
    for how, other in others.items():
        path, token = trial.value(_case(array_of(case, "logits").dtype, other)).outcome
        if not is_path(other.parents, path) or any(other.tokens[node] not in range(len(tree.rows[0])) for node in path):
            raise Violation(f"The tree {how} gives no path.", (Row("path", str(list(path)), f"down the parents {list(other.parents)}"),), kind="path")
        again = other.emitted(path, token)
        if again != once:
            slower = again == once[: len(again)] or once == again[: len(once)]
            told = f"The tree {how} gives other tokens."
            rows = (Row("tokens", str(list(again)), str(list(once))),)
            raise Violation(told, rows, kind="length" if slower else "tokens", severity="advisory" if slower else None)


def large(subject: Description) -> list[Case]:
    """Rows over 32,000 tokens; two branches, the second of which agrees. They stand breadth-first, and depth-first too."""
    family = Family("zipf", 1, (rows.wide(subject) or subject.dtypes)[0], (4, LARGE))
    best = [row.index(max(row)) for row in family.expand().rows()]
    tokens = ((best[0] + 1) % LARGE, best[0], best[2])
    return [{"logits": family, "parents": array("int64", (3,), (ROOT, ROOT, 1)), "tokens": array("int64", (3,), tokens)}]


@prop("TRG-009", "Over a large vocabulary too, every emitted token is an argmax of the row above it.", source=SOURCE + "A6; faults B228", guards="greedy",
      after=("TRG-003",), first=large)  # fmt: skip
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    _judge(_tree(case), trial.value(case).outcome)


@prop("TRG-010", "The call leaves its arguments as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("TRG-001",), first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("TRG-014", "The same arguments give the same path twice.", source="faults, L11", guards="hygiene", severity="advisory", after=("TRG-001",), first=first)  # fmt: skip
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)
