"""Planted faults of `drafter`. Each is a subject; the catalogue says what is wrong with it."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import specverify as sv

Ids = list[int]
Rows = list[list[float]]
Model = Callable[[Sequence[int]], list[float]]
SHARP = 2
"""One over the temperature of a drafter whose q forgets it."""
LONGEST = 3
"""Ids of a suffix that is looked for at most."""


def subject(name: str, **more: Any) -> Callable[..., Any]:
    """A drafter in lists."""
    return sv.subject("drafter", arrays="list", name=name, **more)


def drawn(row: Sequence[float], u: float) -> int:
    """The token at u of a row's cumulative sum."""
    total, chosen = 0.0, 0
    for token, mass in enumerate(row):
        if mass > 0:
            chosen = token
        total += mass
        if u * sum(row) < total:
            break
    return chosen


def written(context: Ids, source: Model, gamma: int, draw: Callable[[list[float]], int]) -> tuple[Ids, Rows]:
    """Drafts of a model by any way to draw, with its rows."""
    text, q = list(context), list[list[float]]()
    for _ in range(gamma):
        q.append(source(text))
        text.append(draw(q[-1]))
    return text[len(context) :], q


def afresh(row: Sequence[float]) -> int:
    """A draw."""
    return drawn(row, random.random())


@subject("q-before-temperature", conventions={"drafting": "own"})
def q_before_temperature(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    return written(context, source, gamma, lambda row: afresh([x**SHARP for x in row]))


@subject("q-of-the-row-before", conventions={"drafting": "rows"})
def q_of_the_row_before(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    tokens, q = written(context, source, gamma, afresh)
    return tokens, [q[0], *q[:-1]]


@subject("softmax-told-of-a-greedy-draft", conventions={"drafting": "own"})
def softmax_told_of_a_greedy_draft(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    return written(context, source, gamma, lambda row: row.index(max(row)))


@subject("one-number-for-all-drafts", conventions={"drafting": "rows"})
def one_number_for_all_drafts(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    u = random.random()
    return written(context, source, gamma, lambda row: drawn(row, u))


@subject("drafter-reseeds-itself", conventions={"drafting": "rows"})
def drafter_reseeds_itself(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    own = random.Random(1)
    return written(context, source, gamma, lambda row: drawn(row, own.random()))


@subject("last-id-drafted-again", conventions={"drafting": "rows"})
def last_id_drafted_again(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    tokens, q = written(context, source, gamma, afresh)
    return [context[-1], *tokens[:-1]], q


@subject("rows-kept-by-length", conventions={"drafting": "rows"})
def rows_kept_by_length(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    kept: dict[int, list[float]] = {}
    return written(context, lambda text: kept.setdefault(len(text) // 2, source(text)), gamma, afresh)


@subject("one-draft-too-many", conventions={"drafting": "rows"})
def one_draft_too_many(context: Ids, source: Model, gamma: int) -> tuple[Ids, Rows]:
    return written(context, source, gamma + 1, afresh)


@subject("drafts-in-draft-ids", conventions={"drafting": "rows"}, supports=("id_map",))
def drafts_in_draft_ids(context: Ids, source: Model, gamma: int, id_map: Ids | None) -> tuple[Ids, Rows]:
    own = context if id_map is None else [id_map.index(token) for token in context]
    return written(own, source, gamma, afresh)


@subject("context-in-target-ids", conventions={"drafting": "rows"}, supports=("id_map",))
def context_in_target_ids(context: Ids, source: Model, gamma: int, id_map: Ids | None) -> tuple[Ids, Rows]:
    known = list(range(len(source([])))) if id_map is None else id_map
    tokens, q = written([token % len(known) for token in context], source, gamma, afresh)
    return [known[token] for token in tokens], q


def following(documents: Sequence[Ids], context: Ids) -> Ids:
    """What follows the first occurrence of the context's longest suffix in a document."""
    for n in range(min(LONGEST, len(context)), 0, -1):
        for ids in documents:
            for start in range(len(ids) - n):
                if ids[start : start + n] == context[-n:]:
                    return ids[start + n :]
    return []


@subject("draft-runs-into-the-next-document", conventions={"source": "corpus"})
def draft_runs_into_the_next_document(context: Ids, source: list[Ids], gamma: int) -> Ids:
    return following([[token for ids in source for token in ids]], context)[:gamma]


@subject("short-draft-padded-with-zero", conventions={"source": "corpus"})
def short_draft_padded_with_zero(context: Ids, source: list[Ids], gamma: int) -> Ids:
    return (following(source, context) + [0] * gamma)[:gamma]


@subject("short-draft-padded-with-minus-one", conventions={"source": "corpus"})
def short_draft_padded_with_minus_one(context: Ids, source: list[Ids], gamma: int) -> Ids:
    return (following(source, context) + [-1] * gamma)[:gamma]


@subject("suffix-found-at-its-own-place", conventions={"source": "context"})
def suffix_found_at_its_own_place(context: Ids, source: list[Ids], gamma: int) -> Ids:  # noqa: ARG001  it is empty
    return (following([context], context) or context[-1:])[:gamma]


@subject("match-itself-drafted", conventions={"source": "context"})
def match_itself_drafted(context: Ids, source: list[Ids], gamma: int) -> Ids:  # noqa: ARG001  it is empty
    found = following([context], context)
    return [context[-1], *found][:gamma] if found else []
