"""One call of the target and one verification: what becomes of a round's draft, a chain or a tree for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor, tensor

from specref.draws import Generators, coins_and_last
from specref.generation.drafters import Draft, TreeDraft
from specref.generation.models import AnyModel, State, padded
from specref.rules import DeterministicDraft, Round, Standard, TreeRound, TrieSampleAndMatch
from specref.trees import pack
from specref.warp import Sampling


class Judged(NamedTuple):
    """What became of the drafts of a batch, row by row.

    Attributes:
        drafted: the proposed tokens; of a tree in breadth-first order.
        depths: how many of them stand in a row.
        accepted: how many were accepted.
        tokens: the accepted ones and the emitted one.
        drawn: the uniforms that decided.
    """

    drafted: list[list[int]]
    depths: list[int]
    accepted: list[int]
    tokens: list[list[int]]
    drawn: list[list[float]]


class Judge(NamedTuple):
    """The target, and how it judges.

    Attributes:
        target: the model.
        rule: for chains or for trees, as the drafter proposes; none for the default.
        sampling: from logits to the law p.
    """

    target: AnyModel
    rule: Any
    sampling: Sampling


def judge(by: Judge, state: Any, unread: Sequence[Sequence[int]], draft: Draft | TreeDraft, generators: Generators) -> Judged:
    """Let the target read what it has not read and the drafts, in one call, and the rule decide; the state keeps what was accepted.

    Raises:
        ValueError: drafted tokens out of range, a rule that does not fit the drafts, logits that are none.
    """
    return (_judge_trees if isinstance(draft, TreeDraft) else _judge_chains)(by, state, unread, draft, generators)  # type: ignore[arg-type]


def _judge_chains(by: Judge, state: State, unread: Sequence[Sequence[int]], draft: Draft, generators: Generators) -> Judged:
    lengths = list(draft.lengths)
    drafted = [row[:length] for row, length in zip(draft.tokens.tolist(), lengths, strict=True)]
    check_tokens("the draft", drafted, by.target.vocabulary)
    chunks = [[*text, *tokens] for text, tokens in zip(unread, drafted, strict=True)]
    logits = by.target.logits(padded(chunks, by.target.device), list(map(len, chunks)), state, [length + 1 for length in lengths])
    p = by.sampling(logits)
    gamma = p.shape[1] - 1
    q = draft.q if any(lengths) else p[:, :0]
    rule = by.rule or (Standard() if draft.q is not None else DeterministicDraft())
    _check_rule(rule, q, of="chains")
    ends = tensor(lengths, device=p.device)
    coins, last = coins_and_last(ends, gamma, generators)
    tokens, accepted = rule(Round(p, q, draft.tokens[:, :gamma], ends, coins, last))
    return _judged(drafted, lengths, accepted, tokens, (coins, last))


def _judge_trees(by: Judge, state: Any, unread: Sequence[Sequence[int]], draft: TreeDraft, generators: Generators) -> Judged:
    drafted = [list(tree.tokens) for tree in draft.trees]
    check_tokens("the draft", drafted, by.target.vocabulary)
    if not hasattr(by.target, "tree_logits"):
        raise ValueError(f"the drafter proposes trees, and {type(by.target).__name__} cannot read them; it needs tree_logits")
    logits = by.target.tree_logits(padded(unread, by.target.device), list(map(len, unread)), state, draft.trees)
    p, trees = by.sampling(logits), pack(draft.trees, by.target.device)
    rule = by.rule or TrieSampleAndMatch()
    _check_rule(rule, draft.q, of="trees")
    coins, last = coins_and_last(trees.sizes, p.shape[1] - 1, generators)
    tokens, path, accepted = rule(TreeRound(p, draft.q, trees, coins, last))
    state.keep([nodes[:count] for nodes, count in zip(path.tolist(), accepted.tolist(), strict=True)])
    return _judged(drafted, [len(tree.widths) for tree in draft.trees], accepted, tokens, (coins, last))


def _judged(drafted: list[list[int]], depths: list[int], accepted: Tensor, tokens: Tensor, drawn: tuple[Tensor, Tensor]) -> Judged:
    counts = accepted.tolist()
    emitted = [row[: count + 1] for row, count in zip(tokens.tolist(), counts, strict=True)]
    told = [[*row[: len(mine)], last] for row, last, mine in zip(drawn[0].tolist(), drawn[1].tolist(), drafted, strict=True)]
    return Judged(drafted, depths, counts, emitted, told)


def _check_rule(rule: Any, q: Tensor | None, *, of: str) -> None:
    if hasattr(rule, "expected_accepted") != (of == "chains"):
        raise ValueError(f"the drafter proposes {of}, and {type(rule).__name__} is no rule for them")
    if rule.needs_q and q is None:
        raise ValueError(f"{type(rule).__name__} needs rows q, and this drafter's proposals are no random choice")


def check_tokens(name: str, texts: Sequence[Sequence[int]], vocabulary: int) -> None:
    """Refuse token ids out of range; the message names row and column."""
    for row, text in enumerate(texts):
        for column, token in enumerate(text):
            if not 0 <= token < vocabulary:
                raise ValueError(f"{name}, row {row}, column {column}: token {token} is outside 0 … {vocabulary - 1}")
