"""`grammar_mask`: which tokens a grammar allows after the context and after each draft token.

The grammar is a finite automaton that stands in a state. A subject that keeps a matcher walks with it, and must leave it as it was:

    @sv.subject("grammar_mask")
    def masks(grammar, tokens, parents):
        rows, moved = [grammar.allowed()], 0
        for token in tokens.tolist():
            moved += grammar.advance(token)
            rows.append(grammar.allowed())
        grammar.rollback(moved)
        return rows

One that compiles its own grammar takes `grammar.transitions`, lists of states by state and token with -1 for what is forbidden, and `grammar.state`.
A mask may come as truth values or 0 and 1 (V to a row), as what is added to logits (0 and -inf), or packed into 32-bit words, the lowest bit first.
"""

from __future__ import annotations

import math

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Malformed, Parameter, array_of, check_names, kind_of, outside
from specverify.contracts.nodes import CONVENTIONS, check_nodes, is_int, numbers
from specverify.law import Outcome

NAME = "grammar_mask"
FORBIDDEN = -1
WORD = 32
"""Tokens in a word of a packed mask."""


class Grammar:
    """An automaton in a state, as subjects get it.

    Attributes:
        transitions: the next state by state and token, S lists of V ints; -1 is forbidden.
        state: where it stands.
    """

    def __init__(self, transitions: list[list[int]], state: int) -> None:
        self.transitions, self.state = transitions, state
        self._before: list[int] = []

    def allowed(self) -> list[bool]:
        """Which tokens may come now."""
        return [state != FORBIDDEN for state in self.transitions[self.state]]

    def advance(self, token: int) -> bool:
        """Take a token; a forbidden one is not taken, and False is returned."""
        following = self.transitions[self.state][token]
        if following == FORBIDDEN:
            return False
        self._before.append(self.state)
        self.state = following
        return True

    def rollback(self, tokens: int = 1) -> None:
        """Take back the last tokens; ValueError where fewer were taken."""
        if not 0 <= tokens <= len(self._before):
            raise ValueError(f"{tokens} tokens to take back of {len(self._before)}")
        for _ in range(tokens):
            self.state = self._before.pop()


def _check(case: Case) -> None:
    check_names(NAME, case, ("transitions", "state", "tokens", "parents"))
    table, state = case["transitions"], case["state"]
    if not isinstance(table, Array) or table.dtype != "int64" or len(table.shape) != 2:  # noqa: PLR2004
        raise outside(NAME, "transitions must be int64, of shape (S, V)")
    states, width = table.shape
    if not is_int(state) or state not in range(states) or not all(FORBIDDEN <= x < states for x in table.values):
        raise outside(NAME, "state and the entries of transitions must be states; -1 is forbidden")
    check_nodes(NAME, case, width)
    if any(token not in range(width) for token in numbers(case, "tokens")):
        raise outside(NAME, "tokens must be ids of the vocabulary")


def _prepare(case: Case) -> Case:
    """The table and the state as an object that moves."""
    state = case["state"]
    assert isinstance(state, int)
    return {**case, "grammar": Grammar([list(map(int, row)) for row in array_of(case, "transitions").rows()], state)}


def _outcome(case: Case, result: object) -> Outcome:
    """A row of truth values for the context and for each token, whatever form the mask had."""
    width, rows = array_of(case, "transitions").shape[1], len(numbers(case, "tokens")) + 1
    lines = _lines(result)
    if len(lines) != rows:
        raise Malformed(f"the mask has {len(lines)} rows instead of {rows}")
    words = -(-width // WORD)
    if any(len(line) not in (width, words) for line in lines) or len(set(map(len, lines))) > 1:
        raise Malformed(f"a row of the mask has {len(lines[0])} entries instead of {width}, or {words} words of {WORD} bits")
    if len(lines[0]) != width:
        return tuple(_unpacked(line, width) for line in lines)
    return _added(lines) if _is_added(lines) else _truths(lines)


def _lines(result: object) -> list[list[float]]:
    found = (
        result.nested()
        if isinstance(result, Array)
        else [row.nested() if isinstance(row, Array) else row for row in result]
        if isinstance(result, list)
        else None
    )
    if not isinstance(found, list) or not all(isinstance(row, list) and all(isinstance(x, (bool, int, float)) for x in row) for row in found):
        raise Malformed(f"the mask is no list of rows but {kind_of(result)}")
    return found


def _is_added(lines: list[list[float]]) -> bool:
    """Whether -inf forbids. Floats that are all 0 forbid nothing: a mask of truth values that allowed no token at all would be wrong anyhow."""
    entries = [x for line in lines for x in line]
    return -math.inf in entries or (all(isinstance(x, float) for x in entries) and not any(entries))


def _added(lines: list[list[float]]) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(x > -math.inf for x in line) for line in lines)


def _truths(lines: list[list[float]]) -> tuple[tuple[bool, ...], ...]:
    foreign = [x for line in lines for x in line if x not in (0, 1)]
    if foreign:
        raise Malformed(f"the mask holds {foreign[0]!r}, not truth values, 0 and 1, or 0 and -inf")
    return tuple(tuple(map(bool, line)) for line in lines)


def _unpacked(line: list[float], width: int) -> tuple[bool, ...]:
    if not all(map(is_int, line)):
        raise Malformed(f"words of {WORD} bits came as something else than ints")
    return tuple(bool(int(line[token // WORD]) >> token % WORD & 1) for token in range(width))


CONTRACT = Contract(
    name=NAME,
    prefix="GRM",
    sentence="Tells which tokens a grammar allows after the context and after each draft token.",
    parameters=(
        Parameter("grammar", "object", "an automaton in a state: allowed(), advance(token), rollback(n); transitions, state"),
        Parameter("tokens", "(n,)", "draft tokens, int64; some may be forbidden"),
        Parameter("parents", "(n,)", "the token above each, int64; -1, 0, 1, … of a chain, and no other where trees are not supported"),
    ),
    returns="(n + 1, V), a row after the context and one after each token",
    right="row 0 is what the state allows, row i + 1 what it allows after token i and those above it; free behind a forbidden token and behind the end",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"transitions": array("int64", (2, 2), (1, -1, 0, 0)), "state": 0, "tokens": array("int64", (1,), (0,)), "parents": array("int64", (1,), (-1,))},
    conventions={"order": CONVENTIONS["order"]},
    equivalents=("fill_next_token_bitmask", "grammar_bitmask", "traverse_draft_tree"),
    features=("tree",),
    prepare=_prepare,
)
