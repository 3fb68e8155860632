"""Decisions of a kernel whose random numbers can be told beforehand: each is checked point by point, at seeds that lie next to its borders.

A counter-based generator makes a number of a seed and a position, and `peek` tells it without the kernel. So the seeds of a large pool are
looked at by peek alone, and the kernel is called for those that matter. Every decision is taken for a function of the number at one
position, which cuts [0, 1) into one piece for each outcome, in any order; position and order are found from calls, and the borders by
bisection among the pool. What lies between the last call on one side of a border and the first on the other stays open.
"""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from specverify.exact.decisions import Decision, Label
from specverify.law import GRID, ExactLaw, Outcome

POOL = 20_000
"""Seeds that are looked at by peek alone: a border is bracketed to about one part in as many."""
FIRST = 120
"""Calls from which the position and the order of pieces are read. A wrong position that looks right by chance needs all of them sorted."""
FEWEST = 12
"""Seeds that must reach a decision, and calls that must stand on both sides of a border that is called wrong: numbers that have nothing to do with a decision that goes
one way with probability 1/2 foretell as many with a chance of 2^-12, and of rarer ones less. Numbers that are not the kernel's accuse nobody."""
EVENLY = 24
"""Calls spread over each piece, which must all decide alike."""
MANY = 2_000
"""Random calls that a finding may cost among many outcomes."""
OFTEN = 3
"""Seeds of the pool with one number at a bound, from which on it is no rarity: of a probability of 2^-20 three come once in a million."""
TWO = 2
"""Outcomes of an acceptance."""
DOUBT = 1e-9
"""Chance that good numbers are taken for bad ones, by Hoeffding's and the Dvoretzky-Kiefer-Wolfowitz inequality."""
ROUNDINGS = 8
"""Times the relative rounding of the tables that a border may be off by."""
SINGLE = 2.0**-23

Peek = Callable[[int, int], float]


@dataclass(frozen=True)
class Pointwise:
    """What the seeds showed.

    Attributes:
        law: of what the kernel returns; what lies between two calls stays open. Near-exact: a piece that no seed fell into is not seen. None where `unread` says why.
        findings: a sentence each, with a seed that shows it.
        notes: such as that one number decides twice.
        unread: why the numbers of peek explain nothing, or nothing. It accuses nobody: a kernel may lawfully use many numbers for one choice.
        calls: of the kernel.
    """

    law: ExactLaw | None
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: str = ""
    calls: int = 0


class _Unread(Exception):
    """The numbers of peek do not explain a decision, or are no random numbers."""


@dataclass(frozen=True)
class _Call:
    """A call that reached a decision: the number at the decision's position, its seed, and what was decided."""

    u: float
    seed: int
    label: Label


@dataclass(frozen=True)
class _Span:
    """Of the numbers at one position: where an execution certainly goes one way, and outside of what it certainly does not."""

    low: float = 0.0
    high: float = 1.0
    least: float = 0.0
    most: float = 1.0

    @property
    def width(self) -> float:
        return self.high - self.low


def pointwise(call: Callable[[int], Outcome], peek: Peek, first: Decision, *, positions: int, eps: float = SINGLE, pool: int = POOL) -> Pointwise:
    """Check the decisions of a kernel against the right ones, and bracket its law.

    Args:
        call: the kernel with a seed: a plain result, tuples for lists.
        peek: the number in [0, 1) that it has for a seed and a position.
        first: its first choice, with all that come after.
        positions: how many positions it may read, from 0.
        eps: relative rounding of its tables.
        pool: seeds that are looked at.

    Returns:
        The law with what stays open, and findings. Borders off by less than rounding or a bracket are not told.
    """
    numbers = _pool(peek, positions, pool)
    if numbers.bad:
        return Pointwise(None, unread=numbers.bad)
    search = _Search(call, numbers, ROUNDINGS * eps)
    try:
        search.explore(first, {}, 1.0)
    except _Unread as event:
        return Pointwise(None, tuple(search.findings), tuple(search.notes), str(event), len(search.known))
    masses = {outcome: mass for outcome, mass in search.masses.items() if mass > 0}
    law = ExactLaw(masses, max(0.0, 1 - math.fsum(masses.values())), "near-exact", search.rounding * positions, runs=len(search.known))
    return Pointwise(law, tuple(search.findings), tuple(dict.fromkeys(search.notes)), calls=len(search.known))


@dataclass(frozen=True)
class _Pool:
    """Seeds with their numbers.

    Attributes:
        rows: by seed, the number at each position.
        distinct: the positions whose numbers are not those of an earlier one.
        bad: why these are no random numbers, or nothing.
    """

    rows: Mapping[int, Sequence[float]]
    distinct: Sequence[int]
    bad: str


@functools.lru_cache(maxsize=4)
def _pool(peek: Peek, positions: int, size: int) -> _Pool:
    seeds = random.Random("specverify/pointwise").sample(range(2**31), size)
    rows = {seed: [peek(seed, position) for position in range(positions)] for seed in seeds}
    columns = [tuple(row[position] for row in rows.values()) for position in range(positions)]
    distinct = [position for position, column in enumerate(columns) if columns.index(column) == position]
    bad = [_uneven(columns[one], one) for one in distinct] + [_dependent(columns, one, other) for one, other in itertools.combinations(distinct, 2)]
    return _Pool(rows, distinct, next((reason for reason in bad if reason), ""))


def _off_by(n: int) -> float:
    """What a share among n numbers is off by with the chance DOUBT."""
    return math.sqrt(math.log(2 / DOUBT) / (2 * n))


def _uneven(column: Sequence[float], position: int) -> str:
    n, ordered = len(column), sorted(column)
    if not 0 <= ordered[0] <= ordered[-1] < 1:
        return f"peek gives numbers outside of [0, 1) at position {position}"
    far = max(max(u - i / n, (i + 1) / n - u) for i, u in enumerate(ordered))
    return f"peek gives numbers that are not even over [0, 1) at position {position}" if far > _off_by(n) else ""


def _dependent(columns: Sequence[Sequence[float]], one: int, other: int) -> str:
    n = len(columns[one])
    both = sum(u < 1 / 2 and v < 1 / 2 for u, v in zip(columns[one], columns[other], strict=True)) / n
    return f"peek gives numbers at positions {one} and {other} that depend on each other" if abs(both - 1 / 4) > _off_by(n) else ""


class _Search:
    """Calls made, and what was found so far."""

    def __init__(self, call: Callable[[int], Outcome], pool: _Pool, rounding: float) -> None:
        self._call, self._pool, self._rows, self.rounding = call, pool, pool.rows, rounding
        self.known: dict[int, Outcome] = {}
        self.masses: dict[Outcome, float] = {}
        self.findings: list[str] = []
        self.notes: list[str] = []

    def explore(self, decision: Decision, where: Mapping[int, _Span], mass: float) -> None:
        """A decision and all that come after; `mass` is certain to reach it."""
        reaching = [seed for seed in self._rows if all(span.low <= self._rows[seed][at] <= span.high for at, span in where.items())]
        if len(reaching) < FEWEST:
            self.notes.append(f"{decision.name}: only {len(reaching)} of {len(self._rows)} seeds reach it, and it is not checked")
            return
        position, calls = self._read(decision, reaching)
        inside = where.get(position, _Span())
        if position in where and len({one.label for one in calls}) > 1:
            self.notes.append(f"{decision.name}: the number at position {position} has decided something before")
        self._judge(decision, position, calls, inside, reaching)
        for first, span in _spans(calls, inside):
            share = mass * span.width / inside.width
            if first.label in decision.then:
                self.explore(decision.then[first.label], {**where, position: span}, share)
            else:
                outcome = self.known[first.seed]
                self.masses[outcome] = self.masses.get(outcome, 0.0) + share

    def _label(self, decision: Decision, seed: int) -> Label:
        if seed not in self.known:
            self.known[seed] = self._call(seed)
        return decision.read(self.known[seed])

    def _read(self, decision: Decision, reaching: Sequence[int]) -> tuple[int, list[_Call]]:
        """The position whose numbers sort the outcomes into one piece each, and calls that bracket the borders."""
        labels = {seed: self._label(decision, seed) for seed in reaching[:FIRST]}
        for position in self._pool.distinct:  # where all decide alike, at the ends of every position too
            number = lambda seed, at=position: self._rows[seed][at]  # noqa: E731
            ends = (*heapq.nsmallest(2, reaching, number), *heapq.nlargest(2, reaching, number))
            labels.update({seed: self._label(decision, seed) for seed in ends})
        for position in self._pool.distinct:
            if _in_pieces(self._sorted(labels, position)):
                calls = self._bracketed(decision, position, reaching, labels)
                if _in_pieces(calls):
                    return position, calls
        raise _Unread(f"{decision.name}: the numbers of peek at no position from 0 to {self._pool.distinct[-1]} decide it")

    def _sorted(self, labels: Mapping[int, Label], position: int) -> list[_Call]:
        return sorted((_Call(self._rows[seed][position], seed, label) for seed, label in labels.items()), key=lambda one: (one.u, one.seed))

    def _bracketed(self, decision: Decision, position: int, reaching: Sequence[int], labels: dict[int, Label]) -> list[_Call]:
        """Calls until no seed of the pool is left between two that decide otherwise."""
        order = sorted(reaching, key=lambda seed: (self._rows[seed][position], seed))
        place = {seed: i for i, seed in enumerate(order)}
        pairs = list(itertools.pairwise(sorted(place[seed] for seed in labels)))
        while pairs:
            one, other = pairs.pop()
            if other - one > 1 and labels[order[one]] != labels[order[other]]:
                middle = (one + other) // 2
                labels[order[middle]] = self._label(decision, order[middle])
                pairs += [(one, middle), (middle, other)]
        for _, group in itertools.groupby(self._sorted(labels, position), key=lambda one: one.label):
            places = [place[one.seed] for one in group]
            for i in range(EVENLY):
                seed = order[places[0] + (places[-1] - places[0]) * i // EVENLY]
                labels[seed] = self._label(decision, seed)
        return self._sorted(labels, position)

    def _judge(self, decision: Decision, position: int, calls: Sequence[_Call], inside: _Span, reaching: Sequence[int]) -> None:
        """Findings of one decision: an outcome that is impossible, one that never comes, a border in the wrong place."""
        count = collections.Counter(one.label for one in calls)
        for label in count:
            if decision.right.get(label, 0.0) <= 0:
                self._impossible(decision, position, next(one for one in calls if one.label == label))
        borders = [(one, other) for one, other in itertools.pairwise(calls) if one.label != other.label]
        unseen = {label: mass for label, mass in decision.right.items() if label not in count}
        missing = math.fsum(unseen.values())
        gaps = math.fsum(other.u - one.u for one, other in borders) / inside.width
        if missing > gaps + self.rounding:
            never = " or ".join(map(str, unseen))
            told = f"the outcome is never {never}, whose probability is {missing:.6g}; with seed {calls[-1].seed} it is {calls[-1].label}"
            self._tell(decision, position, told, missing, reaching)
        off, witness, border = max(self._misplaced(decision, borders, inside), default=(0.0, calls[0], 0.0), key=lambda one: one[0])
        if off > self.rounding + missing and all(count[one.label] >= FEWEST for pair in borders if witness in pair for one in pair):
            told = f"with seed {witness.seed}, the number at position {position} is {witness.u:.6g}, and the outcome is {witness.label}"
            told += f"; pieces of the right lengths have a border at {border:.6g}"
            self._tell(decision, position, told, off if len(decision.right) > TWO else 1.0, reaching)

    @staticmethod
    def _misplaced(decision: Decision, borders: Sequence[tuple[_Call, _Call]], inside: _Span) -> Iterator[tuple[float, _Call, float]]:
        """By how much a call stands beyond the right border, the call, and the border; the numbers that reach the decision are known up to a bracket themselves."""
        share = 0.0
        for one, other in borders:
            share += decision.right.get(one.label, 0.0)
            least, most = inside.least + (inside.high - inside.least) * share, inside.low + (inside.most - inside.low) * share
            yield one.u - most, one, most
            yield least - other.u, other, least

    def _tell(self, decision: Decision, position: int, told: str, off: float, reaching: Sequence[int]) -> None:
        """A finding, if random calls show that no piece as long as the fault stands where no seed was called; else a note."""
        needed = math.ceil(math.log(1 / DOUBT) / off)
        more = {seed: self._label(decision, seed) for seed in reaching[: min(needed, MANY)]}
        if not _in_pieces(self._sorted(more, position)):
            raise _Unread(f"{decision.name}: the numbers at position {position} do not cut it into one piece for each outcome")
        sure = needed <= len(more)
        (self.findings if sure else self.notes).append(f"{decision.name}: {told}" + ("" if sure else ", unless a short piece stands elsewhere"))

    def _impossible(self, decision: Decision, position: int, call: _Call) -> None:
        """A finding; at a bound of the numbers, which a fine grid hits by chance once in a great while, a note."""
        told = (
            f"{decision.name}: with seed {call.seed}, the number at position {position} is {call.u:.6g}, and the outcome is {call.label}, which is impossible"
        )
        alike = sum(row[position] == call.u for row in self._rows.values())
        (self.notes if min(call.u, 1 - call.u) <= GRID and alike < OFTEN else self.findings).append(told)


def _in_pieces(calls: Sequence[_Call]) -> bool:
    """Whether each outcome comes in one piece, and none differs at one number."""
    pieces = [label for label, _ in itertools.groupby(one.label for one in calls)]
    return len(pieces) == len(set(pieces)) and not any(one.u == other.u and one.label != other.label for one, other in itertools.pairwise(calls))


def _spans(calls: Sequence[_Call], inside: _Span) -> Iterator[tuple[_Call, _Span]]:
    """Each piece with its first call; the first begins and the last ends where the numbers do."""
    groups = [list(group) for _, group in itertools.groupby(calls, key=lambda one: one.label)]
    for i, group in enumerate(groups):
        first, last = i == 0, i == len(groups) - 1
        yield (
            group[0],
            _Span(
                inside.low if first else group[0].u,
                inside.high if last else group[-1].u,
                inside.least if first else groups[i - 1][-1].u,
                inside.most if last else groups[i + 1][0].u,
            ),
        )
