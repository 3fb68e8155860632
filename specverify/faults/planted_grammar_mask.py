"""Planted faults of `grammar_mask`. Each is a subject; the catalogue says what is wrong with it."""

from typing import Any

import specverify as sv

Grammar = Any
Mask = list[list[bool]]
Ids = list[int]
NONE = -1
WORD = 2**32
STATE: list[int] = []
"""The state of whoever came first."""
KEPT: dict[int, Mask] = {}
"""Masks by the number of drafts."""


def walked(grammar: Grammar, tokens: Ids) -> tuple[Mask, int]:
    """The right rows of a chain, and how many tokens were taken."""
    rows, taken = [grammar.allowed()], 0
    for token in tokens:
        taken += grammar.advance(token)
        rows.append(grammar.allowed())
    return rows, taken


def masks(grammar: Grammar, tokens: Ids) -> Mask:
    """The right rows of a chain, the automaton where it was."""
    rows, taken = walked(grammar, tokens)
    grammar.rollback(taken)
    return rows


@sv.subject("grammar_mask", name="mask-of-the-context", arrays="list")
def mask_of_the_context(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    return [grammar.allowed() for _ in range(len(tokens) + 1)]


@sv.subject("grammar_mask", name="mask-of-the-row-before", arrays="list")
def mask_of_the_row_before(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    rows = masks(grammar, tokens)
    return [rows[0], *rows[:-1]]


@sv.subject("grammar_mask", name="bonus-row-unmasked", arrays="list")
def bonus_row_unmasked(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    rows = masks(grammar, tokens)
    return [*rows[:-1], [True] * len(rows[0])] if tokens else rows


@sv.subject("grammar_mask", name="first-draft-alone", arrays="list")
def first_draft_alone(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    rows = masks(grammar, tokens[:1])
    return [*rows, *rows[-1:] * (len(tokens) - 1)]


@sv.subject("grammar_mask", name="no-row-for-the-context", arrays="list")
def no_row_for_the_context(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    return masks(grammar, tokens)[1:]


@sv.subject("grammar_mask", name="rollback-forgotten", arrays="list")
def rollback_forgotten(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    return walked(grammar, tokens)[0]


@sv.subject("grammar_mask", name="rollback-one-short", arrays="list")
def rollback_one_short(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    rows, taken = walked(grammar, tokens)
    grammar.rollback(max(0, taken - 1))
    return rows


@sv.subject("grammar_mask", name="rollback-by-the-draft", arrays="list")
def rollback_by_the_draft(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    rows, _ = walked(grammar, tokens)
    grammar.rollback(len(tokens))
    return rows


@sv.subject("grammar_mask", name="state-of-the-last-request", arrays="list")
def state_of_the_last_request(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    STATE[:] = STATE or [grammar.state]
    grammar.state = STATE[0] % len(grammar.transitions)
    rows = masks(grammar, tokens)
    STATE[0] += 1
    return rows


@sv.subject("grammar_mask", name="masks-kept-by-length", arrays="list")
def masks_kept_by_length(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    kept = KEPT.get(len(tokens))
    if kept is None or len(kept[0]) != len(grammar.transitions[0]):
        kept = KEPT[len(tokens)] = masks(grammar, tokens)
    return kept


@sv.subject("grammar_mask", name="mask-of-one-word", arrays="list")
def mask_of_one_word(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    words = [sum(may << token for token, may in enumerate(row)) % WORD for row in masks(grammar, tokens)]
    return [[bool(word >> token & 1) for token in range(len(grammar.transitions[0]))] for word in words]


@sv.subject("grammar_mask", name="mask-tree-taken-for-a-chain", arrays="list", supports=("tree",))
def mask_tree_taken_for_a_chain(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:  # noqa: ARG001
    return masks(grammar, tokens)


@sv.subject("grammar_mask", name="siblings-not-taken-back", arrays="list", supports=("tree",), conventions={"order": "depth-first"})
def siblings_not_taken_back(grammar: Grammar, tokens: Ids, parents: Ids) -> Mask:
    rows, path = [grammar.allowed()], [NONE]
    taken: list[bool] = []
    for node, token in enumerate(tokens):
        if path[-1] != parents[node]:
            path.pop()
            if taken and taken.pop():
                grammar.rollback(1)
        taken.append(grammar.advance(token))
        path.append(node)
        rows.append(grammar.allowed())
    grammar.rollback(sum(taken))
    return rows
