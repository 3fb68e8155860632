"""Packed batches of draft trees as cases: those of `tree_cases` beside each other, for laws or with tokens and seeds; and each request taken out of its batch again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import draft_trees, rows
from specprops.batches import MANY, POISON, Asked, Padding, one_dtype, some
from specprops.tree_cases import SMALL, Shape, T, U, V, W, case_of, shapes
from specprops.trees import ROOT
from specverify.contracts import Case, array, array_of
from specverify.contracts.nodes import numbers
from specverify.contracts.packed_trees import slots_of
from specverify.contracts.picks import at_random
from specverify.contracts.verify_batch import SEED_BITS, UNDEFINED
from specverify.contracts.verify_tree import Tables
from specverify.contracts.verify_tree_lcrs import BESIDE, joined, requests

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

POISONS = (-7, 2**31 - 1)
"""In buffers for output: no id, and a large one."""


class Group(NamedTuple):
    """Trees beside each other; the greedy ones among them by their place."""

    shapes: tuple[Shape, ...]
    cold: tuple[int, ...] = ()


EMPTY2, EMPTY3 = Shape((), (), ((1, 3),), ((1, 1),)), Shape((), (), ((0, 1, 3),), ((1, 1, 1),))
DOUBLE = Shape((ROOT, ROOT), (0, 2), (T, V, W, U), ((6, 1, 1),))
"""Siblings that are mostly equal where they are drawn with replacement."""
COLD = Shape((ROOT, ROOT, 1), (0, 1, 1), ((0, 1), (0, 1), (1, 0)), ((1, 1),))
CHILD, TWO, CHAIN, DEEP, BRANCHES = SMALL[0], SMALL[2], SMALL[4], SMALL[5], SMALL[6]
GROUPS = (
    Group((CHILD,)), Group((TWO,)), Group((DOUBLE,)), Group((DEEP,)), Group((BRANCHES,)), Group((EMPTY2, CHILD)), Group((CHILD, EMPTY2)), Group((CHILD, CHAIN)),
    Group((DEEP, CHILD)), Group((TWO, EMPTY3, BRANCHES)),
)  # fmt: skip
"""One request; one without a tree before and behind another; two unlike ones in either order; three."""
GREEDY = (Group((COLD, CHILD), (0,)), Group((CHILD, COLD, EMPTY2), (1,)))


def batch(mine: Sequence[Case], padding: Padding, **others: object) -> Case:
    """Cases of `verify_tree` as one batch, in as many slots as the padding says at least."""
    sizes = [array_of(one, "parents").shape[0] for one in mine]
    law = {"siblings": mine[0]["siblings"]} if "siblings" in mine[0] else {}
    token = int(POISON[1]) if padding.poison else padding.token
    told = {"sizes": array("int64", (len(mine),), sizes), "slots": max(padding.places, 1 + max(sizes)), "pad": token}
    return {**joined(mine), **law, **told, **others, **dict(padding.beside)}


def _laws(dtype: str, subject: Description, group: Group, padding: Padding) -> Case:
    mine = [case_of(dtype, str(subject.siblings), draft_trees.order(subject), shape) for shape in group.shapes]
    return batch(mine, padding, **_temperatures([b in group.cold for b in range(len(mine))]))


def _temperatures(cold: Sequence[bool]) -> dict[str, object]:
    return {"temperature": array("float32", (len(cold),), [float(not one) for one in cold])} if any(cold) else {}


def first(subject: Description) -> list[Case]:
    """The small batches; every other one with two slots more and another token in unused ones, or with what is no token where the subject reads none."""
    poison = UNDEFINED in subject.supports
    groups = [*GROUPS, *(GREEDY if "temperature" in subject.supports else ())]
    return [
        _laws(one_dtype(subject), subject, group, _padding(subject, group, more=2 * (i % 2), last=i % 4 > 1, poison=poison and i % 3 == 1))
        for i, group in enumerate(groups)
    ]


def _padding(subject: Description, group: Group, *, more: int, last: bool, poison: bool) -> Padding:
    """More slots than the largest tree needs; in those without a node the first or the last token, or what is none; in buffers one of two numbers."""
    beside = (("poison", POISONS[last]),) if subject.scratch else ()
    largest = max(len(shape.parents) for shape in group.shapes)
    return Padding(len(group.shapes[0].target[0]) - 1 if last else 0, 1 + largest + more, poison, beside)


@st.composite
def cases(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None) -> Case:
    """One to three trees of up to three nodes, or of none, over two or three tokens."""
    dtype, v = draw(st.sampled_from(dtypes or subject.dtypes)), draw(st.integers(2, 3))
    empty = st.builds(lambda row: Shape((), (), (row,), ((1.0,) * v,)), rows.row(v, dtype))
    group = Group(tuple(draw(st.lists(st.one_of(shapes(v, dtype, str(subject.siblings)), empty), min_size=1, max_size=3))))
    poison = UNDEFINED in subject.supports and draw(st.booleans())
    case = _laws(dtype, subject, group, _padding(subject, group, more=draw(st.integers(0, 2)), last=draw(st.booleans()), poison=poison))
    return {**case, "ids": "int32"} if "int32" in subject.supports and draw(st.booleans()) else case


def wide(subject: Description) -> st.SearchStrategy[Case]:
    """Batches in float32 or float64."""
    return cases(subject, dtypes=rows.wide(subject))


def many(subject: Description) -> list[Case]:
    """A large batch of unlike trees over four tokens, each row of the target with three of them."""
    rng = random.Random("many trees")
    nodes = [EMPTY3, *SMALL]
    found = [nodes[b % len(nodes)]._replace(target=_lines(rng, 3), drafter=_lines(rng, 4)) for b in range(MANY)]
    group = Group(tuple(found))
    return [_laws(one_dtype(subject), subject, group, _padding(subject, group, more=0, last=True, poison=False))]


def _lines(rng: random.Random, support: int) -> tuple[tuple[float, ...], ...]:
    """Rows for a table over four tokens to the depth of two."""
    return tuple(some(rng, support) for _ in range(21))


# With tokens and seeds -------------------------------------------------------------------------------------------------------


def decided(case: Case, key: int) -> Case:
    """The case with tokens drawn for its nodes, and a seed for each request."""
    rng = random.Random(f"decided/{key}")
    mine = [Tables(one).draw(at_random(rng)) for one in requests(case)]
    seeds = array("int64", (len(mine),), [rng.getrandbits(SEED_BITS) for _ in mine])
    return {**{name: value for name, value in case.items() if name not in ("target", "drafter", "siblings")}, **joined(mine), "seeds": seeds}


def seeded_first(subject: Description) -> list[Case]:
    """The small batches, decided."""
    return [decided(case, 1) for case in first(subject)]


def seeded(subject: Description) -> st.SearchStrategy[Case]:
    """Drawn ones."""
    return st.builds(decided, wide(subject), st.integers(0, 9))


def taken_apart(case: Case) -> list[Asked]:
    """The requests of a case with tokens; their rows by node."""
    mine = requests(case)
    seeds, temperature = (array_of(case, name).values if name in case else [None] * len(mine) for name in ("seeds", "temperature"))
    return [
        Asked(_table(one, "p"), _table(one, "q"), numbers(one, "tokens"), None if seed is None else int(seed), t == 0, parents=numbers(one, "parents"))
        for one, seed, t in zip(mine, seeds, temperature, strict=True)
    ]


def _table(one: Case, name: str) -> tuple[tuple[float, ...], ...]:
    return tuple(array_of(one, name).rows()) if one[name] is not None else ()


def padding_of(case: Case) -> Padding:
    """Of a case of ours; that no q is handed over belongs to the batch."""
    pad = case["pad"]
    assert isinstance(pad, int)
    beside = tuple((name, case[name]) for name in BESIDE if name in case) + ((("q", None),) if case["q"] is None else ())
    return Padding(0 if pad == POISON[1] else pad, slots_of(case), pad == POISON[1], beside)


def together(dtype: str, asked: Sequence[Asked], padding: Padding) -> Case:
    """The batch of these requests; rows of q that mean nothing, where one has none, are any."""
    seeds = {"seeds": array("int64", (len(asked),), [one.seed or 0 for one in asked])} if all(one.seed is not None for one in asked) else {}
    return batch([_tree(dtype, one) for one in asked], padding, **seeds, **_temperatures([one.greedy for one in asked]))


def _tree(dtype: str, one: Asked) -> Case:
    """A request as a case of `verify_tree`."""
    n, v = len(one.p), len(one.p[0])
    q = (*one.q, *[(1 / v,) * v] * (n - len(one.q)))
    p, q_ = (array(dtype, (n, v), itertools.chain(*table)) for table in (one.p, q))
    parents, tokens = (array("int64", (n - 1,), ids or ()) for ids in (one.parents, one.draft))
    return {"p": p, "q": q_, "parents": parents, "tokens": tokens}
