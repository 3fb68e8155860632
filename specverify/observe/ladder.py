"""Observing a law: explored exactly where that can be; else a screen of one stream while cases are searched, and the confirmation of one case on fresh streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from specverify.contracts import Case, digest
from specverify.law import Comparison, ExactLaw, Law, Outcome, Path
from specverify.observe.exploring import explored
from specverify.observe.keys import stream_key
from specverify.stats import ChiSquared, Ratios, chi_squared, halves, log_e_value, log_ratios
from specverify.subjects.replies import Died, Explored, Raised, Sampled, TimedOut
from specverify.subjects.subject import Subject

NO_COINS = "it declares no coins that could be handed to it"
"""Why most laws are not near-exact."""

LOOSE = 2.0**-10
"""Total variation allowed to rounding up to which an explored law decides alone; half precision is granted a hundred times more, which draws can tell."""
RARE = 1 / 16
"""Mass of an outcome that near-exact laws may miss: the points of a coin's range that a worker tries are at most that far apart."""
FIRST_LOOK = 2_000
"""Draws of a confirmation's first chunk; each chunk doubles what was drawn. A gross fault is sure after the first, and shown to two digits."""


@dataclass(frozen=True)
class Question:
    """What is asked of a law, on one case.

    Attributes:
        right: the law that the projected outcome must follow.
        project: from a stream's outcome to that of `right`; exceptions and malformed results bypass it.
        spans: successive calls that make one outcome.
        alternatives: laws of known faults in the same outcomes, made where draws are held against them.
        keep: "block", "tokens" or "first", counted in batches of copies of the case instead of single calls; then `project` gets tuples of the accepted length and
            the completed tokens, of these tokens, or of the first.
        draws: of its confirmation, where they are not the run's.
        invariant: what to say where `right` is sure of True and any other outcome is a violation; none for a law proper.
    """

    right: Law
    project: Callable[[Outcome], Outcome]
    spans: int = 1
    invariant: str | None = None
    alternatives: Callable[[], Mapping[str, Law]] = dict
    keep: str | None = None
    draws: int | None = None


@dataclass(frozen=True)
class Observed:
    """What draws showed of a law on one case.

    Attributes:
        counts: outcome to draws.
        right: the law that it must follow.
        drawn: number of draws.
        log_e: natural logarithm of the e-value against `right`.
        ratios: of each known fault, natural logarithms of its likelihood ratio to `right`, one per weight.
        chi2: Pearson's test beside it, or none.
        evidence: the rung that answered.
        steps: rungs not taken, with the reason.
        examples: an example of each exception that was drawn.
        outcomes: the same draws as they came, before the question's projection.
    """

    counts: Mapping[Outcome, int]
    right: Law
    drawn: int
    log_e: float
    chi2: ChiSquared | None
    evidence: str = "statistical"
    steps: tuple[tuple[str, str], ...] = ()
    examples: Mapping[str, Raised] = field(default_factory=dict)
    ratios: Ratios = field(default_factory=dict)
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)

    @property
    def found(self) -> Law:
        """Relative frequencies."""
        return Law.empirical(self.counts)


@dataclass(frozen=True)
class Exactly:
    """A law that was explored: no draws, no statistics, no confirmation.

    Attributes:
        law: of the projected outcome.
        right: the law that it must follow.
        comparison: of the two.
        question: what was asked.
        examples: an example of each exception in it.
        outcomes: masses before the question's projection.
    """

    law: ExactLaw
    right: Law
    comparison: Comparison
    question: Question
    examples: Mapping[str, Raised] = field(default_factory=dict)
    evidence: str = "exact"
    steps: tuple[tuple[str, str], ...] = ()
    outcomes: Mapping[Outcome, float] = field(default_factory=dict)

    @property
    def found(self) -> Law:
        """Its probabilities."""
        return Law(self.law.probabilities)


@dataclass(frozen=True)
class Unobserved:
    """The subject's process ended, or gave no answer in time, before there was anything to count."""

    reply: Died | TimedOut


@dataclass(frozen=True)
class Confirmed:
    """A confirmation's end: whether the threshold was reached, and all fresh draws together."""

    sure: bool
    threshold: float
    observed: Observed


def law(subject: Subject, case: Case, question: Question, *, run_key: str, draws: int) -> Exactly | Observed | Unobserved:
    """The exact law of one case where it can be explored; else a screen: `draws` of one stream, seeded by the run key and the case.

    A step's case comes without its draft, which is then drawn from q.
    """
    found = explored(subject, case, question.spans)
    if isinstance(found, Explored):
        seen = _exactly(found, question)
        if not _undecided(seen):
            return seen
    return sampled(subject, case, question, run_key=run_key, draws=draws, steps=_steps(subject, case, question))


def laws(subject: Subject, case: Case, questions: Sequence[Question], *, run_key: str, draws: int) -> list[Exactly | Observed] | Unobserved:
    """`law` for several questions on one case, all of them answered by the same exploration or by one stream."""
    found = explored(subject, case, questions[0].spans)
    known = [_exactly(found, one) for one in questions] if isinstance(found, Explored) else []
    if known and not any(map(_undecided, known)):
        return [*known]
    drawn = subject.sample(case, draws, key=stream_key(run_key, digest(case), f"{subject.label}/screen"), spans=questions[0].spans)
    if isinstance(drawn, (Died, TimedOut)):
        return Unobserved(drawn)
    return [replace(_counted(drawn, one), steps=_steps(subject, case, one)) for one in questions]


def _steps(subject: Subject, case: Case, question: Question) -> tuple[tuple[str, str], ...]:
    """The rungs that give no law of a case, each with the reason; none where one gives it."""
    found = explored(subject, case, question.spans)
    reason = _undecided(_exactly(found, question)) if isinstance(found, Explored) else found.reason
    if not reason:
        return ()
    return (("exact", found.above or reason), ("near-exact", reason if subject.description.rng == "coins" else NO_COINS))


def _undecided(seen: Exactly) -> str:
    """Why draws must decide though the law was explored, or nothing."""
    verdict, tolerance = seen.comparison.verdict, seen.law.tolerance
    if verdict == "open":
        return f"a mass of {seen.law.open_mass:.2g} stays open"
    if seen.evidence == "near-exact" and verdict == "different" and _unmet(seen):
        return "it differs by outcomes alone that were not met, and thin ranges of coins that lead to them can be missed"
    excused = verdict == "rounding" or (verdict == "different" and seen.question.invariant is not None)
    return f"rounding is allowed a total variation of {tolerance:.2g}" if excused and tolerance > LOOSE else ""


def _unmet(seen: Exactly) -> bool:
    """Whether rare outcomes that never came account for all that is off."""
    missing = [mass for outcome, mass in seen.right.probabilities.items() if outcome not in seen.law.probabilities]
    return max(missing, default=1.0) < RARE and not seen.comparison.impossible and seen.comparison.tv - math.fsum(missing) <= seen.law.tolerance


def sampled(subject: Subject, case: Case, question: Question, *, run_key: str, draws: int, steps: tuple[tuple[str, str], ...] = ()) -> Observed | Unobserved:
    """The last rung: draws of one stream, held against the right law."""
    seen = _stream(subject, case, question, stream_key(run_key, digest(case), f"{subject.label}/screen"), draws)
    return replace(seen, steps=steps) if isinstance(seen, Observed) else seen


def _exactly(found: Explored, question: Question) -> Exactly:
    masses: dict[Outcome, float] = {}
    paths: dict[Outcome, Path] = {}
    for outcome, mass in found.law.probabilities.items():
        seen = outcome if is_failure(outcome) else question.project(outcome)
        masses[seen] = masses.get(seen, 0.0) + mass
        if seen not in paths or paths[seen].mass < found.law.paths[outcome].mass:
            paths[seen] = found.law.paths[outcome]
    law = replace(found.law, probabilities=masses, paths=paths)
    compared = law.compare(question.right)
    known = Exactly(law, question.right, compared, question, found.examples, outcomes=found.law.probabilities)
    return known if law.kind != "near-exact" else replace(known, evidence="near-exact", steps=(("exact", found.above),))


def confirm(subject: Subject, case: Case, question: Question, *, run_key: str, draws: int, threshold: float) -> Confirmed | Unobserved:
    """Draw afresh until E reaches `threshold` or `draws` are spent. The chance that a right law reaches it is at most 1 / threshold."""
    counts: dict[Outcome, int] = {}
    outcomes: dict[Outcome, int] = {}
    examples: dict[str, Raised] = {}
    for number, chunk in enumerate(_chunks(draws)):
        part = _stream(subject, case, question, stream_key(run_key, digest(case), f"{subject.label}/confirm/{number}"), chunk)
        if isinstance(part, Unobserved):
            return part
        _add(counts, part.counts)
        _add(outcomes, part.outcomes)
        examples.update(part.examples)
        total = _observed(counts, question, examples)
        if total.log_e >= math.log(threshold):
            break
    told = replace(total, steps=_steps(subject, case, question), outcomes=outcomes)
    return Confirmed(sure=total.log_e >= math.log(threshold), threshold=threshold, observed=told)


def _add(counts: dict[Outcome, int], more: Mapping[Outcome, int]) -> None:
    for outcome, n in more.items():
        counts[outcome] = counts.get(outcome, 0) + n


def _chunks(draws: int) -> Iterator[int]:
    done, chunk = 0, min(FIRST_LOOK, draws)
    while done < draws:
        yield chunk
        done += chunk
        chunk = min(done, draws - done)


def _stream(subject: Subject, case: Case, question: Question, key: int, draws: int) -> Observed | Unobserved:
    sampled = subject.sample(case, draws, key=key, spans=question.spans, keep=question.keep)
    return Unobserved(sampled) if isinstance(sampled, (Died, TimedOut)) else _counted(sampled, question)


def _counted(sampled: Sampled, question: Question) -> Observed:
    counts: dict[Outcome, int] = {}
    for outcome, n in sampled.counts.items():
        seen = outcome if is_failure(outcome) else question.project(outcome)
        counts[seen] = counts.get(seen, 0) + n
    return replace(_observed(counts, question, sampled.examples), outcomes=sampled.counts)


def _observed(counts: Mapping[Outcome, int], question: Question, examples: Mapping[str, Raised]) -> Observed:
    right = question.right
    ratios = log_ratios(counts, right, question.alternatives())
    log_e = halves(log_e_value(counts, right), ratios)
    return Observed(dict(counts), right, sum(counts.values()), log_e, chi_squared(counts, right), examples=dict(examples), ratios=ratios)


def is_failure(outcome: Outcome) -> bool:
    """Whether an outcome is an exception or a malformed result, on its own or in a tuple of successive calls."""
    if not isinstance(outcome, tuple) or not outcome:
        return False
    return outcome[0] in ("raised", "malformed") or any(isinstance(part, tuple) and part[:1] in (("raised",), ("malformed",)) for part in outcome)
