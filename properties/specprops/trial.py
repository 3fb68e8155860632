"""What a property's body may ask of a subject, on one case."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specprops.health import Health
from specprops.known import Together, beside
from specprops.violation import NoAnswer, NotJudged, Row, Violation
from specprops.wrong_law import exact_violation, statistical_violation
from specverify import observe, stats
from specverify.audit.records import Certificate
from specverify.contracts import Case, digest
from specverify.law import Law, Outcome, show_outcome
from specverify.observe import Exactly, Observed, Question, Unobserved, stream_key
from specverify.observe.ladder import is_failure
from specverify.stats import GRID
from specverify.subjects.replies import Died, Malformed, Raised, Reply, TimedOut, Value

if TYPE_CHECKING:
    from specverify.audit.bench import Bench
    from specverify.audit.suite import Property
    from specverify.subjects.subject import Description

FLAG = math.log(1e3)
"""A screen's e-value that makes a case suspect: by chance once in a thousand cases."""
TELLING = math.log(1e6)
"""A suspect that is shrunk, and that ends the search: a smaller case takes its place only if it is as telling, so that a confirmation can
repeat it. Weaker suspects are kept, and the most telling of them is confirmed if the search finds no better."""
STRICT = ("support", "well-formed")
"""Guards that rounding does not excuse."""
OVER_THE_LIMIT = "bad_alloc"
"""What a C++ library prints before it aborts for want of memory."""
OUT_OF_MEMORY = "The subject ran out of the worker's address space; declare `memory=` or give --memory."


@dataclass(frozen=True)
class Recorded:
    """A call as it was made: its case, the key of its seeds, what came back with the raw result in it; `plain` if nothing was put, watched or called twice."""

    case: Case
    key: int
    reply: Reply
    plain: bool


class Trial:
    """Calls and observations of one subject, counted. Seeds are hashes of the run key and the case."""

    def __init__(self, bench: Bench, row: Property) -> None:
        self._bench, self._row = bench, row
        self.rungs: set[str] = set()
        self.draws = 0
        self.injected = False
        self.asked_law = False
        self.remark = ""
        self.last: Observed | None = None
        self.explored: tuple[Case, Question] | None = None
        self.certificate: Certificate | None = None
        self.recorded: list[Recorded] | None = None
        self.together = Together(self.subject.contract)
        self.health = Health(self.subject.contract)

    @property
    def subject(self) -> Description:
        """What the subject says of itself."""
        return self._bench.subject.description

    def call(
        self,
        case: Case,
        *,
        stage: str = "call",
        seed: str | None = None,
        put: tuple[float, int] | None = None,
        watch: bool = False,
        judge: bool = False,
        again: bool = False,
    ) -> Value | Raised | Malformed:
        """One seeded call; `seed` is the stage of the seed that is handed over, if another. The end of the process is a violation, silence ends the search."""
        key, other = self._key(case, stage), self._key(case, seed) if seed is not None else None
        self.draws += 1
        self.injected |= put is not None
        raw = self.recorded is not None
        reply = self._bench.subject.call(case, key=key, seed=other, put=put, watch=watch, judge=judge, again=again, raw=raw)
        if self.recorded is not None:
            self.recorded.append(Recorded(case, key, reply, plain=not (put or watch or again)))
        return self._answered(reply)

    def _key(self, case: Case, stage: str) -> int:
        return stream_key(self._run_key, digest(case), f"{self._row.id}/{stage}")

    def value(self, case: Case, **options: object) -> Value:
        """One call that must give a result of the contract's form."""
        reply = self.call(case, **options)  # type: ignore[arg-type]
        if isinstance(reply, Value):
            return reply
        kind = f"raises {reply.type}" if isinstance(reply, Raised) else "malformed"
        raise Violation(f"The subject {reply}." if isinstance(reply, Raised) else f"The result is malformed: {reply}.", kind=kind)

    def law(self, case: Case, right: Law, project: Callable[[Outcome], Outcome], *, spans: int = 1, draws: int | None = None, known: bool = False) -> None:
        """The law of the projected outcome must be `right`; `draws` are the run's, or fewer where each is slow.

        With `known`, draws are held against the laws of known faults as well, in this case and in all cases of the run together.
        """
        question = Question(right, project, spans)
        self._observe(case, beside(self.subject.contract, case, question) if known else question, draws or self._bench.settings.screen)

    def laws(self, case: Case, views: Sequence[tuple[Law, Callable[[Outcome], Outcome]]], *, draws: int | None = None, fresh: int | None = None) -> None:
        """`law` for several projections of the outcome at once: one stream shows them all, and the one that looks worst is suspect.

        Each of n views is flagged at n times the evidence, so that a screen of all of them is as strict as one of a single law.
        """
        questions = [Question(right, project, draws=fresh) for right, project in views]
        run_key = f"{self._run_key}/{self._row.id}"
        seen = observe.laws(self._bench.subject, case, questions, run_key=run_key, draws=draws or self._bench.settings.screen)
        if isinstance(seen, Unobserved):
            self._answered(seen.reply)
            return
        self.asked_law = True
        self.rungs |= {one.evidence for one in seen}
        drawn = [(one, question) for one, question in zip(seen, questions, strict=True) if isinstance(one, Observed)]
        for one, question in zip(seen, questions, strict=True):
            if isinstance(one, Exactly):
                self.explored = (case, question)
                self._weigh(question, one)
        if drawn:
            self._flag(*max(drawn, key=lambda pair: pair[0].log_e), math.log(len(drawn)))

    def _flag(self, seen: Observed, question: Question, beyond: float) -> None:
        """An observation that looks wrong, as seen among others."""
        self.last = seen
        self.draws += seen.drawn
        _enough_memory(seen)
        if seen.log_e >= FLAG + beyond:
            raise statistical_violation(question, seen)

    def certify(self, case: Case, right: Law, keep: str, space: str, *, draws: int) -> None:
        """Draws in batches of copies, their number fixed before, must follow `right`; then they bound the law's distance from it."""
        settings = self._bench.settings
        draws = math.ceil(draws / settings.shards)
        question = Question(right, lambda outcome: outcome, keep=keep, draws=draws)
        seen = self.look(case, question, draws=draws, stage=f"/{settings.shard}" * (settings.shards > 1))
        self.asked_law, self.last = True, seen
        self.rungs.add(seen.evidence)
        _enough_memory(seen)
        if seen.log_e >= FLAG:
            raise statistical_violation(question, seen)
        counts = tuple((seen.counts.get(outcome, 0), mass) for outcome, mass in sorted(right.probabilities.items())) if settings.shards > 1 else ()
        distance, bound = seen.found.total_variation(right), stats.tv_upper(seen.counts, right, settings.alpha)
        self.certificate = Certificate(space, len(right.probabilities), seen.drawn, distance, bound, settings.alpha, counts)

    def holds(self, case: Case, predicate: Callable[[Outcome], bool], message: str, *, draws: int = 60, fresh: int | None = None) -> None:
        """No draw may violate the predicate; exceptions and malformed results violate every one. A confirmation takes `fresh` draws at most, else the run's."""
        question = Question(Law({True: 1.0}), lambda outcome: True if predicate(outcome) else outcome, draws=fresh, invariant=message)
        self._observe(case, question, draws)

    def _observe(self, case: Case, question: Question, draws: int) -> None:
        seen = observe.law(self._bench.subject, case, question, run_key=f"{self._run_key}/{self._row.id}", draws=draws)
        if isinstance(seen, Unobserved):
            self._answered(seen.reply)
            return
        if question.spans == 1:
            self.health.outcomes(case, seen)
        self.asked_law = self.asked_law or question.invariant is None
        self.rungs.add(seen.evidence)
        if isinstance(seen, Exactly):
            self.explored = (case, question) if question.invariant is None else self.explored
            self._weigh(question, seen)
            return
        if seen.ratios:
            self.together.add(case, seen)
        self._flag(seen, question, 0.0)

    def _weigh(self, question: Question, seen: Exactly) -> None:
        """An explored law: beyond rounding it is wrong; what only the bounds of a generator's range show is left to the properties that look there."""
        _enough_memory(seen)
        if question.invariant is None:
            wrong = seen.comparison.verdict == "different"
        else:
            slack = GRID if self._row.guards in STRICT else max(GRID, seen.law.tolerance)
            wrong = math.fsum(seen.comparison.impossible.values()) > slack
        if wrong:
            raise exact_violation(question, seen)

    def impossible(self, case: Case, wrong: Callable[[Outcome], str | None]) -> tuple[str, float, Exactly] | None:
        """What goes wrong in the explored law of a case, in words, with its mass; no mass if nothing does; none if the law cannot be explored."""
        seen = observe.law(self._bench.subject, case, Question(Law({"": 1.0}), lambda outcome: wrong(outcome) or ""), run_key="", draws=0)
        if not isinstance(seen, Exactly):
            return None
        self.rungs.add(seen.evidence)
        told = max(seen.comparison.impossible, key=seen.comparison.impossible.__getitem__, default="")
        return (show_outcome(told), math.fsum(seen.comparison.impossible.values()), seen)

    def decisions(self, case: Case) -> None:
        """Each decision must be the one that the numbers of the subject's own generator make; what they do not explain accuses nobody."""
        seen = self._bench.subject.decide(case)
        if not isinstance(seen, dict):
            self._answered(seen)
            return
        self.draws += seen["calls"]
        if seen["unread"]:
            raise NotJudged(f"the numbers of peek do not explain what it does: {seen['unread']}")
        self.remark = f"borders are known to {seen['open']:.2g} in all" + "".join(f"; {note}" for note in seen["notes"])
        if seen["findings"]:
            raise Violation(
                f"By the numbers that its own peek tells, {seen['findings'][0]}", tuple(Row(one, "", "") for one in seen["findings"][1:]), kind="decision"
            )

    def look(self, case: Case, question: Question, *, draws: int | None = None, stage: str = "") -> Observed:
        """The screen's draws of a case, to be described and not judged."""
        draws = draws or self._bench.settings.screen
        seen = observe.sampled(self._bench.subject, case, question, run_key=f"{self._run_key}/{self._row.id}{stage}", draws=draws)
        if isinstance(seen, Unobserved):
            self._answered(seen.reply)
        assert isinstance(seen, Observed)
        self.draws += seen.drawn
        return seen

    @property
    def budgets(self) -> tuple[int, int]:
        """Draws of a first look, and of a thorough one."""
        return self._bench.settings.screen, self._bench.settings.draws

    def beheld(self, case: Case, question: Question, draws: int) -> Exactly | Observed:
        """The law of a case, explored or drawn afresh, to be described and not judged."""
        seen = observe.law(self._bench.subject, case, question, run_key=f"{self._run_key}/{self._row.id}/beheld/{draws}", draws=draws)
        if isinstance(seen, Unobserved):
            self._answered(seen.reply)
        assert isinstance(seen, (Exactly, Observed))
        self.draws += seen.drawn if isinstance(seen, Observed) else 0
        return seen

    def contradicted(self, case: Case, seen: Exactly) -> bool:
        """Whether draws speak against an explored law, as strongly as a finding must: then something that is not followed decides too."""
        question = replace(seen.question, right=Law.of(seen.law.probabilities), invariant=None, alternatives=dict)
        return self.look(case, question).log_e >= math.log(self._bench.settings.threshold)

    def confirm(self, case: Case, question: Question) -> observe.Confirmed | Unobserved:
        """Ask again on fresh streams, against the threshold of the run; the end of the process is a violation here too."""
        settings = self._bench.settings
        run_key, subject = f"{self._run_key}/{self._row.id}", self._bench.subject
        done = observe.confirm(subject, case, question, run_key=run_key, draws=question.draws or settings.draws, threshold=settings.threshold)
        if isinstance(done, observe.Confirmed):
            self.draws += done.observed.drawn
            _enough_memory(done.observed)
        else:
            self._answered(done.reply)
        return done

    @property
    def _run_key(self) -> str:
        return self._bench.settings.run_key

    def _answered(self, reply: Reply) -> Value | Raised | Malformed:
        if isinstance(reply, Died) and OVER_THE_LIMIT in reply.output:
            raise NoAnswer(OUT_OF_MEMORY)
        if isinstance(reply, Died):
            raise Violation(f"The subject {reply}.", kind="died")
        if isinstance(reply, TimedOut):
            raise NoAnswer(f"The subject {reply}.")
        if isinstance(reply, Raised) and reply.type == "MemoryError":
            raise NoAnswer(OUT_OF_MEMORY)
        return reply

    def dispose(self) -> None:
        """End the worker after injected draws: a subject that draws a stock ahead would hand them out later."""
        if self.injected:
            self._bench.subject.worker.close()


def _enough_memory(seen: Observed | Exactly) -> None:
    """Running out of our own limit accuses nobody."""
    parts = [part for outcome in seen.found.probabilities if is_failure(outcome) for part in (outcome, *outcome) if isinstance(part, tuple)]
    if ("raised", "MemoryError") in parts:
        raise NoAnswer(OUT_OF_MEMORY)
