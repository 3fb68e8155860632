"""One textbook loop with a cache, in its parts, which planted faults change; and several of them side by side. Plain lists and `random`, so that each is audited in seconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, ClassVar

Row = list[float]
Model = Callable[[Sequence[int]], Sequence[float]]
"""From a prefix to the row behind it."""


def drawn(row: Row, u: float | None = None) -> int:
    """A token of a row, by inverse CDF."""
    held = [token for token, x in enumerate(row) if x > 0]
    u = random.random() if u is None else u
    return next((token for token, above in enumerate(accumulate(row)) if row[token] > 0 and u * sum(row) < above), held[-1])


def residual(p: Row, q: Row) -> Row:
    """(p - q)+; p where nothing is left."""
    left = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    return left if any(left) else p


def sharpened(row: Row, temperature: float) -> Row:
    """A row at a temperature; the one-hot argmax at 0."""
    if temperature == 0:
        return [float(token == row.index(max(row))) for token in range(len(row))]
    powers = [x ** (1 / temperature) for x in row]
    return [x / sum(powers) for x in powers]


def cut(row: Row, top_k: int, top_p: float) -> Row:
    """The top-k, then the smallest set of mass top-p."""
    order = sorted(range(len(row)), key=lambda token: -row[token])[:top_k]
    before = accumulate((row[token] for token in order), initial=0.0)
    kept = {token for token, mass in zip(order, before, strict=False) if mass < top_p * sum(row[one] for one in order)}
    left = [x if token in kept else 0.0 for token, x in enumerate(row)]
    return [x / sum(left) for x in left]


class Cached:
    """A model behind a cache: it is told new ids alone, and what it gives follows all ids that the cache holds."""

    def __init__(self, model: Model) -> None:
        self.model, self.held = model, list[int]()

    def read(self, ids: Sequence[int]) -> list[Row]:
        """The row behind each of these ids."""
        rows = []
        for token in ids:
            self.held.append(token)
            rows.append(list(self.model(self.held)))
        return rows

    def cut(self, length: int) -> None:
        """Forget all but the first ids."""
        del self.held[length:]


class Loop:
    """The textbook's loop. `text` is the prompt and what is emitted; the target's cache holds all of it but the last id."""

    kept: ClassVar = dict[str, Cached]()
    """What a faulty loop keeps of the call before."""

    def __init__(self, prompt: list[int], target: Model, draft: Model, *numbers: Any) -> None:
        self.gamma, self.most, self.temperature, self.top_k, self.top_p, self.eos = numbers
        self.seed, self.rounds, self.asked = 0, 0, self.most
        self.prompt, self.target, self.drafter, self.new = prompt, Cached(target), Cached(draft), list[int]()

    @property
    def text(self) -> list[int]:
        """Prompt and new ids."""
        return [*self.prompt, *self.new]

    def warp(self, row: Row) -> Row:
        """What is drawn from."""
        return cut(sharpened(row, self.temperature), self.top_k, self.top_p)

    def judged_q(self, row: Row) -> Row:
        """The draft's row in ratio and residual."""
        return self.warp(row)

    def bonus(self, p: list[Row], drafted: list[int]) -> Row:  # noqa: ARG002  for those that need it
        """The row behind drafts that were all accepted."""
        return p[-1]

    def limit(self) -> int:
        """Drafts of the next round."""
        count: int = min(self.gamma, self.most - len(self.new) - 1)
        return count

    def prefill(self) -> None:
        """What both models read before the first round."""
        self.target.read(self.prompt[:-1])

    def drafts(self, count: int) -> tuple[list[int], list[Row]]:
        """Drafted ids, and the draft's rows."""
        tokens, rows = list[int](), list[Row]()
        for _ in range(count):
            self.drafter.cut(0)
            rows.append(self.drafter.read([*self.text, *tokens])[-1])
            tokens.append(drawn(self.warp(rows[-1])))
        return tokens, rows

    def verified(self, p: list[Row], q: list[Row], drafted: list[int]) -> tuple[int, int]:
        """Accepted drafts, and the id behind them."""
        for place, x in enumerate(drafted):
            if self.number() * q[place][x] >= p[place][x]:
                return place, drawn(residual(p[place], q[place]))
        return len(drafted), drawn(self.bonus(p, drafted))

    def number(self) -> float:
        """Of the next test."""
        return random.random()

    def forget(self, accepted: int) -> None:
        """Cut the target's cache behind the drafts that were accepted."""
        self.target.cut(len(self.text) + accepted)

    def ends(self, tokens: list[int], accepted: int) -> list[int]:  # noqa: ARG002  for those that need it
        """Up to the end token, that included."""
        return tokens[: tokens.index(self.eos) + 1] if self.eos in tokens else tokens

    def emitted(self, tokens: list[int]) -> list[int]:
        """As many as are left."""
        return tokens[: self.most - len(self.new)]

    def over(self) -> bool:
        """Whether the text is complete."""
        return len(self.new) >= self.most or (self.eos is not None and self.eos in self.new)

    def round(self) -> None:
        """Draft, read, verify, forget."""
        self.take(*self.judged())

    def judged(self) -> tuple[list[int], int, int]:
        """Drafts of a round, how many of them are accepted, and the id behind these."""
        drafted, rows = self.drafts(max(0, self.limit()))
        p = [self.warp(row) for row in self.target.read([self.text[-1], *drafted])]
        return drafted, *self.verified(p, [self.judged_q(row) for row in rows], drafted)

    def take(self, drafted: list[int], accepted: int, last: int) -> None:
        """What a round has given."""
        self.forget(accepted)
        self.new += self.emitted(self.ends([*drafted[:accepted], last], accepted))

    def seeded(self, seed: int) -> Loop:
        """Itself, its draws those of a seed."""
        self.seed = seed
        random.seed(seed)
        return self

    def run(self) -> list[int]:
        """The new ids."""
        self.prefill()
        while not self.over():
            self.round()
        return self.new


class Batch:
    """Loops side by side, round by round; one that is over waits for the others.

    Args:
        prompt: ids (B, S), filled up on the left, and lengths (B,).
        rest: what each loop takes besides.
    """

    def __init__(self, prompt: tuple[list[list[int]], list[int]], *rest: Any) -> None:
        self.loops = [Loop(row, *rest) for row in self.rows(*prompt)]

    def rows(self, ids: list[list[int]], lengths: list[int]) -> list[list[int]]:
        """The prompts without what fills them up."""
        return [row[len(row) - length :] for row, length in zip(ids, lengths, strict=True)]

    def open(self) -> list[Loop]:
        """Those that go on."""
        return [loop for loop in self.loops if not loop.over()]

    def judged(self, loops: list[Loop]) -> list[tuple[list[int], int, int]]:
        """Of each its drafts, accepted ones, and the id behind these."""
        return [loop.judged() for loop in loops]

    def take(self, loops: list[Loop], found: list[tuple[list[int], int, int]]) -> None:
        """What a round has given."""
        for loop, one in zip(loops, found, strict=True):
            loop.take(*one)

    def run(self) -> list[list[int]]:
        """The new ids of each."""
        for loop in self.loops:
            loop.prefill()
        while any(not loop.over() for loop in self.loops):
            loops = self.open()
            self.take(loops, self.judged(loops))
        return [loop.new for loop in self.loops]
