"""Properties of `grammar_mask`: each row is what the automaton allows after the tokens above it, and no call moves the automaton."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import draft_trees
from specprops.draft_trees import Tree, standing
from specprops.hygiene import leaves_nothing_behind, same_objects_again, writes_into_nothing
from specprops.suite import prop
from specprops.trees import ROOT
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.grammar_mask import FORBIDDEN, WORD
from specverify.contracts.nodes import numbers
from specverify.law import Outcome
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "faults L19, "
Table = tuple[tuple[int, ...], ...]
Mask = tuple[bool, ...]
NO = FORBIDDEN

COUNTING: Table = ((1, NO, NO), (NO, 2, NO), (NO, NO, 0))
"""Each state forces a token of its own: 0, then 1, then 2, and again."""
TURNING: Table = ((0, 1), (NO, 0))
"""Anything, until a 1 that must be followed by another."""
ENDING: Table = ((1, 0, NO), (NO, 1, 2), (NO, NO, NO))
"""A 0 once; then 1s, and a 2 that ends it all."""
WIDTHS = (WORD + 1, 3 * WORD)
"""One token more than a word of a packed mask has bits for; whole words."""


def chain(n: int) -> tuple[int, ...]:
    """The parents of a chain."""
    return tuple(range(ROOT, n - 1))


def _case(table: Table, state: int, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Case:
    n = len(tokens)
    return {
        "transitions": array("int64", (len(table), len(table[0])), (x for row in table for x in row)),
        "state": state,
        "tokens": array("int64", (n,), tokens),
        "parents": array("int64", (n,), chain(n) if parents is None else parents),
    }


def _table(case: Case) -> Table:
    return tuple(tuple(map(int, row)) for row in array_of(case, "transitions").rows())


def right(case: Case) -> list[Mask | None]:
    """The rows that must come out; none where a row is free: behind a forbidden token, and at the end of what the grammar tells."""
    table, states = _table(case), [int(str(case["state"]))]
    for parent, token in zip(numbers(case, "parents"), numbers(case, "tokens"), strict=True):
        above = states[parent + 1]
        states.append(table[above][token] if above != NO else NO)
    masks = [tuple(x != NO for x in table[state]) if state != NO else () for state in states]
    return [mask if any(mask) else None for mask in masks]


def chains(_: Description) -> list[Case]:
    """One token and more; every state as the first; a forbidden token first, in the middle, last; an end inside the draft."""
    given: list[tuple[Table, int, tuple[int, ...]]] = [
        (TURNING, 0, (0,)), (TURNING, 0, (1,)), (TURNING, 1, (1,)), (COUNTING, 0, (0,)), (COUNTING, 2, (2,)), (COUNTING, 0, (0, 1)), (COUNTING, 1, (1, 2, 0)),
        (TURNING, 0, (1, 0)), (TURNING, 1, (0, 1)), (COUNTING, 0, (0, 2, 1)), (COUNTING, 0, (2,)), (ENDING, 0, (1, 0, 1, 2)), (ENDING, 0, (0, 2, 0)), (ENDING, 1, (2,)),
        (TURNING, 0, (0, 1, 1, 0, 1, 1)),
    ]  # fmt: skip
    return [_case(*one) for one in given]


@st.composite
def automata(draw: st.DrawFn) -> tuple[Table, int]:
    """Up to four states over up to five tokens, and a state in which some token may come."""
    states, v = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    entry: st.SearchStrategy[int] = st.sampled_from((*range(states), NO, NO))
    table: list[list[int]] = [draw(st.lists(entry, min_size=v, max_size=v)) for _ in range(states)]
    state = draw(st.integers(0, states - 1))
    if all(x == NO for x in table[state]):
        table[state][draw(st.integers(0, v - 1))] = draw(st.integers(0, states - 1))
    return tuple(map(tuple, table)), state


@st.composite
def drafted(draw: st.DrawFn, parents: Sequence[int], table: Table, state: int) -> tuple[int, ...]:
    """Tokens, more often than not such as may come."""
    states = [state]
    tokens: list[int] = []
    for parent in parents:
        above = states[parent + 1]
        legal = [t for t, x in enumerate(table[above]) if x != NO] if above != NO else []
        tokens.append(draw(st.sampled_from(legal if legal and draw(st.integers(0, 4)) > 0 else range(len(table[0])))))
        states.append(table[above][tokens[-1]] if above != NO else NO)
    return tuple(tokens)


@st.composite
def drawn_chains(draw: st.DrawFn, _: Description) -> Case:
    """Up to five tokens."""
    table, state = draw(automata())
    return _case(table, state, draw(drafted(chain(draw(st.integers(1, 5))), table, state)))


@prop("GRM-001", "There is a row for the context and one for each token, each over the whole vocabulary.", source=SOURCE + "B153", guards="well-formed", first=chains,
      cases=drawn_chains, limit=30)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("GRM-002", "Row 0 is what the grammar allows after the context.", source=SOURCE + "B152", guards="support", after=("GRM-001",), first=chains,
      cases=drawn_chains, limit=40)  # fmt: skip
def test_context(trial: Trial, case: Case) -> None:
    _judge(trial, case, rows=1)


@prop("GRM-003", "Row i is what the grammar allows after i draft tokens.", source=SOURCE + "B148, B150", guards="support", after=("GRM-002",), first=chains,
      cases=drawn_chains, limit=80)  # fmt: skip
def test_chain(trial: Trial, case: Case) -> None:
    _judge(trial, case)


def _judge(trial: Trial, case: Case, rows: int | None = None) -> None:
    wanted, found = right(case)[:rows], trial.value(case).outcome[:rows]
    off = [i for i, (mask, row) in enumerate(zip(wanted, found, strict=True)) if mask is not None and tuple(row) != mask]
    if off:
        kind = "last row" if off == [len(numbers(case, "tokens"))] else "row"
        table = tuple(Row(_name(case, i), _shown(found[i]), _shown(wanted[i] or ())) for i in off)
        raise Violation("A row is not the mask of the state after its own tokens.", table, kind=kind)


def _name(case: Case, row: int) -> str:
    """A row by the tokens that lead to it."""
    parents, tokens = numbers(case, "parents"), numbers(case, "tokens")
    path: list[int] = []
    node = row - 1
    while node != ROOT:
        path.insert(0, tokens[node])
        node = parents[node]
    return f"after {path}"


def _shown(mask: Sequence[bool]) -> str:
    allowed = [token for token, may in enumerate(mask) if may]
    return f"allows {allowed}" if len(allowed) <= WORD else f"allows {len(allowed)} of {len(mask)}"


def _supports_trees(subject: Description) -> str | None:
    return None if "tree" in subject.supports else "the subject declares no trees"


def _tree(subject: Description, table: Table, state: int, tree: tuple[Sequence[int], Sequence[int]]) -> Case:
    """A tree of (parents, tokens) in the order that the subject takes."""
    parents, tokens = map(tuple, tree)
    stood = standing(Tree(parents, tokens, ((),) * (len(tokens) + 1)), draft_trees.order(subject))
    return _case(table, state, stood.tokens, stood.parents)


def forks(subject: Description) -> list[Case]:
    """Siblings that lead to two states, cousins, a child of a forbidden token beside a lawful branch."""
    given: list[tuple[Table, int, tuple[Sequence[int], Sequence[int]]]] = [
        (TURNING, 0, ((ROOT, ROOT), (0, 1))), (TURNING, 0, ((ROOT, ROOT), (1, 0))), (TURNING, 0, ((ROOT, ROOT, 0, 1), (1, 0, 1, 1))),
        (COUNTING, 0, ((ROOT, ROOT, 0, 1), (0, 1, 1, 2))), (ENDING, 0, ((ROOT, ROOT, 0, 0, 1), (0, 1, 1, 2, 0))),
        (TURNING, 0, ((ROOT, 0, 1, 0, ROOT), (0, 1, 1, 0, 1))),
    ]  # fmt: skip
    return [_tree(subject, *one) for one in given]


@st.composite
def drawn_trees(draw: st.DrawFn, subject: Description) -> Case:
    """Up to seven nodes."""
    table, state = draw(automata())
    parents = draw(draft_trees.parents(7, len(table[0])))
    return _tree(subject, table, state, (parents, draw(drafted(parents, table, state))))


@prop("GRM-004", "In a tree, the row of a node is what the grammar allows after the tokens of its own path.", source=SOURCE + "B150; theory A1", guards="support",
      after=("GRM-003",), first=forks, cases=drawn_trees, limit=80, applies=_supports_trees)  # fmt: skip
def test_tree(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("GRM-005", "Without a draft there is one row, that of the context.", source=SOURCE + "B153", guards="well-formed", after=("GRM-002",),
      first=lambda _: [_case(COUNTING, state, ()) for state in range(3)])  # fmt: skip
def test_no_drafts(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Raised):
        raise Violation(f"Without a draft, the subject {reply}.", kind="refused", severity="advisory")
    _judge(trial, case)


def wide(_: Description) -> list[Case]:
    """Vocabularies of more than a word of a packed mask."""
    rng, found = random.Random("wide masks"), []
    for v in WIDTHS:
        table = tuple(tuple(rng.choice((0, 1, NO)) for _ in range(v)) for _ in range(2))
        legal = [t for t, x in enumerate(table[0]) if x == 1]
        found.append(_case(table, 0, (legal[-1],)))
    return found


@prop("GRM-006", "Masks of more than one word of bits are right too.", source=SOURCE + "B148", guards="support", after=("GRM-003",), first=wide)
def test_wide(trial: Trial, case: Case) -> None:
    _judge(trial, case)


def cases(subject: Description) -> list[Case]:
    """Chains; and trees where they are supported."""
    return chains(subject) + (forks(subject) if "tree" in subject.supports else [])


@prop("GRM-007", "A second call with the same automaton gives the same masks: what was advanced is taken back.", source=SOURCE + "B147, B152; contracts, F",
      guards="support", after=("GRM-002",), first=cases, cases=drawn_chains, limit=40, applies=writes_into_nothing)  # fmt: skip
def test_same_objects_again(trial: Trial, case: Case) -> None:
    same_objects_again(trial, case, judged=_of_the_judged(case))


def _of_the_judged(case: Case) -> Callable[[Outcome], Outcome]:
    """The rows that are not free: the others may hold what a buffer held before."""
    return lambda rows: tuple(row for row, mask in zip(rows, right(case), strict=True) if mask is not None)


@prop(
    "GRM-008",
    "Calls with other drafts and from other states in between change nothing.",
    source=SOURCE + "B150",
    guards="support",
    after=("GRM-002",),
    first=cases,
)
def test_nothing_left_behind(trial: Trial, case: Case) -> None:
    n = len(numbers(case, "tokens"))
    leaves_nothing_behind(trial, case, _case(COUNTING, 1, (1,) * n), {**case, "tokens": array("int64", (n,), (0,) * n)}, judged=_of_the_judged(case))
