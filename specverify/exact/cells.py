"""The space of opaque code's draws, cut into cells on which it does the same: draw by draw, for some fixed completions by the later ones."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from specverify.exact.asking import Asked, Point, Spent
from specverify.exact.coordinates import HINT, Draw, Fineness, Piece
from specverify.exact.searches import Question, Signature, together
from specverify.exact.space import NotExact
from specverify.law import Outcome

RANDOM = 4
"""Random completions beside the even ones: low draws, then high ones, which accept up to a place and reject there."""
LOW = 2.0**-20
"""Where even completions stand, and their distance from 1: what is accepted or refused at all is so there."""
REVISIONS = 6
"""Times that cells are cut anew with completions that contradicted; a function of single draws is settled after one or two."""
COMPLETIONS = 16
"""New completions at a time; each costs a share of all calls."""
REPEATED = 32
"""Points asked twice before anything else."""
THIN = 2.0**-40
"""Mass of a cell below which no random point of it is asked: floating point may not separate it."""


@dataclass(frozen=True)
class Cell:
    """Pieces of the first draws, or of all of them, and the mass that they have together."""

    pieces: tuple[Piece, ...] = ()
    mass: float = 1.0

    @property
    def at(self) -> Point:
        """A point well inside."""
        return tuple(piece.at for piece in self.pieces)

    @property
    def outcome(self) -> Outcome:
        """What comes out, if all draws are there."""
        (outcome,) = self.pieces[-1].signature
        return outcome

    def scattered(self, rng: random.Random) -> Point:
        """A random point."""
        return tuple(piece.scattered(rng) for piece in self.pieces)

    def inside(self, piece: Piece) -> Cell:
        """Cut to a piece of the next draw."""
        return Cell((*self.pieces, piece), self.mass * piece.mass)


@dataclass
class Cut:
    """What one pass found.

    Attributes:
        cells: of all draws.
        open: masses that were not reached.
        most: for each draw, the most pieces it was cut into.
        places: for each draw, the places of the outcome that it decides, where one draw decides several.
    """

    cells: list[Cell] = field(default_factory=list)
    open: list[float] = field(default_factory=list)
    most: dict[int, int] = field(default_factory=dict)
    places: dict[int, set[tuple[int, ...]]] = field(default_factory=dict)

    def note(self, draw: int, pieces: Sequence[Piece]) -> None:
        """Remember how a draw was cut."""
        self.most[draw] = max(self.most.get(draw, 0), len(pieces))
        for seen in zip(*(piece.signature for piece in pieces), strict=True):
            places = {_place(a, b) for a, b in itertools.pairwise(seen) if a != b and not (_failed(a) or _failed(b))}
            if len(places) > 1:
                self.places.setdefault(draw, set()).update(places)


class Space:
    """The code's draws and all that is asked of it.

    Args:
        asked: the code.
        fineness: how closely a draw is looked at.
        probe: random points asked of each cell at the end.
        breadth: cells cut at once.
    """

    def __init__(self, asked: Asked, fineness: Fineness, probe: int, breadth: int) -> None:
        self.asked, self.fineness, self.probe, self.breadth = asked, fineness, probe, breadth
        self.spec: Sequence[Draw] = asked.spec
        self.rng = random.Random(len(self.spec))
        even = [tuple(one.even(LOW if i < n else 1 - LOW) for i, one in enumerate(self.spec)) for n in range(len(self.spec) + 1)]
        self.completions: list[Point] = [*even, *(self._anywhere() for _ in range(RANDOM))]
        self.tried: list[Point] = []

    def cut(self) -> Cut:
        """Cut, ask random points, cut anew where they contradict.

        Raises:
            NotExact: the same draws give other outcomes, or cells cannot be found.
        """
        self._same_again([*self.completions, *(self._anywhere() for _ in range(REPEATED))])
        for _ in range(REVISIONS):
            found = self._pass()
            contradicting = self._contradicting(found)
            if not contradicting:
                self._same_again([cell.at for cell in found.cells])
                return found
            self.completions += contradicting[:COMPLETIONS]
            self.tried += contradicting[:COMPLETIONS]
        raise NotExact("Its decisions do not come down to intervals of single draws, as where a border depends on another draw.", hint=HINT)

    def _anywhere(self) -> Point:
        return tuple(one.anywhere(self.rng) for one in self.spec)

    def _same_again(self, points: Sequence[Point]) -> None:
        """The same points twice, in two orders: what else decides shows."""
        try:
            same = self.asked.afresh(points) == self.asked.afresh(points[::-1])[::-1]
        except Spent:
            return
        if not same:
            refused = NotExact("The same draws give another outcome: a hidden state, other randomness, or numbers behind those it was given.", hint=HINT)
            refused.hidden = True
            raise refused

    def _contradicting(self, found: Cut) -> list[Point]:
        """Random points of cells where another outcome comes than at the point that stands for them."""
        likely = [cell for cell in found.cells if cell.mass >= THIN]
        points = [(cell.scattered(self.rng), cell.outcome) for _ in range(self.probe) for cell in likely]
        try:
            seen = self.asked.outcomes([point for point, _ in points])
        except Spent:
            return []
        return [point for (point, outcome), other in zip(points, seen, strict=True) if outcome != other]

    def _pass(self) -> Cut:
        """From the first draw to the last, the heaviest cells first."""
        found, heap, counter = Cut(), [(-1.0, 0, Cell())], itertools.count(1)
        while heap:
            cells = [heapq.heappop(heap)[2] for _ in range(min(self.breadth, len(heap)))]
            try:
                parts = self._pieces(cells)
            except Spent:
                found.open = [cell.mass for cell in cells] + [-mass for mass, _, _ in heap]
                return found
            for cell, pieces in zip(cells, parts, strict=True):
                found.note(len(cell.pieces), pieces)
                for inner in map(cell.inside, pieces):
                    if len(inner.pieces) == len(self.spec):
                        found.cells.append(inner)
                    else:
                        heapq.heappush(heap, (-inner.mass, next(counter), inner))
        return found

    def _pieces(self, cells: Sequence[Cell]) -> list[list[Piece]]:
        """The next draw of each cell in pieces; all cells are asked together."""
        search = together([self._completed(cell) for cell in cells])
        answers: list[Outcome] | None = None
        while True:
            try:
                points = search.send(answers)  # type: ignore[arg-type]  # a generator is started with None
            except StopIteration as end:
                pieces: list[list[Piece]] = end.value
                return pieces
            answers = self.asked.outcomes(points)

    def _completed(self, cell: Cell) -> Generator[list[Point], list[Outcome], list[Piece]]:
        """The search for the pieces of a cell's next draw, its questions with the draws before and each completion behind."""
        draw, before = len(cell.pieces), cell.at
        behind = list(dict.fromkeys(one[draw + 1 :] for one in self.completions))
        search = self.spec[draw].pieces(self.fineness, [one[draw] for one in self.tried])
        answers: list[Signature] | None = None
        while True:
            try:
                questions: list[Question] = search.send(answers)  # type: ignore[arg-type]
            except StopIteration as end:
                pieces: list[Piece] = end.value
                return pieces
            places = [range(len(behind)) if one.places is None else one.places for one in questions]
            outcomes = iter((yield [(*before, one.value, *behind[place]) for one, mine in zip(questions, places, strict=True) for place in mine]))
            answers = [tuple(next(outcomes) for _ in mine) for mine in places]


def _failed(outcome: Outcome) -> bool:
    return isinstance(outcome, tuple) and (outcome[:1] == ("raised",) or any(map(_failed, outcome)))


def _place(one: Outcome, other: Outcome) -> tuple[int, ...]:
    """The first place where two outcomes differ, as indices from the outside in."""
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return ()
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return (place, *_place(a, b))
    return (min(len(one), len(other)),)
