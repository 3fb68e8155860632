"""What every batch must keep to, whatever its requests are: claims of each request's draws, and the laws of requests alone and of two together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from specprops import rows
from specprops.batches import Asked, taken_apart
from specprops.trial import Trial
from specprops.verify_chain import Draw, impossible_token, keeps_prefix
from specverify.contracts import Case, array_of
from specverify.contracts.arrays import EPS
from specverify.contracts.packed import LOGITS
from specverify.law import Law, Outcome, product_law

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

LOGARITHM = 256
"""Roundings that a logit may hide: twice the largest logarithm of float32, 104, and those of a softmax."""

Claim = Callable[[Asked, Draw], bool]
View = tuple[Law, Callable[[Outcome], Outcome]]


def each_request(trial: Trial, case: Case, claim: Claim, message: str, *, draws: int = 60, fresh: int | None = None) -> None:
    """No draw of any request may violate the claim."""
    asked = taken_apart(case)

    def holds(outcome: Outcome) -> bool:
        return all(claim(one, Draw(*drawn)) for one, drawn in zip(asked, outcome, strict=True))

    trial.holds(case, holds, message, draws=draws, fresh=fresh)


def follows_draft(_asked: Asked, d: Draw) -> bool:
    """Theory S12a."""
    return keeps_prefix(d)


def keeps_support(asked: Asked, d: Draw) -> bool:
    """Theory S12c."""
    return impossible_token(asked.p, d.tokens[: d.n + 1]) is None


def keeps_both(asked: Asked, d: Draw) -> bool:
    """Theory S12a, S12c."""
    return follows_draft(asked, d) and keeps_support(asked, d)


def replaces_the_rejected(asked: Asked, d: Draw) -> bool:
    """Theory S12b, of every rule that is known here."""
    return d.n == len(asked.q) or d.tokens[d.n] != d.draft[d.n]


def in_the_residual(subject: Description, case: Case) -> Claim:
    """Theory S12b, of the standard rule; rows may lawfully be normalised once more."""
    p = array_of(case, "p")
    slack = (2 * (p.shape[2] + 1) + LOGARITHM * (subject.conventions.get("target") == LOGITS)) * EPS[p.dtype]
    return lambda asked, d: d.n == len(asked.q) or asked.p[d.n][d.tokens[d.n]] > asked.q[d.n][d.tokens[d.n]] * (1 - slack)


def greedy_tokens(asked: Asked, d: Draw) -> bool:
    """Theory S10: the draft up to the first token that is not the argmax, then the argmax."""
    best = [row.index(max(row)) for row in asked.p]
    n = next((i for i, token in enumerate(d.draft) if token != best[i]), len(d.draft))
    return not asked.greedy or d.tokens[: d.n + 1] == tuple(best[: n + 1])


def law(trial: Trial, case: Case, *, draws: int | None = None, fresh: int | None = None) -> None:
    """All requests together where the law has few cells, else each of them, and two of them at a time."""
    asked = taken_apart(case)
    whole = [row for one in asked for row in one.p]
    views = [(product_law(whole), _all_tokens)] if _cells(whole) <= rows.CELLS else list(_views(asked))
    trial.laws(case, views, draws=draws, fresh=fresh)


def _all_tokens(outcome: Outcome) -> Outcome:
    return tuple(token for drawn in outcome for token in Draw(*drawn).tokens)


def _views(asked: Sequence[Asked]) -> Iterator[View]:
    """Of each request, of it with its neighbour, and of the first request with it: as many leading tokens as have few cells."""
    random_ones = [b for b, one in enumerate(asked) if _cells(one.p) > 1]
    pairs = {*itertools.pairwise(random_ones), *((random_ones[0], b) for b in random_ones[1:])} if random_ones else set()
    for places in [*((b,) for b in random_ones), *sorted(pairs)]:
        yield _view(asked, places)


def _view(asked: Sequence[Asked], places: tuple[int, ...]) -> View:
    shown = _shown([asked[b].p for b in places])
    right = product_law([row for b, n in zip(places, shown, strict=True) for row in asked[b].p[:n]])
    return right, lambda outcome: tuple(token for b, n in zip(places, shown, strict=True) for token in Draw(*outcome[b]).tokens[:n])


def _shown(tables: Sequence[Sequence[Sequence[float]]]) -> list[int]:
    """How many leading rows of each table are looked at: one more in turns, while the cells stay few."""
    shown = [1] * len(tables)
    for place in itertools.chain.from_iterable(itertools.repeat(range(len(tables)), max(map(len, tables)))):
        more = [n + (i == place) for i, n in enumerate(shown)]
        if more[place] <= len(tables[place]) and _cells([row for table, n in zip(tables, more, strict=True) for row in table[:n]]) <= rows.CELLS:
            shown = more
    return shown


def _cells(table: Sequence[Sequence[float]]) -> int:
    return math.prod(sum(x > 0 for x in row) for row in table)


def twice(trial: Trial, case: Case) -> None:
    """The tokens of two calls are independent."""
    whole = [row for one in taken_apart(case) for row in one.p]
    trial.law(case, product_law([*whole, *whole]), lambda outcome: tuple(token for one in outcome for token in _all_tokens(one)), spans=2)


def impossible(case: Case) -> Callable[[Outcome], str | None]:
    """The first token of target probability zero in the rows of a call, in words, or none."""
    asked = taken_apart(case)

    def told(outcome: Outcome) -> str | None:
        found = (impossible_token(one.p, row) for one, row in zip(asked, outcome, strict=True))
        return next((f"{one} of request {b}" for b, one in enumerate(found) if one), None)

    return told


def emitted(outcome: Outcome) -> Outcome:
    """The rows that a call itself gave, without the completion."""
    return tuple(Draw(*drawn).tokens[: Draw(*drawn).n + 1] for drawn in outcome)
