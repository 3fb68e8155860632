"""The first rung of the ladder: the exact law of a subject on a case, explored in its worker, each case once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specverify.contracts import Case, digest
from specverify.law import GRID
from specverify.subjects.replies import Explored, Unexplored
from specverify.subjects.subject import Subject

REFUSALS = 3
"""Cases in a row that cannot be explored, after which a subject's laws are sampled without asking again."""
CAREFUL = 6
"""Laws of a subject that come first, each set of choices replayed THOROUGH times: a hidden state that tosses a coin escapes them with a chance of 2^-16."""
THOROUGH = 16


@dataclass
class Explorations:
    """What is known of one subject: laws by case and number of calls, how often in a row there was none, and why none of them counts, if so."""

    known: dict[tuple[str, int], Explored | Unexplored] = field(default_factory=dict)
    refused: int = 0
    distrusted: Unexplored | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more is explored."""
        return self.distrusted is not None or self.refused >= REFUSALS


_OF: dict[int, tuple[Subject, Explorations]] = {}


def _of(subject: Subject) -> Explorations:
    return _OF.setdefault(id(subject), (subject, Explorations()))[1]


def foresee(subject: Subject, cases: Sequence[Case], spans: int = 1, probe: int = 2) -> None:
    """Explore many cases in one request; the first laws of a subject one by one, with care."""
    mine = _of(subject)
    missing = [case for case in cases if (digest(case), spans) not in mine.known]
    while missing and not mine.over:
        careful = len(mine.known) < CAREFUL
        asked, missing = (missing[:1], missing[1:]) if careful else (missing, [])
        for case, found in zip(asked, subject.laws(asked, spans=spans, probe=THOROUGH if careful else probe), strict=True):
            _learn(mine, (digest(case), spans), found)


def _learn(mine: Explorations, name: tuple[str, int], found: Explored | Unexplored) -> None:
    if isinstance(found, Unexplored) and found.hidden:
        mine.distrusted = found
    mine.known[name] = found
    if isinstance(found, Explored) or not found.size:
        closed = isinstance(found, Explored) and found.law.open_mass <= GRID
        mine.refused = 0 if closed else mine.refused + 1


def distrust(subject: Subject, reason: str) -> None:
    """Let none of its laws count, those that are known already included."""
    _of(subject).distrusted = Unexplored(reason, hidden=True)


def explored(subject: Subject, case: Case, spans: int = 1) -> Explored | Unexplored:
    """The law on one case, or why there is none. A subject that was once seen to depend on something hidden has none on any case."""
    mine = _of(subject)
    foresee(subject, [case], spans)
    if mine.distrusted is not None:
        return mine.distrusted
    if (digest(case), spans) in mine.known:
        return mine.known[digest(case), spans]
    last = list(mine.known.values())[-1]
    return last if isinstance(last, Unexplored) else Unexplored("the laws of the cases before stayed open")


def explorable(subject: Subject) -> bool:
    """Whether its laws have been explored so far."""
    mine = _of(subject)
    return bool(mine.known) and mine.refused == 0 and mine.distrusted is None
