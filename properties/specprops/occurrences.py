"""What a retriever must find, by looking at every place of the corpus (2311.08252, algorithms 1 and 2; theory 1e). Slow, and short enough to be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from specverify.contracts import Case

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Query:
    """A case's arguments, typed, and what is right for them."""

    corpus: list[list[int]]
    context: list[int]
    n_min: int
    n_max: int
    m: int
    budget: int

    @classmethod
    def of(cls, case: Case) -> Query:
        """From a case."""
        return cls(**case)  # type: ignore[arg-type]

    def following(self, n: int) -> list[Ids]:
        """What follows each occurrence of the context's last n ids in its document, all of it; an occurrence that no id follows is none (R11)."""
        suffix = self.context[len(self.context) - n :]
        return [tuple(row[i + n :]) for row in self.corpus for i in range(len(row) - n) if row[i : i + n] == suffix]

    @cached_property
    def matched(self) -> int:
        """The length of the longest suffix from n_min to n_max that is found, 0 if none is (R2, R13)."""
        return next((n for n in range(min(self.n_max, len(self.context)), self.n_min - 1, -1) if self.following(n)), 0)

    @cached_property
    def ended(self) -> bool:
        """Whether a longer suffix than the matched one stands at the end of a document, where nothing follows it."""
        longer = range(max(self.matched + 1, self.n_min), min(self.n_max, len(self.context)) + 1)
        return any(row[-n:] == self.context[-n:] for n in longer for row in self.corpus)

    @cached_property
    def continuations(self) -> list[Ids]:
        """Up to m ids behind each occurrence of the matched suffix (R4, R5)."""
        return [ids[: self.m] for ids in self.following(self.matched)] if self.matched else []

    @cached_property
    def weights(self) -> Counter[Ids]:
        """Every beginning of a continuation, with the number of continuations that begin so."""
        return Counter(ids[:depth] for ids in self.continuations for depth in range(1, len(ids) + 1))

    @cached_property
    def required(self) -> set[Ids]:
        """Those that the budget keeps whichever way it breaks ties: with all as heavy as they are, they fit."""
        ranked = sorted(self.weights.values(), reverse=True)
        tied_out = ranked[self.budget] if len(ranked) > self.budget else 0
        return {ids for ids, weight in self.weights.items() if weight > tied_out}


def beginnings(candidates: Sequence[Ids]) -> set[Ids]:
    """The candidates, and what they begin with."""
    return {ids[:depth] for ids in candidates for depth in range(1, len(ids) + 1)}
