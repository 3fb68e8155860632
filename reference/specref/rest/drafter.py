"""Drafts that are found in a datastore (2311.08252): the heaviest beginnings of what followed the text's longest suffix, as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from specref.draws import Generators
from specref.generation.drafters import Texts, TreeDraft
from specref.rest.heaviest import Prefix, heaviest
from specref.rest.store import Store
from specref.trees import Tree


@dataclass(frozen=True)
class Retrieved:
    """What a datastore knows of a context.

    Attributes:
        matched: how many of its last tokens were found; 0 where nothing was.
        occurrences: how many continuations there are.
        prefixes: the heaviest beginnings of these; with any its own beginnings are among them.
    """

    matched: int
    occurrences: int
    prefixes: tuple[Prefix, ...]

    @property
    def tree(self) -> Tree:
        """Its draft tree, heavier siblings first."""
        return Tree.from_paths(prefix.tokens for prefix in self.prefixes)


@dataclass(frozen=True)
class Rest:
    """A drafter of trees (2311.08252, sections 3.1 and 3.2). Verified by the target's own draw at each node, the text keeps the target's law.

    Attributes:
        store: the datastore.
        n_max: longest suffix that is looked for.
        n_min: shortest one.
        longest: m, tokens of a continuation.
        count: c, nodes of the tree.

    Raises:
        ValueError: unless 1 <= n_min <= n_max, 1 <= longest, 1 <= count.
    """

    store: Store
    n_max: int = 16
    n_min: int = 1
    longest: int = 10
    count: int = 64

    def __post_init__(self) -> None:
        if not (1 <= self.n_min <= self.n_max and self.longest >= 1 and self.count >= 1):
            raise ValueError(
                f"a retriever needs 1 <= n_min <= n_max, longest >= 1 and count >= 1, not {self.n_min}, {self.n_max}, {self.longest} and {self.count}"
            )

    @property
    def vocabulary(self) -> int:
        """V of the store."""
        return self.store.vocabulary

    def retrieve(self, context: Sequence[int], longest: int | None = None) -> Retrieved:
        """What the store knows of a context, continuations cut to `longest` tokens.

        Raises:
            ValueError: a token outside of the vocabulary.
        """
        match = self.store.longest(context, self.n_min, self.n_max)
        if not match.length:
            return Retrieved(0, 0, ())
        query = context[len(context) - match.length :]
        most = self.longest if longest is None else min(longest, self.longest)
        return Retrieved(match.length, match.count, tuple(heaviest(self.store.shards, query, match.intervals, most, self.count)))

    def start(self, rows: int, device: torch.device) -> _Proposals:  # noqa: ARG002  nothing is remembered
        """Begin with a batch of texts."""
        return _Proposals(self)


@dataclass(frozen=True)
class _Proposals:
    """A datastore at work."""

    rest: Rest

    def draft(self, texts: Texts, limits: Sequence[int], generators: Generators) -> TreeDraft:  # noqa: ARG002  nothing is drawn
        """A tree for each text, no deeper than its limit."""
        return TreeDraft([self.rest.retrieve(text, limit).tree if limit else Tree((), ()) for text, limit in zip(texts, limits, strict=True)])

    def select(self, rows: Sequence[int]) -> None:
        """Nothing is remembered."""
