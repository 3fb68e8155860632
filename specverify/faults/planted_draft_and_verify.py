"""Planted faults of `draft_and_verify`: one textbook round in its parts, and what each fault changes in them. Plain lists and `random`, so that each is audited in seconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate

import specverify as sv

Row = list[float]
Prefix = tuple[int, ...]
Model = Callable[[Prefix], Row]
Told = tuple[list[int], list[Row], list[int]]
"""Tokens, the q reported, drafts."""
Numbers = Callable[[int], float]
"""The uniform number at a place of a stream."""


def picked(row: Row, u: float) -> int:
    """By inverse CDF."""
    held = [token for token, x in enumerate(row) if x > 0]
    return next((token for token, above in enumerate(accumulate(row)) if row[token] > 0 and u * sum(row) < above), held[-1])


def drawn(row: Row) -> int:
    """A token of a row, with a number of its own."""
    return picked(row, random.random())


def over_sum(row: Row) -> Row:
    """Weights as probabilities."""
    return [x / sum(row) for x in row]


def without_the_tail(row: Row) -> Row:
    """What is above half of the largest, not normalised."""
    return [x if x > max(row) / 2 else 0.0 for x in row]


def residual(p: Row, q: Row) -> Row:
    """(p - q)+; p where nothing is left."""
    left = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    return left if any(left) else p


def drafts(draft: Model, prefix: Prefix, gamma: int, pick: Callable[[Row], int] = drawn) -> tuple[list[int], list[Row]]:
    """The draft's tokens, and the rows that it gave."""
    tokens, rows = list[int](), list[Row]()
    for _ in range(gamma):
        rows.append(draft((*prefix, *tokens)))
        tokens.append(pick(rows[-1]))
    return tokens, rows


def behind(target: Model, prefix: Prefix, drafted: Sequence[int]) -> list[Row]:
    """The target's row behind the text, and behind each draft token."""
    return [target((*prefix, *drafted[:place])) for place in range(len(drafted) + 1)]


def judged(
    p: list[Row], q: list[Row], drafted: list[int], coins: Numbers = lambda _: random.random(), last: Callable[[Row], int] = drawn, bonus: Row | None = None
) -> list[int]:
    """The standard rule; `coins` has a number for each draft, `last` draws the last token, `bonus` is another last row."""
    for place, x in enumerate(drafted):
        if coins(place) * q[place][x] >= p[place][x]:
            return [*drafted[:place], last(residual(p[place], q[place]))]
    return [*drafted, last(p[len(drafted)] if bonus is None else bonus)]


# Q-MISMATCH: what is reported is not what drew the drafts


@sv.subject("draft_and_verify", name="unprocessed-q-reported", arrays="list")
def unprocessed_q_reported(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma, lambda row: drawn([x * x for x in row]))
    return judged(behind(target, prefix, drafted), q, drafted), q, drafted


@sv.subject("draft_and_verify", name="q-of-the-position-before", arrays="list")
def q_of_the_position_before(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    early = [*q[:1], *q[:-1]]
    return judged(behind(target, prefix, drafted), early, drafted), early, drafted


@sv.subject("draft_and_verify", name="filtered-q-not-normalised", arrays="list")
def filtered_q_not_normalised(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma, lambda row: drawn(without_the_tail(row)))
    cut = list(map(without_the_tail, q))
    return judged(behind(target, prefix, drafted), cut, drafted), cut, drafted


@sv.subject("draft_and_verify", name="argmax-drafts-with-a-soft-q", arrays="list")
def argmax_drafts_with_a_soft_q(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma, lambda row: row.index(max(row)))
    return judged(behind(target, prefix, drafted), q, drafted), q, drafted


@sv.subject("draft_and_verify", name="improbable-drafts-dropped", arrays="list")
def improbable_drafts_dropped(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    kept = next((place for place, x in enumerate(drafted) if q[place][x] < 0.3), gamma)
    return judged(behind(target, prefix, drafted[:kept]), q, drafted[:kept]), q[:kept], drafted[:kept]


@sv.subject("draft_and_verify", name="another-q-reported-than-used", arrays="list", conventions={"drafting": "rows"})
def another_q_reported_than_used(target: Model, draft: Model, prefix: Prefix, gamma: int) -> tuple[list[int], list[Row]]:
    drafted, q = drafts(draft, prefix, gamma)
    return judged(behind(target, prefix, drafted), q, drafted), [over_sum([x**0.5 for x in row]) for row in q]


# P-MISMATCH: rows of the target behind something else than the text and the drafts


@sv.subject("draft_and_verify", name="target-asked-without-the-drafts", arrays="list")
def target_asked_without_the_drafts(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    return judged([target(prefix)] * (gamma + 1), q, drafted), q, drafted


@sv.subject("draft_and_verify", name="target-asked-one-draft-short", arrays="list")
def target_asked_one_draft_short(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    p = behind(target, prefix, drafted)
    return judged([p[0], *p[:-1]], q, drafted), q, drafted


_HELD: list[Prefix] = [()]


@sv.subject("draft_and_verify", name="emitted-token-missing-in-the-next-round", arrays="list")
def emitted_token_missing_in_the_next_round(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    goes_on = 0 < len(_HELD[0]) < len(prefix) and prefix[: len(_HELD[0])] == _HELD[0]
    _HELD[0] = prefix
    drafted, q = drafts(draft, prefix, gamma)
    return judged(behind(target, prefix[:-1] if goes_on else prefix, drafted), q, drafted), q, drafted


# RNG: numbers used twice within a round


def with_numbers(target: Model, draft: Model, prefix: Prefix, numbers: Sequence[float], coins: Sequence[float]) -> Told:
    """Drafts by the first numbers, tests by the others, a draw of its own for the last token."""
    waiting = list(numbers)
    drafted, q = drafts(draft, prefix, len(numbers), lambda row: picked(row, waiting.pop(0)))
    return judged(behind(target, prefix, drafted), q, drafted, coins.__getitem__), q, drafted


@sv.subject("draft_and_verify", name="verifier-reads-the-drafters-numbers", arrays="list", rule="standard", conventions={"drafting": "rows"})
def verifier_reads_the_drafters_numbers(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    numbers = [random.random() for _ in range(gamma)]
    return with_numbers(target, draft, prefix, numbers, numbers)


@sv.subject("draft_and_verify", name="next-drafts-number-judges", arrays="list", rule="standard", conventions={"drafting": "rows"})
def next_drafts_number_judges(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    numbers = [random.random() for _ in range(gamma + 1)]
    return with_numbers(target, draft, prefix, numbers[:-1], numbers[1:])


@sv.subject("draft_and_verify", name="one-number-drafts-all", arrays="list", rule="standard", conventions={"drafting": "rows"})
def one_number_drafts_all(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    number = random.random()
    return with_numbers(target, draft, prefix, [number] * gamma, [random.random() for _ in range(gamma)])


# SEED: numbers that come again in the next round or call


@sv.subject("draft_and_verify", name="seeded-with-the-length-of-the-text", arrays="list")
def seeded_with_the_length_of_the_text(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    random.seed(len(prefix))
    drafted, q = drafts(draft, prefix, gamma)
    return judged(behind(target, prefix, drafted), q, drafted), q, drafted


def by_number(target: Model, draft: Model, prefix: Prefix, gamma: int, numbers: Numbers) -> Told:
    """The textbook round from the numbers at places 0 to 2 gamma: drafts, their tests, the last token."""
    places = iter(range(gamma))
    drafted, q = drafts(draft, prefix, gamma, lambda row: picked(row, numbers(next(places))))
    p = behind(target, prefix, drafted)
    return judged(p, q, drafted, lambda place: numbers(gamma + place), lambda row: picked(row, numbers(2 * gamma))), q, drafted


@sv.subject("draft_and_verify", name="numbers-by-place-in-the-round", arrays="list", seed="int", rng="counter")
def numbers_by_place_in_the_round(target: Model, draft: Model, prefix: Prefix, gamma: int, seed: int) -> Told:
    return by_number(target, draft, prefix, gamma, lambda place: random.Random(f"{seed}/{place}").random())


@sv.subject("draft_and_verify", name="positions-of-rounds-overlap", arrays="list", seed="int", rng="counter")
def positions_of_rounds_overlap(target: Model, draft: Model, prefix: Prefix, gamma: int, seed: int) -> Told:
    return by_number(target, draft, prefix, gamma, lambda place: random.Random(f"{seed}/{len(prefix) + place}").random())


# BONUS: the token behind drafts that were all accepted


@sv.subject("draft_and_verify", name="bonus-of-the-draft-model", arrays="list")
def bonus_of_the_draft_model(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    return judged(behind(target, prefix, drafted), q, drafted, bonus=draft((*prefix, *drafted))), q, drafted


@sv.subject("draft_and_verify", name="bonus-of-the-row-before", arrays="list")
def bonus_of_the_row_before(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    p = behind(target, prefix, drafted)
    return judged(p, q, drafted, bonus=p[gamma - 1]), q, drafted


@sv.subject("draft_and_verify", name="bonus-behind-the-last-draft-alone", arrays="list")
def bonus_behind_the_last_draft_alone(target: Model, draft: Model, prefix: Prefix, gamma: int) -> Told:
    drafted, q = drafts(draft, prefix, gamma)
    return judged(behind(target, prefix, drafted), q, drafted, bonus=target((*prefix, *drafted[-1:]))), q, drafted
