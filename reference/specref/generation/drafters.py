"""What proposes tokens: a model, the target itself, n-grams of the text so far, a script, a retriever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from specref._rows import check_rows
from specref.draws import Generators, inverse_cdf, uniforms
from specref.generation.models import AnyModel, State, padded
from specref.trees import Tree
from specref.warp import Sampling

Texts = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Draft:
    """Proposed continuations of the texts of a batch.

    Attributes:
        tokens: (B, longest) int64; anything behind a row's own end.
        lengths: tokens of each row; none is a row that decodes plainly in this round.
        q: the rows that they were drawn from, (B, longest, V), or none for a proposal that is no random choice.
    """

    tokens: Tensor
    lengths: Sequence[int]
    q: Tensor | None = None


@dataclass(frozen=True)
class TreeDraft:
    """Proposed continuations that branch.

    Attributes:
        trees: one for each text; an empty one is a row that decodes plainly in this round.
        q: the laws that children were drawn from, (B, largest tree + 1, V), or none for a proposal that is no random choice.
    """

    trees: Sequence[Tree]
    q: Tensor | None = None


class Proposals(Protocol):
    """A drafter at work on a batch."""

    def draft(self, texts: Texts, limits: Sequence[int], generators: Generators) -> Draft | TreeDraft:
        """Propose at most limits[b] tokens in a row behind each text; of tokens proposed before, those count that the texts have kept."""

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows."""


class Drafter(Protocol):
    """Proposes tokens. What it proposes may depend on anything but the verifier's own draws (theory: S7)."""

    @property
    def vocabulary(self) -> int | None:
        """V, where it has one of its own."""

    def start(self, rows: int, device: torch.device) -> Proposals:
        """Begin with a batch of texts."""


class ModelDrafter:
    """A draft model that samples gamma tokens, one call each (2211.17192, algorithm 1).

    Args:
        model: the draft; the target itself is one too.
        sampling: how it draws; its own law q is what the ratio needs, so any will do (theory: S11).
    """

    def __init__(self, model: AnyModel, sampling: Sampling | None = None) -> None:
        self.model, self.sampling, self.vocabulary = model, sampling or Sampling(), model.vocabulary

    def start(self, rows: int, device: torch.device) -> ModelProposals:
        """Begin with a batch of texts."""
        if device != self.model.device:
            raise ValueError(f"the draft model is on {self.model.device} and the target on {device}; they must be on one device")
        return ModelProposals(self.model, self.sampling, self.model.start(rows), [[] for _ in range(rows)])


@dataclass
class ModelProposals:
    """A draft model at work; `read` are the tokens that its state holds."""

    model: AnyModel
    sampling: Sampling
    state: State
    read: list[list[int]]

    def draft(self, texts: Texts, limits: Sequence[int], generators: Generators) -> Draft:
        """Draw limits[b] tokens behind each text."""
        drawn = uniforms(limits, generators, self.model.device)
        gamma = drawn.shape[1]
        tokens = torch.zeros((len(texts), gamma), dtype=torch.int64, device=self.model.device)
        if gamma == 0:
            return Draft(tokens, limits)
        self._forget_what_was_rejected(texts)
        unread = [list(text[len(read) :]) for text, read in zip(texts, self.read, strict=True)]
        given, lengths, rows = padded(unread, self.model.device), [len(one) for one in unread], []
        for i in range(gamma):
            logits = self.model.logits(given, lengths, self.state, [min(1, length) for length in lengths])
            rows.append(self.sampling(logits, check=False)[:, 0])
            tokens[:, i] = inverse_cdf(rows[-1], drawn[:, i])
            given, lengths = tokens[:, i : i + 1], [int(i + 1 < limit) for limit in limits]
        self.read = [[*text, *row[: max(limit, 1) - 1]] for text, row, limit in zip(texts, tokens.tolist(), limits, strict=True)]
        q = torch.stack(rows, 1)
        check_rows("the draft model's rows", q)
        return Draft(tokens, limits, q)

    def _forget_what_was_rejected(self, texts: Texts) -> None:
        kept = [min(common_prefix(read, text), len(text) - 1) for read, text in zip(self.read, texts, strict=True)]
        self.state.crop(kept)
        self.read = [read[:length] for read, length in zip(self.read, kept, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows."""
        self.state.select(rows)
        self.read = [self.read[row] for row in rows]


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two texts begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@dataclass(frozen=True)
class TextDrafter:
    """Proposals that are a function of the text: no random choice, no state, no rows of q.

    Attributes:
        propose: from a text and the most that is wanted to the proposed tokens.
        vocabulary: V, or none.
    """

    propose: Callable[[Sequence[int], int], Sequence[int]]
    vocabulary: int | None = None

    def start(self, rows: int, device: torch.device) -> TextProposals:  # noqa: ARG002  a text needs no state
        """Begin with a batch of texts."""
        return TextProposals(self, device)


@dataclass(frozen=True)
class TextProposals:
    """A function of the text at work."""

    drafter: TextDrafter
    device: torch.device

    def draft(self, texts: Texts, limits: Sequence[int], generators: Generators) -> Draft:  # noqa: ARG002  nothing is drawn
        """Propose for each text."""
        found = [list(self.drafter.propose(text, limit))[:limit] if limit else [] for text, limit in zip(texts, limits, strict=True)]
        return Draft(padded(found, self.device), [len(one) for one in found])

    def select(self, rows: Sequence[int]) -> None:
        """Nothing is remembered."""


def ngrams(longest: int = 3, shortest: int = 1) -> TextDrafter:
    """Prompt lookup: what followed the latest earlier occurrence of the text's last n tokens, the longest n first.

    Raises:
        ValueError: unless 1 <= shortest <= longest.
    """
    if not 1 <= shortest <= longest:
        raise ValueError(f"n-grams need 1 <= shortest <= longest, not {shortest} and {longest}")
    return TextDrafter(lambda text, limit: _looked_up(list(text), limit, longest, shortest))


def _looked_up(text: list[int], limit: int, longest: int, shortest: int) -> list[int]:
    for n in range(min(longest, len(text) - 1), shortest - 1, -1):
        for start in range(len(text) - n - 1, -1, -1):
            if text[start : start + n] == text[-n:]:
                return text[start + n : start + n + limit]
    return []


def script(tokens: Sequence[int], prompt: int) -> TextDrafter:
    """A fixed continuation of a prompt of that many tokens, whatever was generated: for tests, and for texts that are known beforehand."""
    return TextDrafter(lambda text, limit: tokens[len(text) - prompt :][:limit])


class Retriever(Protocol):
    """Finds continuations of a text elsewhere, such as REST's datastore (2311.08252)."""

    def continuation(self, text: Sequence[int], most: int) -> Sequence[int]:
        """Up to `most` tokens; none where nothing is found."""


def retrieved(retriever: Retriever) -> TextDrafter:
    """A drafter that proposes what a retriever finds."""
    return TextDrafter(retriever.continuation)
