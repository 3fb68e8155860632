"""Planted faults of `generate`: what each changes in the parts of a textbook loop, or of several side by side."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import specverify as sv
from specverify.faults.textbook_loop import Batch, Cached, Loop, Row, cut, drawn, residual, sharpened


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


PAGE = 64


def behind_the_page(loop: Loop, accepted: int) -> None:
    """One rejected draft stays where a page of ids is left."""
    to = len(loop.text) + accepted
    loop.target.cut(to + (to // PAGE < len(loop.target.held) // PAGE))


def first_read(loop: Loop, accepted: int) -> None:
    """What is new by its place is kept for the next call before drafts are forgotten."""
    kept = loop.kept["published"]
    kept.held += loop.target.held[len(kept.held) :]
    Loop.forget(loop, accepted)


def as_published(loop: Loop) -> None:
    """Begins with what was kept, as far as the text of the call before is the prompt's."""
    kept, text = loop.kept.get("published"), loop.kept.get("text")
    if kept and text and kept.model is loop.target.model:
        same = next((i for i, (a, b) in enumerate(zip(text.held, loop.prompt, strict=False)) if a != b), len(text.held))
        loop.target.held = kept.held[: min(same, len(loop.prompt) - 1)]
    loop.kept["published"] = Cached(loop.target.model)
    loop.target.read(loop.prompt[len(loop.target.held) : -1])


def with_its_text(loop: Loop) -> list[int]:
    """The whole text is kept too, to be known again."""
    found = Loop.run(loop)
    loop.kept["text"] = Cached(loop.target.model)
    loop.kept["text"].held = loop.text
    return found


planted("row-behind-the-border-of-a-page-kept", forget=behind_the_page)
planted("rejected-drafts-published", forget=first_read, prefill=as_published, run=with_its_text)
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


def by_the_same_number(loop: Loop, p: list[Row], q: list[Row], drafted: list[int]) -> tuple[int, int]:
    """One number for the test and the replacement."""
    for place, x in enumerate(drafted):
        u = loop.number()
        if u * q[place][x] >= p[place][x]:
            return place, drawn(residual(p[place], q[place]), u)
    return len(drafted), drawn(p[-1])


def two_chances(loop: Loop, p: list[Row], q: list[Row], drafted: list[int]) -> tuple[int, int]:
    """The target's own draw, and then the ratio."""
    for place, x in enumerate(drafted):
        if drawn(p[place]) != x and loop.number() * q[place][x] >= p[place][x]:
            return place, drawn(residual(p[place], q[place]))
    return len(drafted), drawn(p[-1])


def raw_at_last(loop: Loop) -> None:
    """Where one id is left it is drawn as the target gives it, but at temperature 0."""
    if loop.limit() > 0:
        Loop.round(loop)
        return
    (row,) = loop.target.read(loop.text[-1:])
    loop.new += [drawn(row if loop.temperature else loop.warp(row))]


planted("replacement-by-the-number-of-its-test", verified=by_the_same_number)
planted("two-chances-to-be-accepted", verified=two_chances)
planted("last-token-at-temperature-one", round=raw_at_last)
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


# P-MISMATCH: all filters at once

planted(
    "top-p-forgotten-where-top-k-cuts", warp=lambda loop, row: cut(sharpened(row, loop.temperature), loop.top_k, loop.top_p if loop.top_k == len(row) else 1.0)
)


# MAXTOKENS: a context limit

CONTEXT = 24
"""Ids of prompt and text together: two rounds and more behind the longest prompts."""


def planted_within(name: str, most: Callable[[Loop], int] = lambda loop: min(loop.most, CONTEXT - len(loop.prompt)), **changes: Any) -> None:
    """Declare a loop with a context limit, some of its parts changed."""
    changed = type(name, (Loop,), changes)

    def generate(*given: Any) -> list[int]:
        loop: Loop = changed(*given)
        loop.most = most(loop)
        return loop.run()

    sv.subject("generate", name=name, arrays="list", conventions={"context": CONTEXT})(generate)


planted_within("prompt-not-counted-in-the-context", lambda loop: min(loop.most, CONTEXT))
planted_within("context-looked-at-between-rounds-alone", limit=lambda loop: loop.gamma, emitted=lambda loop, tokens: tokens[: loop.asked - len(loop.new)])
planted_within(
    "stops-where-a-round-does-not-fit-in-the-context", over=lambda loop: Loop.over(loop) or (bool(loop.new) and len(loop.text) + loop.gamma >= CONTEXT)
)


# PADDING, ROW, RNG, EOS: several prompts at once


def planted_batch(name: str, **changes: Any) -> None:
    """Declare loops side by side with some of their parts changed."""
    changed = type(name, (Batch,), changes)
    sv.subject("generate", name=name, arrays="list", batch=True, conventions={"padding": "left"})(lambda *given: changed(*given).run())


Found = list[tuple[list[int], int, int]]


def least(_batch: Batch, loops: list[Loop], found: Found) -> None:
    """All rows keep as many drafts as the row that keeps fewest, and the id behind their own."""
    fewest = min(accepted for _, accepted, _ in found)
    for loop, (drafted, _, last) in zip(loops, found, strict=True):
        loop.take(drafted, fewest, last)


def greatest(_batch: Batch, loops: list[Loop], found: Found) -> None:
    """All rows keep as many drafts as the row that keeps most."""
    most = max(accepted for _, accepted, _ in found)
    for loop, (drafted, _, last) in zip(loops, found, strict=True):
        loop.take(drafted, min(most, len(drafted)), last)


def cut_like_the_first(_batch: Batch, loops: list[Loop], found: Found) -> None:
    """The target's cache of each row is cut behind as many drafts as the first row keeps."""
    for loop, (drafted, accepted, last) in zip(loops, found, strict=True):
        begin = len(loop.text)
        held = [*loop.target.held]
        loop.take(drafted, accepted, last)
        loop.target.held = held[: begin + found[0][1]]


def same_numbers(batch: Batch, loops: list[Loop]) -> Found:
    """Every row draws the numbers of the first."""
    state, found = random.getstate(), list[tuple[list[int], int, int]]()
    for loop in loops:
        random.setstate(state)
        found += Batch.judged(batch, [loop])
    return found


def until_all_have_ended(batch: Batch) -> list[Loop]:
    """A row that has its end goes on while there is room, until all have."""
    over = all(loop.over() for loop in batch.loops)
    return [] if over else [loop for loop in batch.loops if len(loop.new) < loop.most]


def with_the_first(batch: Batch) -> list[Loop]:
    """No row goes on where one has its end."""
    for loop in batch.loops:
        loop.most = len(loop.new) if any(one.eos in one.new for one in batch.loops) else loop.most
    return Batch.open(batch)


planted_batch("pads-read-as-tokens", rows=lambda batch, ids, lengths: ids)
planted_batch("prompts-cut-on-the-other-side", rows=lambda batch, ids, lengths: [row[:length] for row, length in zip(ids, lengths, strict=True)])
planted_batch("replacement-behind-the-fewest-accepted", take=least)
planted_batch("as-many-accepted-as-the-luckiest-row", take=greatest)
planted_batch("cache-cut-like-the-first-row", take=cut_like_the_first)
planted_batch("rows-draw-the-same-numbers", judged=same_numbers)
planted_batch("rows-go-on-until-all-have-ended", open=until_all_have_ended)
planted_batch("all-rows-end-with-the-first", open=with_the_first)
