"""Beam search, plain and speculative (2211.17192, appendix): the same result, fewer calls of the target.

The draft searches with a wider beam for some steps, the target scores all of its candidates in one call, and a step is kept where the
target's best are among the draft's. Scores are sums of log-probabilities in float64; equals are ordered by their tokens.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from specref.generation.drafters import common_prefix
from specref.generation.loop import stop_tokens
from specref.generation.models import AnyModel, padded

Tokens = tuple[int, ...]


class Hypothesis(NamedTuple):
    """A text with its score, the sum of the log-probabilities of its new tokens."""

    tokens: Tokens
    score: float


@dataclass
class Beams:
    """What a search found.

    Attributes:
        hypotheses: the best texts, prompt included, the best first.
        target_calls: how often the target was called.
    """

    hypotheses: list[Hypothesis]
    target_calls: int


@dataclass
class Reader:
    """A model and the texts that its state holds; it goes on from whatever of them a new text begins with."""

    model: AnyModel
    state: Any = None
    read: list[Tokens] = field(default_factory=list)
    calls: int = 0

    def scores(self, texts: Sequence[Tokens], wanted: Sequence[int]) -> list[Tensor]:
        """Log-probabilities after the last wanted[b] tokens of each text, (wanted[b], V) float64 each."""
        if self.state is None:
            self.state, self.read = self.model.start(len(texts)), [()] * len(texts)
        known = [self._nearest(text[: len(text) - count]) for text, count in zip(texts, wanted, strict=True)]
        self.state.select([row for row, _ in known])
        self.state.crop([length for _, length in known])
        unread = [text[length:] for text, (_, length) in zip(texts, known, strict=True)]
        logits = self.model.logits(padded(unread, self.model.device), [len(one) for one in unread], self.state, wanted)
        self.read, self.calls = list(texts), self.calls + 1
        return [rows[:count].double().log_softmax(-1).cpu() for rows, count in zip(logits, wanted, strict=True)]

    def _nearest(self, text: Tokens) -> tuple[int, int]:
        """The row that shares the longest beginning with a text, and its length."""
        return max(((row, common_prefix(read, text)) for row, read in enumerate(self.read)), key=lambda one: one[1])


def beam_search(target: AnyModel, prompt: Sequence[int], *, width: int, max_new_tokens: int, eos: int | Collection[int] = ()) -> Beams:
    """The target's own search: in every step the `width` best continuations stay.

    Args:
        target: the model.
        prompt: token ids, at least one.
        width: how many hypotheses stay.
        max_new_tokens: steps.
        eos: tokens that end a hypothesis, which keeps its score then.

    Raises:
        ValueError: an empty prompt, numbers out of range.
    """
    _check(prompt, width, width, 0, max_new_tokens)
    reader, ends, beam = Reader(target), stop_tokens(eos), [Hypothesis(tuple(prompt), 0.0)]
    for _ in range(max_new_tokens):
        going = [one for one in beam if not _ended(one, prompt, ends)]
        if not going:
            break
        rows = dict(zip([one.tokens for one in going], reader.scores([one.tokens for one in going], [1] * len(going)), strict=True))
        beam = _step(beam, {text: row[0] for text, row in rows.items()}, width)
    return Beams(beam, reader.calls)


def speculative_beam_search(
    target: AnyModel,
    draft: AnyModel,
    prompt: Sequence[int],
    *,
    width: int,
    draft_width: int,
    gamma: int,
    max_new_tokens: int,
    eos: int | Collection[int] = (),
) -> Beams:
    """The same hypotheses and scores as `beam_search`, with a draft that searches ahead.

    Args:
        target: the model whose search it is.
        draft: a cheaper one of the same vocabulary.
        prompt: token ids, at least one.
        width: w, how many hypotheses stay.
        draft_width: u >= w, the draft's beam.
        gamma: steps that the draft goes ahead.
        max_new_tokens: steps.
        eos: tokens that end a hypothesis.

    Raises:
        ValueError: an empty prompt, numbers out of range, vocabularies that differ.
    """
    _check(prompt, width, draft_width, gamma, max_new_tokens)
    if draft.vocabulary != target.vocabulary:
        raise ValueError(f"the draft has a vocabulary of {draft.vocabulary} tokens and the target one of {target.vocabulary}; they must be one")
    judge, guide, ends, beam, steps = Reader(target), Reader(draft), stop_tokens(eos), [Hypothesis(tuple(prompt), 0.0)], 0
    while steps < max_new_tokens and not all(_ended(one, prompt, ends) for one in beam):
        ahead = _ahead(guide, beam, prompt, ends, draft_width, min(gamma, max_new_tokens - steps - 1))
        known = _judged(judge, ahead)
        while steps < max_new_tokens and all(one.tokens in known or _ended(one, prompt, ends) for one in beam):
            beam, steps = _step(beam, known, width), steps + 1
            if all(_ended(one, prompt, ends) for one in beam):
                break
    return Beams(beam, judge.calls)


def _ahead(guide: Reader, beam: Sequence[Hypothesis], prompt: Sequence[int], ends: frozenset[int], width: int, gamma: int) -> set[Tokens]:
    """All unfinished texts of the present beam and of the draft's beams of the next gamma steps."""
    found, search = set(), list(beam)
    for step in range(gamma + 1):
        going = [one for one in search if not _ended(one, prompt, ends)]
        found |= {one.tokens for one in going}
        if step == gamma or not going:
            break
        rows = guide.scores([one.tokens for one in going], [1] * len(going))
        search = _step(search, {one.tokens: row[0] for one, row in zip(going, rows, strict=True)}, width)
    return found


def _judged(judge: Reader, texts: Collection[Tokens]) -> dict[Tokens, Tensor]:
    """The target's log-probabilities after each of these texts, in one call: the longest ones hold the others as their beginnings."""
    shortest = min(map(len, texts))
    leaves = [text for text in sorted(texts) if not any(other != text and other[: len(text)] == text for other in texts)]
    rows = judge.scores(leaves, [len(text) - shortest + 1 for text in leaves])
    known = {text[: shortest + i]: row for text, mine in zip(leaves, rows, strict=True) for i, row in enumerate(mine)}
    return {text: row for text, row in known.items() if text in texts}


def _step(beam: Iterable[Hypothesis], rows: dict[Tokens, Tensor], width: int) -> list[Hypothesis]:
    """The best of all continuations, and of what has ended."""
    found: list[Hypothesis] = []
    for one in beam:
        if one.tokens not in rows:
            found.append(one)
            continue
        border = rows[one.tokens].topk(min(width, rows[one.tokens].shape[0])).values[-1]
        tokens = (rows[one.tokens] >= border).nonzero()[:, 0].tolist()  # equals at the border are ordered by their tokens
        found += [Hypothesis((*one.tokens, token), one.score + rows[one.tokens][token].item()) for token in tokens]
    possible = [one for one in found if one.score > -math.inf]
    return sorted(possible, key=lambda one: (-one.score, one.tokens))[:width]


def _ended(one: Hypothesis, prompt: Sequence[int], ends: frozenset[int]) -> bool:
    return len(one.tokens) > len(prompt) and one.tokens[-1] in ends


def _check(prompt: Sequence[int], width: int, draft_width: int, gamma: int, max_new_tokens: int) -> None:
    if not prompt:
        raise ValueError("an empty prompt gives the model nothing to go on; begin with its start token")
    if not 1 <= width <= draft_width:
        raise ValueError(f"the beams must hold 1 <= width <= draft_width hypotheses, not {width} and {draft_width}")
    if gamma < 0 or max_new_tokens < 0:
        raise ValueError(f"gamma and max_new_tokens must be at least 0, not {gamma} and {max_new_tokens}")
