"""Generation by speculative decoding, and plain decoding, which is the same loop without drafts.

A round: the drafter proposes, the target reads what it has not read yet and the proposals in one call, the rule accepts a prefix and
emits one token more, the caches forget what was rejected. Rows of a batch go on independently of each other; finished ones leave it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor

from specref.draws import Generators, check_generators
from specref.generation.drafters import Draft, Drafter, Proposals, TreeDraft
from specref.generation.judging import Judge, Judged, check_tokens, judge
from specref.generation.models import AnyModel, State
from specref.generation.trace import RoundOfRow, Trace
from specref.rules import TreeRule, VerificationRule
from specref.warp import Sampling

Prompts = Sequence[int] | Sequence[Sequence[int]] | Tensor


@dataclass(frozen=True)
class Generation:
    """What was generated.

    Attributes:
        tokens: new tokens of each row, the prompt not included; a stop token is the last one.
        trace: what happened in each round.
    """

    tokens: list[list[int]]
    trace: Trace


def autoregressive(
    target: AnyModel,
    prompts: Prompts,
    generator: Generators,
    *,
    max_new_tokens: int,
    sampling: Sampling | None = None,
    eos: int | Collection[int] = (),
) -> Generation:
    """Plain decoding: one token per call of the target.

    Arguments, result and errors are those of `speculative`.
    """
    return speculative(target, None, prompts, generator, max_new_tokens=max_new_tokens, gamma=0, sampling=sampling, eos=eos)


def speculative(  # noqa: PLR0913  what a generation is, in one place
    target: AnyModel,
    drafter: Drafter | None,
    prompts: Prompts,
    generator: Generators,
    *,
    max_new_tokens: int,
    gamma: int = 4,
    rule: VerificationRule | TreeRule | None = None,
    sampling: Sampling | None = None,
    eos: int | Collection[int] = (),
    keep_uniforms: bool = False,
) -> Generation:
    """Speculative decoding (2211.17192; 2302.01318): tokens of the target's own law, fewer calls of the target.

    Args:
        target: the model whose law is kept.
        drafter: what proposes; none is plain decoding.
        prompts: one text or several, token ids; rows may differ in length. Stop tokens in a prompt mean nothing.
        generator: source of all draws, on the target's device; or one for each row, and then a row's tokens depend on nobody else's.
        max_new_tokens: length at which a row ends; 0 gives nothing.
        gamma: tokens drafted in a row per round; 0 is plain decoding.
        rule: for chains or for trees, as the drafter proposes. By default the standard one for chains that were drawn, the deterministic one for others, and
            for trees the target's own draw at each node.
        sampling: from the target's logits to its law.
        eos: token or tokens that end a row, the token included.
        keep_uniforms: whether the trace keeps the verifier's draws.

    Returns:
        The new tokens of each row, and a trace.

    Raises:
        ValueError: an empty prompt, tokens out of range, numbers out of range, a draft with another vocabulary, logits that are none.
    """
    batch = Decoding(target, drafter, prompts, generator, max_new_tokens, gamma, rule, sampling or Sampling(), stop_tokens(eos), keep_uniforms)
    for _ in batch:
        pass
    return Generation(batch.new, batch.trace)


def stop_tokens(eos: int | Collection[int]) -> frozenset[int]:
    """One token or several, as a set."""
    return frozenset([eos] if isinstance(eos, int) else eos)


@dataclass
class Decoding:
    """A generation under way; iterating over it gives the rounds of all rows, as they happen.

    Attributes:
        texts: prompt and new tokens of each row so far.
        new: the new tokens alone.
        trace: the rounds so far.
    """

    target: AnyModel
    drafter: Drafter | None
    prompts: Prompts
    generator: Generators
    max_new_tokens: int
    gamma: int = 4
    rule: VerificationRule | TreeRule | None = None
    sampling: Sampling = field(default_factory=Sampling)
    eos: frozenset[int] = frozenset()
    keep_uniforms: bool = False

    def __post_init__(self) -> None:
        self.texts = _checked_prompts(self.prompts, self.target.vocabulary)
        _check(self)
        self.new: list[list[int]] = [[] for _ in self.texts]
        self.trace = Trace(self.gamma)
        self._rows = list(range(len(self.texts)))

    def __iter__(self) -> Iterator[RoundOfRow]:
        """Run to the end."""
        if self.max_new_tokens == 0:
            return
        state: State = self.target.start(len(self._rows))
        proposals = self.drafter.start(len(self._rows), self.target.device) if self.drafter is not None else None
        read = [0] * len(self._rows)
        while self._rows:
            yield from self._round(state, proposals, read)
            going = [i for i, row in enumerate(self._rows) if not self._ended(self.new[row])]
            if len(going) < len(self._rows):
                self._select(state, proposals, going)
                read[:] = [read[i] for i in going]

    def _round(self, state: State, proposals: Proposals | None, read: list[int]) -> list[RoundOfRow]:
        """Draft, read, verify, forget."""
        texts = [self.texts[row] for row in self._rows]
        began = time.perf_counter()
        draft = self._draft(texts, proposals)
        drafted = time.perf_counter()
        unread = [text[start:] for text, start in zip(texts, read, strict=True)]
        judged = judge(Judge(self.target, self.rule, self.sampling), state, unread, draft, self._generators())
        read[:] = [len(text) + n for text, n in zip(texts, judged.accepted, strict=True)]
        state.crop(read)
        self._took(drafted - began, time.perf_counter() - drafted, max(judged.depths))
        rounds = [self._extend(i, judged) for i in range(len(texts))]
        self.trace.rounds += rounds
        return rounds

    def _took(self, draft_seconds: float, target_seconds: float, steps: int) -> None:
        self.trace.draft_seconds += draft_seconds
        self.trace.target_seconds += target_seconds
        self.trace.draft_steps += steps
        self.trace.target_calls += 1

    def _draft(self, texts: Sequence[Sequence[int]], proposals: Proposals | None) -> Draft | TreeDraft:
        limits = [min(self.gamma, self.max_new_tokens - len(self.new[row]) - 1) for row in self._rows]
        if proposals is None:
            return Draft(torch.zeros((len(texts), 0), dtype=torch.int64, device=self.target.device), [0] * len(texts))
        return proposals.draft(texts, limits, self._generators())

    def _extend(self, i: int, judged: Judged) -> RoundOfRow:
        row = self._rows[i]
        emitted = self._until_its_end(row, judged.tokens[i])
        self.texts[row] = [*self.texts[row], *emitted]
        self.new[row] += emitted
        drawn = tuple(judged.drawn[i]) if self.keep_uniforms else ()
        return RoundOfRow(row, tuple(judged.drafted[i]), judged.accepted[i], tuple(emitted), drawn, judged.depths[i])

    def _until_its_end(self, row: int, tokens: list[int]) -> list[int]:
        stop = next((i + 1 for i, token in enumerate(tokens) if token in self.eos), len(tokens))
        return tokens[: min(stop, self.max_new_tokens - len(self.new[row]))]

    def _ended(self, new: Sequence[int]) -> bool:
        return len(new) >= self.max_new_tokens or new[-1] in self.eos

    def _select(self, state: State, proposals: Proposals | None, going: Sequence[int]) -> None:
        state.select(going)
        if proposals is not None:
            proposals.select(going)
        self._rows = [self._rows[i] for i in going]

    def _generators(self) -> Generators:
        return self.generator if isinstance(self.generator, Generator) else [self.generator[row] for row in self._rows]


def _checked_prompts(prompts: Prompts, vocabulary: int) -> list[list[int]]:
    listed: list[Any] = prompts.tolist() if isinstance(prompts, Tensor) else list(prompts)
    texts: list[list[int]] = [listed] if listed and isinstance(listed[0], int) else [list(text) for text in listed]
    for row, text in enumerate(texts):
        if not text:
            raise ValueError(f"prompts, row {row}: an empty prompt gives the model nothing to go on; begin with its start token")
    check_tokens("prompts", texts, vocabulary)
    if not texts:
        raise ValueError("prompts is empty; at least one text is needed")
    return texts


def _check(batch: Decoding) -> None:
    if batch.max_new_tokens < 0 or batch.gamma < 0:
        raise ValueError(f"max_new_tokens and gamma must be at least 0, not {batch.max_new_tokens} and {batch.gamma}")
    if batch.drafter is not None and batch.drafter.vocabulary not in {None, batch.target.vocabulary}:
        raise ValueError(f"the draft has a vocabulary of {batch.drafter.vocabulary} tokens and the target one of {batch.target.vocabulary}; they must be one")
    check_generators(batch.generator, len(batch.texts))
