"""Planted faults of `prefill`. Each is a subject; the catalogue says what is wrong with it."""

from collections.abc import Callable, Sequence
from typing import Any

import specverify as sv

Ids = list[int]
Rows = list[Any]
ROOT = -1


class Reader:
    """Reads a prompt chunk by chunk into a cache, and a tree behind that: what the faults below change one part of."""

    def __init__(self, model: Any) -> None:
        self.model, self.cache = model, Ids()

    def read(self, tokens: Ids, chunks: Sequence[int], parents: Sequence[int]) -> Rows:
        rows, start = Rows(), 0
        for size in chunks:
            rows += self.chunk(tokens[start : start + size])
            start += size
        return rows + self.tree(tokens[start:], parents)

    def chunk(self, tokens: Ids) -> Rows:
        return [self.written(token) for token in tokens]

    def written(self, token: int) -> Any:
        self.cache.append(token)
        return self.model(self.cache)

    def tree(self, tokens: Ids, parents: Sequence[int]) -> Rows:
        return [self.model(self.cache + self.seen(node, tokens, parents)) for node in range(len(parents))]

    def seen(self, node: int, tokens: Ids, parents: Sequence[int]) -> Ids:
        """The tokens of the nodes that a node sees, its own the last."""
        return [*(self.seen(parents[node], tokens, parents) if parents[node] != ROOT else []), tokens[node]]


def planted(name: str) -> Callable[[type[Reader]], type[Reader]]:
    """A way to read as a subject, a new one for each call."""

    def bind(reader: type[Reader]) -> type[Reader]:
        @sv.subject("prefill", arrays="list", supports=("chunks", "tree"), name=name)
        def prefill(model: Any, tokens: Ids, chunks: Sequence[int], parents: Sequence[int]) -> Rows:
            return reader(model).read(tokens, chunks, parents)

        return reader

    return bind


@planted("prompt-rows-one-late")
class PromptRowsOneLate(Reader):
    def written(self, token: int) -> Any:
        self.cache.append(token)
        return self.model(self.cache[:-1])


@planted("rows-of-the-last-chunk-alone")
class RowsOfTheLastChunkAlone(Reader):
    def read(self, tokens: Ids, chunks: Sequence[int], parents: Sequence[int]) -> Rows:
        return super().read(tokens, chunks, parents)[sum(chunks[:-1]) :]


@planted("chunk-border-loses-a-position")
class ChunkBorderLosesAPosition(Reader):
    def chunk(self, tokens: Ids) -> Rows:
        del self.cache[-1:]
        return super().chunk(tokens)


@planted("positions-restart-in-each-chunk")
class PositionsRestartInEachChunk(Reader):
    def chunk(self, tokens: Ids) -> Rows:
        rows, before = Rows(), self.cache
        for place in range(len(tokens)):
            self.cache = [*tokens[: place + 1], *before[place + 1 :]]
            rows.append(self.model(self.cache))
        return rows


@planted("lone-token-taken-for-the-first")
class LoneTokenTakenForTheFirst(Reader):
    def chunk(self, tokens: Ids) -> Rows:
        if len(tokens) == 1:
            self.cache = Ids()
        return super().chunk(tokens)


@planted("siblings-seen")
class SiblingsSeen(Reader):
    def seen(self, node: int, tokens: Ids, parents: Sequence[int]) -> Ids:
        before = [tokens[other] for other in range(node) if parents[other] == parents[node]]
        return [*super().seen(node, tokens, parents)[:-1], *before, tokens[node]]


@planted("parent-skipped")
class ParentSkipped(Reader):
    def seen(self, node: int, tokens: Ids, parents: Sequence[int]) -> Ids:
        path = super().seen(node, tokens, parents)
        return [*path[:-2], path[-1]]


@planted("parents-counted-with-the-root")
class ParentsCountedWithTheRoot(Reader):
    def tree(self, tokens: Ids, parents: Sequence[int]) -> Rows:
        return super().tree(tokens, [max(ROOT, parent - 1) for parent in parents])


@planted("tree-sees-the-last-chunk-alone")
class TreeSeesTheLastChunkAlone(Reader):
    def read(self, tokens: Ids, chunks: Sequence[int], parents: Sequence[int]) -> Rows:
        prompt, nodes = tokens[: sum(chunks)], tokens[sum(chunks) :]
        rows = super().read(prompt, chunks, [])
        self.cache = prompt[-chunks[-1] :]
        return rows + self.tree(nodes, parents)


@planted("prompt-of-the-call-before-kept")
class PromptOfTheCallBeforeKept(Reader):
    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.cache = model.cache = getattr(model, "cache", self.cache)


@planted("tree-of-the-call-before-kept")
class TreeOfTheCallBeforeKept(Reader):
    def read(self, tokens: Ids, chunks: Sequence[int], parents: Sequence[int]) -> Rows:
        self.cache = getattr(self.model, "nodes", Ids())
        self.model.nodes = tokens[sum(chunks) :]
        return super().read(tokens, chunks, parents)


@planted("cached-prefix-told-by-its-length")
class CachedPrefixToldByItsLength(Reader):
    def chunk(self, tokens: Ids) -> Rows:
        known: dict[tuple[int, int], Rows] = vars(self.model).setdefault("known", {})
        key = len(self.cache), len(tokens)
        if key in known:
            self.cache += tokens
        else:
            known[key] = super().chunk(tokens)
        return known[key]
