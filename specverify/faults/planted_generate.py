"""Planted faults of `generate`: one textbook loop with a cache, in its parts, and what each fault changes in them. Plain lists and `random`, so that each is audited in seconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import specverify as sv

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
        self.seed, self.rounds = 0, 0
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
        drafted, rows = self.drafts(max(0, self.limit()))
        p = [self.warp(row) for row in self.target.read([self.text[-1], *drafted])]
        accepted, last = self.verified(p, [self.judged_q(row) for row in rows], drafted)
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


def planted(name: str, seed: str | None = None, **changes: Any) -> None:
    """Declare the loop with some of its parts changed."""
    changed = type(name, (Loop,), changes)
    sv.subject("generate", name=name, arrays="list", seed=seed)(lambda *given, **more: (changed(*given).seeded(**more) if more else changed(*given)).run())


# KV-TARGET: the target's cache does not hold the text


def one_slot_too_far(loop: Loop, accepted: int) -> None:
    """Where no draft was accepted the next id is written behind that which stood there."""
    place = len(loop.text) + accepted
    loop.target.cut(place + (accepted == 0))


def without_an_id_of_the_prompt(loop: Loop) -> None:
    """It is cut off before the first round."""
    if not loop.new:
        loop.target.cut(len(loop.prompt) - 2)
    Loop.round(loop)


def cache_of_the_call_before(loop: Loop) -> None:
    """Reads of a prompt only what the cache, which it keeps, does not hold by length."""
    before = loop.kept.get("target")
    if before is not None and before.model is loop.target.model:
        loop.target.held = before.held[: len(loop.prompt) - 1]
    loop.kept["target"] = loop.target
    loop.target.read(loop.prompt[len(loop.target.held) : -1])


planted("rejected-drafts-left-in-the-cache", forget=lambda loop, accepted: None)
planted("cache-cut-one-late", forget=lambda loop, accepted: loop.target.cut(len(loop.text) + accepted + 1))
planted("cache-cut-one-early", forget=lambda loop, accepted: loop.target.cut(len(loop.text) + accepted - (accepted > 0)))
planted("one-slot-too-far-after-a-rejection", forget=one_slot_too_far)
planted("an-id-of-the-prompt-missing", round=without_an_id_of_the_prompt)
planted("cache-kept-from-the-call-before", prefill=cache_of_the_call_before)


# DRAFT-STATE, Q-MISMATCH: what is judged is not what was drawn


def from_a_stale_cache(loop: Loop, count: int) -> tuple[list[int], list[Row]]:
    """The draft model goes on behind all drafts of the rounds before; the rows that judge are those of the text."""
    if not loop.new:
        loop.drafter.held = []
    loop.drafter.read(loop.text if not loop.drafter.held else loop.text[-1:])
    tokens, rows = list[int](), list[Row]()
    for _ in range(count):
        rows.append(list(loop.drafter.model([*loop.text, *tokens])))
        tokens.append(drawn(loop.warp(list(loop.drafter.model(loop.drafter.held)))))
        loop.drafter.read(tokens[-1:])
    return tokens, rows


planted("drafts-from-a-stale-cache", drafts=from_a_stale_cache)
planted("q-of-the-draft-before-it-is-warped", judged_q=lambda loop, row: row)
planted("q-of-the-position-before-in-the-loop", verified=lambda loop, p, q, drafted: Loop.verified(loop, p, [*q[:1], *q[:-1]], drafted))


# P-MISMATCH: the target's law is another one


def greedy_first(loop: Loop) -> None:
    """The first id is the argmax behind the prompt."""
    Loop.prefill(loop)
    (row,) = loop.target.read(loop.prompt[-1:])
    loop.new = [row.index(max(row))]


def raw_bonus(loop: Loop, p: list[Row], _drafted: list[int]) -> Row:
    """The row as the target gives it, but at temperature 0."""
    return list(loop.target.model(loop.target.held)) if loop.temperature else p[-1]


planted("temperature-applied-twice", warp=lambda loop, row: Loop.warp(loop, Loop.warp(loop, row)))
planted("bonus-without-temperature-and-filters", bonus=raw_bonus)
planted("first-token-always-greedy", prefill=greedy_first)
planted("temperature-zero-taken-for-one", warp=lambda loop, row: cut(sharpened(row, loop.temperature or 1.0), loop.top_k, loop.top_p))


# BONUS, RESIDUAL, RNG, SEED


def drawn_again(loop: Loop, p: list[Row], q: list[Row], drafted: list[int]) -> tuple[int, int]:
    """The replacement comes from the target's whole row."""
    accepted, last = Loop.verified(loop, p, q, drafted)
    return accepted, drawn(p[accepted]) if accepted < len(drafted) else last


def one_number(loop: Loop, p: list[Row], q: list[Row], drafted: list[int]) -> tuple[int, int]:
    """All tests of a round read one number."""
    u = random.random()
    loop.number = lambda: u  # type: ignore[method-assign]
    return Loop.verified(loop, p, q, drafted)


def reseeded(loop: Loop) -> None:
    """Every round begins with the seed."""
    random.seed(loop.seed)
    Loop.round(loop)


planted("bonus-of-the-draft-in-the-loop", bonus=lambda loop, p, drafted: loop.warp(list(loop.drafter.model([*loop.text, *drafted]))) if drafted else p[-1])
planted("bonus-of-the-last-drafts-row", bonus=lambda loop, p, drafted: p[max(0, len(p) - 2)])
planted("rejected-draft-drawn-again", verified=drawn_again)
planted("one-number-for-all-tests-of-a-round", verified=one_number)
planted("reseeded-in-every-round", seed="int", round=reseeded)
planted("every-seed-the-same", seed="int", seeded=lambda loop, seed: Loop.seeded(loop, 0))


# EOS, MAXTOKENS


def rejected_end(loop: Loop, accepted: int) -> None:
    """An end that was drafted is the end."""
    if loop.eos in loop.target.held[len(loop.text) :]:
        loop.most = len(loop.new) + accepted + 1
    Loop.forget(loop, accepted)


def behind_the_end(loop: Loop, tokens: list[int], accepted: int) -> list[int]:
    """Goes on to the bonus where the last accepted draft is the end."""
    return tokens if loop.eos in tokens and tokens.index(loop.eos) == accepted - 1 else Loop.ends(loop, tokens, accepted)


def counted(loop: Loop) -> bool:
    """As many rounds as full ones would need, and one."""
    loop.rounds += 1
    return Loop.over(loop) or loop.rounds > loop.most // (loop.gamma + 1) + 1


def last_lost(loop: Loop) -> list[int]:
    """The last id of a text that reaches its limit."""
    found = Loop.run(loop)
    return found[:-1] if len(found) == loop.most and loop.gamma > 1 else found


planted(
    "end-looked-for-in-the-last-token-alone",
    ends=lambda loop, tokens, accepted: tokens,
    over=lambda loop: len(loop.new) >= loop.most or loop.new[-1:] == [loop.eos],
)
planted("rejected-end-ends-the-text", forget=rejected_end)
planted("bonus-behind-an-accepted-end", ends=behind_the_end)
planted("end-token-left-out", run=lambda loop: [token for token in Loop.run(loop) if token != loop.eos])
planted("length-looked-at-between-rounds-alone", limit=lambda loop: loop.gamma, emitted=lambda loop, tokens: tokens)
planted("stops-where-a-round-does-not-fit", over=lambda loop: Loop.over(loop) or (bool(loop.new) and len(loop.new) + loop.gamma >= loop.most))
planted("rounds-counted-for-tokens", over=counted)
planted("last-token-lost-at-the-limit", run=last_lost)
