"""Cases of a retriever: few documents of few ids, so that suffixes are found, with borders that would make false matches if they were crossed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.occurrences import Query
from specverify.contracts import Case

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

AMPLE = 64
"""A budget that holds every beginning of the cases here: of up to 3 ids, 39 at most that are made of three."""
WIDE = {0: 5, 1: 65_541, 2: 131_077}
"""Ids that are one in 16 bits."""
MANY = 2_600
"""Occurrences of the lighter continuation; with the heavier 5,300, more than the 5,000 at which the released code stops (theory 1e, i)."""

Corpus = list[list[int]]


def made(corpus: Corpus, context: list[int], n: tuple[int, int] = (1, 2), m: int = 2, budget: int = AMPLE) -> Case:
    """A case."""
    return {"corpus": corpus, "context": context, "n_min": n[0], "n_max": n[1], "m": m, "budget": budget}


def plain(_: Description) -> list[Case]:
    """One continuation; a border; two lengths; overlaps; empty and equal documents; a context that is short. Smallest first."""
    return [
        made([[1, 2]], [1], (1, 1), 1),
        made([[1, 2], [0]], [1]),
        made([[0, 0, 1]], [0], (1, 16)),
        made([[1, 1, 1, 1]], [1, 1]),
        made([[1, 2, 0], [2, 1]], [1, 2]),
        made([[1, 2, 0], [0, 2, 1]], [1, 2], (1, 1)),
        made([[], [1], [1, 2], [1, 2], [], [1, 0]], [0, 1], (1, 16)),
        made([[0, 1, 2, 0, 1, 2]], [0, 1], (2, 3), 4),
        made([[2, 0, 1, 0, 2], [1, 0, 1, 1, 0]], [0, 1, 0], (1, 3), 3),
    ]


def tight(_: Description) -> list[Case]:
    """Budgets that do not hold all: a tie, a chain, a long heavy path beside short light ones, many branches."""
    heavy = [[1, 2, 0, 2, 1], [1, 2, 0, 2, 1], [1, 0], [1, 1]]
    fan = [[1, token] for token in range(12)]
    return [
        made([[1, 2], [1, 0]], [1], budget=1),
        made([[1, 0], [1, 2], [1, 2]], [1], budget=1),
        made([[1, 2, 0, 1]], [1], (1, 1), 3, 2),
        *(made(heavy, [1], (1, 1), 4, budget) for budget in (2, 4, 5)),
        made(fan, [1], (1, 1), 1, 5),
        made([*fan, *([1, token] for token in range(6, 12))], [1], (1, 1), 2, 6),
    ]


def at_the_end(_: Description) -> list[Case]:
    """The longest suffix stands at the end of a document alone, a shorter one goes on."""
    return [made([[0, 1], [1, 2]], [0, 1]), made([[2, 0, 1], [0, 1, 1], [1, 0]], [2, 0, 1], (1, 3))]


def unseen(_: Description) -> list[Case]:
    """An id that is nowhere, before what is found, at the end, and all over."""
    return [made([[1, 2]], [0, 1]), made([[1, 2]], [1, 3]), made([[1, 0, 2], [1, 0]], [300, 1, 0], (1, 16)), made([[2]], [70_000, 5, 4], (1, 16))]


def unmatched(_: Description) -> list[Case]:
    """The last id of a document; one that is nowhere; suffixes shorter than asked for; a context that is too short; a suffix across a border."""
    return [
        made([[1]], [1], (1, 1), 1),
        made([[1, 2]], [3], (1, 1), 1),
        made([[1, 2]], [0, 1], (2, 2)),
        made([[1, 2]], [1], (2, 4)),
        made([[], [1, 2]], [1, 2]),
        made([[0, 1], [2, 0]], [1, 2], (2, 2)),
        made([[100, 101]], [5, 6, 7], (1, 16), 10),
    ]


def wide(_: Description) -> list[Case]:
    """Ids beyond 16 bits that come back, and that must not be taken for others."""
    return [made([[1, 65_541]], [1], (1, 1), 1), made([[5, 1], [65_541, 2]], [5], (1, 1), 1), made([[262_143, 131_077, 200_000]], [262_143], (1, 1))]


def many(_: Description) -> list[Case]:
    """More occurrences than the released code looks at, the heavier continuation behind the lighter in the order of suffixes; rows in no order."""
    rows = [[0, 1]] * MANY + [[0, 2]] * (MANY + 100)
    random.Random(0).shuffle(rows)
    return [made(rows, [0], (1, 1), 1, 1)]


_ROWS = st.lists(st.integers(0, 2), max_size=6)


@st.composite
def found(draw: st.DrawFn, _: Description) -> Case:
    """A context of ids of the corpus that ends as some place of it, under a budget that holds all."""
    first = draw(st.lists(st.integers(0, 2), min_size=1, max_size=8))
    corpus = [first, *draw(st.lists(_ROWS, max_size=3))]
    end, size = draw(st.integers(1, len(first))), draw(st.sampled_from((1, 2, 4)))
    context = draw(st.lists(st.sampled_from(first), max_size=2)) + first[max(0, end - size) : end]
    n_min = draw(st.sampled_from((1, 1, 2)))
    return made(corpus, context, (n_min, n_min + draw(st.integers(0, 3))), draw(st.integers(1, 3)))


def pressed(subject: Description) -> st.SearchStrategy[Case]:
    """The same by the last id alone, so that much goes on, under a budget of a few."""
    return st.builds(lambda case, m, budget: {**case, "n_min": 1, "n_max": 1, "m": m, "budget": budget}, found(subject), st.integers(1, 4), st.integers(1, 7))


def lost(subject: Description) -> st.SearchStrategy[Case]:
    """The same, asking for longer suffixes than are found: where n ids are not found, no more are (R3)."""
    return found(subject).map(_lost)


def _lost(case: Case) -> Case:
    query = Query.of({**case, "n_min": 1, "n_max": AMPLE})
    return {**case, "n_min": query.matched + 1, "n_max": query.matched + query.m}


def behind_unseen(subject: Description) -> st.SearchStrategy[Case]:
    """A context that begins with ids that are nowhere."""
    return found(subject).map(lambda case: {**case, "context": [3, *Query.of(case).context[-2:]]})


def widened(subject: Description) -> st.SearchStrategy[Case]:
    """The same in ids beyond 16 bits."""
    return found(subject).map(_widened)


def _widened(case: Case) -> Case:
    query = Query.of(case)
    return {**case, "corpus": [[WIDE[token] for token in row] for row in query.corpus], "context": [WIDE[token] for token in query.context]}


def ended(subject: Description) -> st.SearchStrategy[Case]:
    """The same, with one more document, which ends as the context does."""
    return found(subject).map(lambda case: {**case, "corpus": [*Query.of(case).corpus, Query.of(case).context]})
