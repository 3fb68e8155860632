"""What a model is to the reference, and the two that need no library: a table of logits by prefix, and a module without a cache.

Texts live on the host as lists of token ids, since a reader of the stream wants them there; tokens that a model reads come as one tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from specref.trees import Tree

Tokens = tuple[int, ...]
S = TypeVar("S")


class State(Protocol):
    """What a model remembers of the texts of a batch: its cache."""

    def crop(self, lengths: Sequence[int]) -> None:
        """Forget all but the first lengths[b] tokens of row b."""

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order; a row may be named more than once."""


class TreeState(State, Protocol):
    """A state that can hold a tree behind each text, until it is told which branch of it the text goes on with."""

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        """Of the tree that was read last, keep these nodes of row b, from the root down; the others are forgotten."""


class Model(Protocol[S]):
    """Gives the logits of the next token. Target and draft models are the same to the reference."""

    @property
    def vocabulary(self) -> int:
        """V, the number of token ids."""

    @property
    def device(self) -> torch.device:
        """Where tokens go to and logits come from."""

    def start(self, rows: int) -> S:
        """A state that has read nothing, for a batch of rows."""

    def logits(self, tokens: Tensor, lengths: Sequence[int], state: S, wanted: Sequence[int]) -> Tensor:
        """Read on, and tell what comes next. Called once per round.

        Args:
            tokens: (B, T) int64; the first lengths[b] of row b are read, anything stands behind them.
            lengths: tokens of each row; 0 for one that reads nothing in this call, and a row's first has at least 1.
            state: of this batch; it has read these tokens afterwards.
            wanted: for how many of its last tokens each row wants logits, at most lengths[b].

        Returns:
            Logits, (B, max wanted, V): row b holds those after its last wanted[b] tokens, in order; anything stands behind them.
        """


class TreeModel(Model[S], Protocol[S]):
    """A model that can read a tree of continuations in one call, each node in the light of its own ancestors (2311.08252, section 3.3)."""

    def tree_logits(self, tokens: Tensor, lengths: Sequence[int], state: S, trees: Sequence[Tree]) -> Tensor:
        """Read on, and a tree behind that.

        Args:
            tokens: (B, T) int64; the first lengths[b] of row b are read, at least one.
            lengths: tokens of each row.
            state: of this batch; it holds the trees too afterwards, and `keep` is called next.
            trees: one for each row; an empty one is a plain decoding step.

        Returns:
            Logits, (B, largest tree + 1, V): row 0 after the tokens, row i + 1 after node i; anything stands behind a tree's last node.
        """


class TextState:
    """The tokens of every row, for models that remember nothing else."""

    def __init__(self, rows: int) -> None:
        self.texts: list[list[int]] = [[] for _ in range(rows)]
        self.trees: Sequence[Tree] = ()

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        """Go on with these nodes of the trees that were read last."""
        for text, tree, path in zip(self.texts, self.trees, paths, strict=True):
            text.extend(tree.tokens[node] for node in path)

    def read(self, tokens: Tensor, lengths: Sequence[int]) -> None:
        """Append the first lengths[b] tokens of each row."""
        for text, row, length in zip(self.texts, tokens.tolist(), lengths, strict=True):
            text.extend(row[:length])

    def crop(self, lengths: Sequence[int]) -> None:
        """Forget all but the first lengths[b] tokens of row b."""
        for text, length in zip(self.texts, lengths, strict=True):
            del text[length:]

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        self.texts = [list(self.texts[row]) for row in rows]


class TableModel:
    """Logits by prefix: any function of the tokens so far. For tests, and for laws that are known by heart.

    Args:
        row: from a prefix to its V logits.
        vocabulary: V.
        dtype: of the logits.
    """

    def __init__(self, row: Callable[[Tokens], Sequence[float]], vocabulary: int, dtype: torch.dtype = torch.float64) -> None:
        self.row, self.vocabulary, self.dtype, self.device = row, vocabulary, dtype, torch.device("cpu")
        self.calls = 0

    def start(self, rows: int) -> TextState:
        """A state that has read nothing."""
        return TextState(rows)

    def logits(self, tokens: Tensor, lengths: Sequence[int], state: TextState, wanted: Sequence[int]) -> Tensor:
        """Look the rows up, (B, max wanted, V)."""
        self.calls += 1
        state.read(tokens, lengths)
        found = torch.zeros((len(lengths), max(wanted), self.vocabulary), dtype=self.dtype)
        for rows, text, count in zip(found, state.texts, wanted, strict=True):
            for i in range(count):
                rows[i] = torch.tensor(self.row(tuple(text[: len(text) - count + 1 + i])), dtype=self.dtype)
        return found

    def tree_logits(self, tokens: Tensor, lengths: Sequence[int], state: TextState, trees: Sequence[Tree]) -> Tensor:
        """Look the rows up, (B, largest tree + 1, V)."""
        self.calls += 1
        state.read(tokens, lengths)
        state.trees = trees
        found = torch.zeros((len(trees), max(map(len, trees)) + 1, self.vocabulary), dtype=self.dtype)
        for rows, text, tree in zip(found, state.texts, trees, strict=True):
            for i, branch in enumerate(((), *tree.branches)):
                rows[i] = torch.tensor(self.row((*text, *(tree.tokens[node] for node in branch))), dtype=self.dtype)
        return found


class ModuleModel:
    """A causal module from tokens (B, T) to logits (B, T, V), which reads its text anew at every call.

    Args:
        module: the callable; row t of its result depends on tokens 0 … t alone.
        vocabulary: V.
        device: where it lives.
    """

    def __init__(self, module: Callable[[Tensor], Tensor], vocabulary: int, device: torch.device | str = "cpu") -> None:
        self.module, self.vocabulary, self.device = module, vocabulary, torch.device(device)

    def start(self, rows: int) -> TextState:
        """A state that has read nothing."""
        return TextState(rows)

    @torch.no_grad()
    def logits(self, tokens: Tensor, lengths: Sequence[int], state: TextState, wanted: Sequence[int]) -> Tensor:
        """Run the module on the whole texts, (B, max wanted, V)."""
        state.read(tokens, lengths)
        ends = [len(text) for text in state.texts]
        logits = self.module(padded(state.texts, self.device))
        return last_rows(logits, ends, wanted)


def padded(texts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Texts side by side, (B, longest) int64, filled up with 0."""
    width = max(map(len, texts), default=0)
    return torch.tensor([[*text, *[0] * (width - len(text))] for text in texts], dtype=torch.int64).reshape(len(texts), width).to(device)


def last_rows(logits: Tensor, ends: Sequence[int], wanted: Sequence[int]) -> Tensor:
    """Of each row the last wanted[b] places before ends[b], (B, T, V) to (B, max wanted, V)."""
    places = torch.tensor([[max(0, min(end - count + i, end - 1)) for i in range(max(wanted))] for end, count in zip(ends, wanted, strict=True)])
    return logits.gather(1, places.to(logits.device)[..., None].expand(-1, -1, logits.shape[-1]))


AnyModel = Model[Any]
