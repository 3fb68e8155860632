"""Requests in other company: with a seed of its own, a request's tokens are the same whatever else is in the batch. Two calls are compared token by token; no statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from specprops import batches, packed_trees
from specprops.batches import EMPTY, Asked, Padding
from specprops.trees import ROOT
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array_of
from specverify.contracts.verify_batch import UNDEFINED
from specverify.subjects.subject import Description

SEEDS = 6
"""Sets of seeds that a case is tried with: tokens may agree by chance, half of the time where a coin is tossed."""
OTHER = 7_919
"""Added to a seed for another one."""

OWN = ("generators", "coins")
"""Ways to draw in which each request has numbers of its own."""

Change = tuple[str, Sequence[Asked], Sequence[int], Padding]
"""What was done, the batch that came of it, and where each of the old requests lies in it, -1 for those that are gone; its padding."""


class Kind(NamedTuple):
    """How batches are taken apart and put together: what a case is of."""

    taken_apart: Callable[[Case], list[Asked]]
    padding_of: Callable[[Case], Padding]
    together: Callable[[str, Sequence[Asked], Padding], Case]


CHAINS = Kind(batches.taken_apart, batches.padding_of, batches.together)
TREES = Kind(packed_trees.taken_apart, packed_trees.padding_of, packed_trees.together)


def _kind(case: Case) -> Kind:
    return TREES if "parents" in case else CHAINS


def _apart(case: Case) -> tuple[list[Asked], Padding]:
    """The requests of a case, and its padding."""
    return _kind(case).taken_apart(case), _kind(case).padding_of(case)


def needs_seeds(subject: Description) -> str | None:
    """Why requests are not compared across batches."""
    if "seeds" in subject.supports or subject.rng in OWN:
        return None
    return "it takes no seeds of single requests; the law of each is judged in all kinds of company"


def _compared(trial: Trial, case: Case, changes: Iterator[Change]) -> None:
    """Each request's row in the case, and in each changed batch."""
    dtype, together, (asked, own) = array_of(case, "p").dtype, _kind(case).together, _apart(case)
    before = [[replace(one, seed=(one.seed or 0) + turn) for one in asked] for turn in range(SEEDS)]
    rows = [trial.value(together(dtype, mine, own), stage="before").outcome for mine in before]
    for told, batch, places, padding in changes:
        for turn, (mine, row) in enumerate(zip(before, rows, strict=True)):
            old = {place: b for b, place in enumerate(places) if place >= 0}
            now = [replace(one, seed=mine[old[i]].seed if i in old else (one.seed or 0) + turn) for i, one in enumerate(batch)]
            found = trial.value(together(dtype, now, padding), stage="after").outcome
            for place, b in old.items():
                _same(b, row[b], found[place], told)


def _same(b: int, before: tuple[int, ...], after: tuple[int, ...], told: str) -> None:
    if before != after:
        table = (Row(f"request {b}", " ".join(map(str, after)), " ".join(map(str, before))),)
        raise Violation(f"With one seed, request {b} gives other tokens {told}.", table, kind="company")


def asked_again(trial: Trial, case: Case) -> None:
    """The same batch once more, the global generators being in another state."""
    asked, padding = _apart(case)
    _compared(trial, case, iter([("when the batch is asked again", asked, range(len(asked)), padding)]))


def reordered(trial: Trial, case: Case) -> None:
    """The requests backwards, and moved on by one."""
    asked, padding = _apart(case)
    n = len(asked)
    back, on = [n - 1 - b for b in range(n)], [(b + 1) % n for b in range(n)]
    moves = [("in a batch that is reversed", asked[::-1], back, padding), ("in a batch that is moved on by one", asked[-1:] + asked[:-1], on, padding)]
    _compared(trial, case, iter(moves))


def other_neighbours(trial: Trial, case: Case) -> None:
    """Each request alone; and beside others with other drafts, rows and seeds."""
    asked, padding = _apart(case)

    def changes() -> Iterator[Change]:
        for b, one in enumerate(asked):
            here = [0 if i == b else -1 for i in range(len(asked))]
            yield "when it is alone", [one], here, padding
            others = [other if i == b else _another(other) for i, other in enumerate(asked)]
            yield "beside other requests", others, [b if i == b else -1 for i in range(len(asked))], padding

    _compared(trial, case, changes())


def _another(one: Asked) -> Asked:
    """Another request of the same length: its tokens count backwards."""
    p, q = (tuple(row[::-1] for row in table) for table in (one.p, one.q))
    draft = tuple(len(p[0]) - 1 - x for x in one.draft or ())
    raw = None if one.raw is None else tuple(row[::-1] for row in one.raw)
    return replace(one, p=p, q=q, raw=raw, draft=draft, seed=(one.seed or 0) + OTHER)


def other_padding(trial: Trial, case: Case) -> None:
    """A larger K, and other pads: the first and the last token of the vocabulary; what is no number and no id where the subject declares that it reads none."""
    asked, padding = _apart(case)
    places = range(len(asked))
    last = len(asked[0].p[0]) - 1

    def changes() -> Iterator[Change]:
        for more in (1, 5):
            yield f"when K grows by {more}", asked, places, replace(padding, places=padding.places + more)
        for token in (0, last):
            yield f"when pads are token {token}", asked, places, replace(padding, token=token, places=padding.places + 1, poison=False)
        if UNDEFINED in trial.subject.supports:
            yield "when pads are undefined", asked, places, replace(padding, token=0, places=padding.places + 1, poison=True)

    _compared(trial, case, changes())


def guests(trial: Trial, case: Case) -> None:
    """A request without drafts, and a greedy one where temperatures are taken, in front and behind."""
    asked, padding = _apart(case)
    v, tree = len(asked[0].p[0]), asked[0].parents is not None
    row = tuple(float(t == v - 1) for t in range(v))
    empty = replace(EMPTY, p=(tuple(1 / v for _ in range(v)),), draft=(), seed=OTHER, parents=() if tree else None)
    cold = Asked((row, row), (tuple(1 / v for _ in range(v)),), (0,), OTHER, greedy=True, parents=(ROOT,) if tree else None)

    def changes() -> Iterator[Change]:
        for name, guest in (("a request without drafts", empty), ("a greedy request", cold)):
            if not guest.greedy or "temperature" in trial.subject.supports:
                yield f"behind {name}", [guest, *asked], range(1, len(asked) + 1), padding
                yield f"before {name}", [*asked, guest], range(len(asked)), padding

    _compared(trial, case, changes())


def told_otherwise(trial: Trial, case: Case, changes: Mapping[str, Mapping[str, object]]) -> None:
    """The same requests, and something of the whole batch put in another way; by what is said of it."""
    asked, padding = _apart(case)
    ways = ((told, tuple({**dict(padding.beside), **beside}.items())) for told, beside in changes.items())
    _compared(trial, case, ((told, asked, range(len(asked)), replace(padding, beside=beside)) for told, beside in ways))


def beside(trial: Trial, case: Case, others: Sequence[Asked], told: str) -> None:
    """Each request with each of the others in front of it."""
    asked, padding = _apart(case)

    def changes() -> Iterator[Change]:
        for b, one in enumerate(asked):
            for other in others:
                yield told, [other, one], [-1 if i != b else 1 for i in range(len(asked))], padding

    _compared(trial, case, changes())
