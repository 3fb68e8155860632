"""Candidates called in a worker, under the few conventions of their contracts: which one behaves like its contract, which has only its shape."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from specverify.contracts import CONTRACTS, Case
from specverify.discover.answers import ANSWERS, CLOSE, Answer, far, tokens_of
from specverify.discover.bindings import Binding, bindings, missing
from specverify.discover.scoring import Candidate
from specverify.discover.writing import body, import_folder
from specverify.errors import SpecverifyError
from specverify.law import Law
from specverify.subjects.replies import Explored, Sampled, Value
from specverify.subjects.source import Source
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Limits, Worker

SCREEN, CLEARLY = 200, 0.3
"""Draws of a first look, and the total variation at which no second one is needed: nine outcomes move by 0.1 in 200 draws."""
DRAWS = 4_000
LOOSE = 0.05
"""Total variation of a sampled law that passes: nine outcomes move by 0.02 in 4,000 draws, and the audit is what judges."""
FITS = 0.5
"""Share of a law that must be outcomes of the contract's form."""
RIGHT, OTHER, UNFIT, UNTRIED = "fits", "fits, gives another value", "does not fit", "not tried"


@dataclass(frozen=True)
class Tried:
    """What came of a candidate.

    Attributes:
        verdict: RIGHT, OTHER, UNFIT or UNTRIED.
        why: in words: the convention, what came instead, why not.
        binding: the way in which it is called, where it fits.
    """

    candidate: Candidate
    verdict: str
    why: str = ""
    binding: Binding | None = None


def tried(found: Sequence[Candidate], root: Path, python: str = sys.executable, limits: Limits | None = None) -> list[Tried]:
    """What came of each candidate, in their order; a worker for each file of the checkout."""
    files = list(dict.fromkeys(one.symbol.file for one in found if not missing(one)))
    results = {
        (one.candidate.symbol.file, one.candidate.symbol.name, one.candidate.contract): one
        for file in files
        for one in _of_a_file(file, found, root, python, limits)
    }
    return [results.get((one.symbol.file, one.symbol.name, one.contract)) or Tried(one, UNTRIED, missing(one)) for one in found]


def _of_a_file(file: str, found: Sequence[Candidate], root: Path, python: str, limits: Limits | None) -> Iterator[Tried]:
    mine = [one for one in found if one.symbol.file == file and not missing(one)]
    ways = {f"{number}/{at}": way for number, one in enumerate(mine) for at, way in enumerate(bindings(one))}
    with tempfile.TemporaryDirectory(prefix="specverify-") as folder:
        path = Path(folder, "candidates.py")
        path.write_text(body(list(ways.values()), root, list(ways)))
        worker = Worker(Source(file, python, file=str(path), folders=(str(import_folder(root, file)),)), limits or Limits(call_seconds=5.0))
        try:
            told = {one.name: one for one in load(worker)[0]}
            for number, one in enumerate(mine):
                subjects = [(way, Subject(name, told[name], worker)) for name, way in ways.items() if name.startswith(f"{number}/")]
                yield _best(one, subjects)
        except SpecverifyError as error:
            yield from (Tried(one, UNTRIED, error.message) for one in mine)
        finally:
            worker.close()


def _best(candidate: Candidate, subjects: Sequence[tuple[Binding, Subject]]) -> Tried:
    """The first way in which it is right, else that in which it is least wrong."""
    nearest: tuple[float, Binding | None] = (math.inf, None)
    why = ""
    for binding, subject in subjects:
        distance, told = _off(subject)
        why = why or told
        if distance == 0:
            return Tried(candidate, RIGHT, binding.way.words, binding)
        if distance < nearest[0]:
            nearest = (distance, binding)
    if nearest[1] is None:
        return Tried(candidate, UNFIT, why)
    return Tried(candidate, OTHER, nearest[1].way.words, nearest[1])


def _off(subject: Subject) -> tuple[float, str]:
    """How far from right: 0 within rounding, infinite where it does not fit, and then why."""
    name = subject.contract.name
    if subject.description.problem is not None:
        return math.inf, subject.description.problem
    if name == "seeding":
        return _seeding(subject)
    offs = [_of_a_law(subject, one) if one.law is not None else _of_a_value(subject, one) for one in ANSWERS[name]]
    whys = [why for _, why in offs if why]
    return (math.inf, whys[0]) if whys else (max(off for off, _ in offs), "")


def _of_a_value(subject: Subject, answer: Answer) -> tuple[float, str]:
    reply = subject.call(answer.case, key=1)
    if not isinstance(reply, Value):
        return math.inf, str(reply)
    distance = far(reply.outcome, answer)
    return 0.0 if distance <= CLOSE else min(distance, sys.float_info.max), ""


def _of_a_law(subject: Subject, answer: Answer) -> tuple[float, str]:
    dull = subject.call(CONTRACTS[subject.contract.name].smoke, key=1)
    if not isinstance(dull, Value):
        return math.inf, str(dull)
    assert answer.law is not None
    look = _drawn(subject, answer.case, SCREEN)
    if look is None:
        return math.inf, "it does not answer many calls in turn"
    if math.fsum(mass for outcome, mass in look.probabilities.items() if _is_well_formed(outcome)) < FITS:
        return math.inf, "most of its results are not of the contract's form"
    distance = look.project(tokens_of).total_variation(answer.law)
    if distance > CLEARLY:
        return distance, ""
    law, close = _law(subject, answer.case)
    distance = law.project(tokens_of).total_variation(answer.law)
    return 0.0 if distance <= close else distance, ""


def _law(subject: Subject, case: Case) -> tuple[Law, float]:
    """Its law, exact or of a stream, and the total variation up to which it passes; no law where it does not answer."""
    (explored,) = subject.laws([case])
    if isinstance(explored, Explored):
        return Law(explored.law.probabilities), CLOSE + explored.law.open_mass
    return _drawn(subject, case, DRAWS) or Law({}), LOOSE


def _drawn(subject: Subject, case: Case, n: int) -> Law | None:
    drawn = subject.sample(case, n, key=1)
    return Law.empirical(drawn.counts) if isinstance(drawn, Sampled) else None


def _is_well_formed(outcome: object) -> bool:
    return not (isinstance(outcome, tuple) and bool(outcome) and isinstance(outcome[0], str))


def _seeding(subject: Subject) -> tuple[float, str]:
    """Whether equal seeds give equal draws and another seed others, in each generator: the share of those that it does not seed."""
    first, second, other = (subject.call({**CONTRACTS["seeding"].smoke, "seed": seed}, key=key) for key, seed in ((1, 1), (2, 1), (3, 2)))
    if not (isinstance(first, Value) and isinstance(second, Value) and isinstance(other, Value)):
        return math.inf, str(next(one for one in (first, second, other) if not isinstance(one, Value)))
    seeded = [a == b != c for a, b, c in zip(first.outcome, second.outcome, other.outcome, strict=True)]
    return (math.inf, "seeds no generator") if not any(seeded) else (1 - sum(seeded) / len(seeded), "")
