"""Draft trees with their models as cases: tables by prefix for laws, small ones that tell faults apart and drawn ones; rows by node; and the right law."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import draft_trees, rows
from specprops.draft_trees import Line, Tree, standing
from specprops.trees import ROOT, children
from specverify.contracts import Case, array, array_of
from specverify.contracts.nodes import numbers
from specverify.contracts.verify_tree import depth_of, places_of, row_of
from specverify.law import Law, Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

FAINTEST = 2.0**-30
"""Of what a child is drawn from without replacement. What is left of the drafter's row behind the first child may be all that is faint in it: a child is then sure to have a subnormal probability, on
which a comparison of products rounds its coin away, lawfully."""


class Shape(NamedTuple):
    """Nodes, their tokens where they are no random choice, and whole weights of the target and of the drafter by prefix, repeated as often as they are needed."""

    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    target: tuple[Line, ...]
    drafter: tuple[Line, ...]


T, U, V, W = (4, 3, 3), (2, 6, 2), (1, 4, 5), (5, 1, 4)
"""Over three tokens: B090's rows, and two that differ from them everywhere."""

SMALL = (
    Shape((ROOT,), (1,), ((1, 1), (1, 3), (3, 1)), ((3, 1),)),
    Shape((ROOT,), (0,), ((5, 3, 2),), ((1, 3, 4),)),
    Shape((ROOT, ROOT), (1, 0), (T, V, W, U), (U,)),
    Shape((ROOT, ROOT), (0, 2), ((0, 1, 3), W, T, V), ((2, 1, 1), V)),
    Shape((ROOT, 0), (1, 0), ((1, 1), (1, 3), (3, 1), (2, 1), (1, 2), (1, 4), (4, 1)), ((3, 1), (1, 2), (2, 1))),
    Shape((ROOT, ROOT, 1), (0, 1, 1), ((1, 1), (1, 3), (3, 1), (2, 1), (1, 2), (1, 4), (4, 1)), ((3, 1), (1, 2), (2, 1))),
    Shape((ROOT, ROOT, 0), (2, 1, 0), (T, V, W, U, (1, 0, 2)), (U, (1, 0, 2), (2, 1, 0), (0, 1, 3))),
)
"""A child, two, a chain, and branches of two lengths behind the first and the second child; rows differ from prefix to prefix."""


def case_of(dtype: str, siblings: str, order: str, shape: Shape, pads: Sequence[int] = ()) -> Case:
    """The case of a law; drawn children need no tokens, given ones no drafter."""
    given = siblings == "deterministic"
    width, n = len(shape.target[0]), len(shape.parents)
    tree = standing(Tree(shape.parents, shape.tokens, ((),) * (n + 1)), order)
    places = places_of(tree.parents, width)
    target, drafter = (_table(dtype, weights, places) for weights in (shape.target, shape.drafter))
    case: Case = {"target": target, "drafter": None if given else drafter, "parents": array("int64", (n,), tree.parents), "siblings": siblings}
    return {**case, "pads": list(pads), **({"tokens": array("int64", (n,), tree.tokens)} if given else {})}


def _table(dtype: str, weights: Sequence[Line], places: int) -> object:
    lines = [rows.normalised(line, dtype) for line, _ in zip(itertools.cycle(weights), range(places), strict=False)]
    return array(dtype, (places, len(weights[0])), itertools.chain(*lines))


def made(subject: Description, shape: Shape, pads: Sequence[int] = ()) -> Case:
    """The case of a shape, as the subject takes it."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    return case_of(dtype, str(subject.siblings), draft_trees.order(subject), shape, pads)


def first(subject: Description) -> list[Case]:
    """The small trees, in the order and with the children that the subject takes."""
    return [made(subject, shape) for shape in SMALL]


@st.composite
def tables(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None) -> Case:
    """Up to three nodes over two or three tokens, whose laws can be explored; each prefix has its own pair of rows."""
    dtype, siblings = draw(st.sampled_from(dtypes or subject.dtypes)), str(subject.siblings)
    return case_of(dtype, siblings, draft_trees.order(subject), draw(shapes(draw(st.integers(2, 3)), dtype, siblings)))


@st.composite
def shapes(draw: st.DrawFn, v: int, dtype: str, siblings: str) -> Shape:
    """One to three nodes over v tokens."""
    parents = draw(draft_trees.parents(3, v if siblings != "with-replacement" else 3).filter(lambda p: v ** (depth_of(p) + 1) <= rows.CELLS))
    pairs = [draw(rows.pair(v, dtype)) for _ in range(places_of(parents, v))]
    tokens: list[int] = []
    for node, parent in enumerate(parents):
        taken = {tokens[other] for other in range(node) if parents[other] == parent}
        tokens.append(draw(st.sampled_from([token for token in range(v) if token not in taken] or [0])))
    least = max(map(parents.count, parents)) if siblings == "without-replacement" else 1
    faintest = FAINTEST if siblings == "without-replacement" else 0
    lines = [tuple(x if x >= faintest else 0.0 for x in q) for _, q in pairs]
    drafter = tuple(q if sum(x > 0 for x in q) >= least else tuple(x + 1 for x in q) for q in lines)
    return Shape(parents, tuple(tokens), tuple(p for p, _ in pairs), drafter)


def wide(subject: Description) -> st.SearchStrategy[Case]:
    """Tables in float32 or float64."""
    return tables(subject, dtypes=rows.wide(subject))


def explicit(subject: Description) -> list[Case]:
    """The small trees with their tokens given, in every way that the drafter can propose: rows for each node."""
    dtype, siblings, found = (rows.wide(subject) or subject.dtypes)[0], str(subject.siblings), []
    for case in (made(subject, shape) for shape in SMALL[1:]):
        parents, width = numbers(case, "parents"), array_of(case, "target").shape[-1]
        given = [numbers(case, "tokens")] if "tokens" in case else list(itertools.product(range(width), repeat=len(parents)))
        found += [one for tokens in given if (one := _explicit(dtype, siblings, case, parents, tokens)) is not None]
    return found


def _explicit(dtype: str, siblings: str, case: Case, parents: Sequence[int], tokens: Sequence[int]) -> Case | None:
    """P and q by node; none where the drafter does not propose the tokens."""
    below = children(parents)
    target, width = list(array_of(case, "target").rows()), array_of(case, "target").shape[-1]
    drafter = list(array_of(case, "drafter").rows()) if case["drafter"] is not None else None
    places = [row_of(prefix, width) for prefix in [(), *prefixes(parents, tokens)]]
    if drafter is not None and any(drafter[places[parent + 1]][tokens[node]] == 0 for node, parent in enumerate(parents)):
        return None
    if siblings != "with-replacement" and any(len({tokens[node] for node in nodes}) < len(nodes) for nodes in below.values()):
        return None
    shape, n = (len(places), width), len(tokens)
    q = None if drafter is None else array(dtype, shape, itertools.chain(*(drafter[place] for place in places)))
    p = array(dtype, shape, itertools.chain(*(target[place] for place in places)))
    return {"p": p, "q": q, "parents": array("int64", (n,), parents), "tokens": array("int64", (n,), tokens)}


def prefixes(parents: Sequence[int], tokens: Sequence[int]) -> list[tuple[int, ...]]:
    """The tokens from the context down to each node."""
    found: list[tuple[int, ...]] = []
    for parent, token in zip(parents, tokens, strict=True):
        found.append((*(found[parent] if parent != ROOT else ()), token))
    return found


def right_law(case: Case) -> Law:
    """The target's own law of as many tokens as the longest branch and one."""
    table, width = list(array_of(case, "target").rows()), array_of(case, "target").shape[-1]
    masses: dict[Outcome, float] = {}
    for tokens in itertools.product(range(width), repeat=depth_of(numbers(case, "parents")) + 1):
        lines = [table[row_of(tokens[:place], width)] for place in range(len(tokens))]
        masses[tokens] = math.prod(line[token] / math.fsum(line) for line, token in zip(lines, tokens, strict=True))
    return Law({tokens: mass for tokens, mass in masses.items() if mass > 0})
