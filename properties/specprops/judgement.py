"""How a property is judged on one subject: it searches cases, confirms what is statistical, and writes what it found."""

from __future__ import annotations

import datetime
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from specprops import recording
from specprops.trial import FLAG, TELLING, Trial
from specprops.violation import NoAnswer, NotJudged, Violation
from specprops.wrong_law import statistical_violation, table
from specverify import observe
from specverify.audit import records
from specverify.audit.config import expired
from specverify.contracts import Case, digest
from specverify.errors import SpecverifyError, Unloadable
from specverify.observe import Confirmed, Exactly, Observed, Question, stream_key
from specverify.report.text import finding_text, power_of_ten

if TYPE_CHECKING:
    from specprops.suite import Claim, Scope
    from specverify.audit.bench import Bench

SHRINK_CASES = 120
"""Cases beyond the search that a shrinker may judge; then it keeps what it has."""
DEATHS = 4
"""Ends of the process that one property may cause; each restart imports the subject again."""
CHUNK = 64
"""Cases of a scope in one request."""


@dataclass(frozen=True)
class Suspect:
    """A case that violates the property, or looks as if."""

    case: Case
    violation: Violation

    @property
    def log_e(self) -> float:
        """How strongly its draws speak; infinite where no statistics are needed."""
        seen = self.violation.observed
        return seen.log_e if isinstance(seen, Observed) else math.inf

    @property
    def telling(self) -> bool:
        """Whether it ends the search."""
        return self.log_e >= TELLING


class Undecided(Exception):
    """The property ends without an answer: `status` is inconclusive, unconfirmed, lost or not applicable."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Judgement:
    """One property on one subject."""

    def __init__(self, claim: Claim, bench: Bench) -> None:
        again = (bench.replays or {}).get(claim.row.id)
        self.claim, self.row, self.bench = claim if again is None else claim.on(again), claim.row, bench
        self.trial = Trial(bench, claim.row)
        self.seen: dict[str, Violation | None] = {}
        self.suspects: list[Suspect] = []
        self.stopped: Undecided | None = None
        self.deaths = 0
        self.cut = self.quiet = False
        self.started = time.monotonic()

    def run(self) -> None:
        """Judge, record, and fail the pytest test where the claim is broken or stays undecided."""
        excluded = self.claim.excluded(self.bench.subject.description)
        if excluded is not None:
            self._end("not applicable", excluded)
            pytest.skip(excluded)
        blocker = self.bench.blocker(self.row.after)
        if blocker is not None:
            self._end("blocked", blocker)
            pytest.skip(f"blocked by {blocker}")
        found, ending = self._judged()
        if ending is not None:
            self._end(ending.status, ending.reason)
            if ending.status == "not applicable":
                pytest.skip(ending.reason)
            if ending.status != "unconfirmed":
                pytest.fail(f"{self.row.id} [{self.bench.subject.label}] is inconclusive: {ending.reason}", pytrace=False)
        elif found is not None:
            self._report(found)
        else:
            self._end("ok", self.trial.remark)

    def _judged(self) -> tuple[Suspect | None, Undecided | None]:
        """What was found, or why there is no answer; an error of our own is recorded before it goes on."""
        try:
            return self._decided(), None
        except Undecided as ending:
            return None, ending
        except Exception as error:
            self._end("inconclusive", f"internal error, {type(error).__name__}: pytest's log tells where")
            raise
        finally:
            self.trial.dispose()

    def _decided(self) -> Suspect | None:
        """What one case shows; else what all of them show together."""
        try:
            found = self._found()
        except Undecided as ending:
            together = self._together() if ending.status == "unconfirmed" else None
            if together is None:
                raise
            return together
        return found or self._together()

    def _together(self) -> Suspect | None:
        """A known fault that the draws of all cases follow, though no case shows it alone: it is confirmed by as strong evidence as a single case would need."""
        together, settings = self.trial.together, self.bench.settings
        if together.leading is None or settings.shards > 1 or together.log_e < math.log(settings.threshold):
            return None  # of shards, all of them together are judged when they are added up
        case, seen = together.leading
        observed = replace(seen, log_e=together.log_e, drawn=together.drawn)
        return Suspect(case, Violation(together.process.told, table(Question(seen.right, lambda outcome: outcome), seen), kind="together", observed=observed))

    def _found(self) -> Suspect | None:
        """The violation to report, confirmed where it is statistical; none if nothing looks wrong."""
        subject = self.bench.subject.description
        found = self._search_first(self.claim.first(subject))
        told = self.trial.explored
        if found is None and self.claim.scope is not None and self.bench.settings.scope != "none" and observe.explorable(self.bench.subject):
            found = self._exhaust(self.claim.scope)
        if found is None and self.claim.cases is not None and self.stopped is None:
            found = self._search(self.claim.cases(subject))
        if found is None and self.trial.together.leading is not None and self.stopped is None:
            found = self._search_first(self.claim.alike(subject))
        if found is None and self.stopped is not None:
            raise self.stopped
        if found is None and self.suspects:
            found = max(self.suspects, key=lambda suspect: suspect.log_e)
        if found is None and self.claim.drawn_too and told is not None and "statistical" not in self.trial.rungs:
            found = self._drawn_too(*told)
        if found is not None and isinstance(found.violation.observed, Exactly) and self._contradicted(found, found.violation.observed):
            return self._found()
        return self._confirmed(found) if found is not None and found.violation.question is not None else found

    def _drawn_too(self, case: Case, question: Question) -> Suspect | None:
        """An explored law that is right, held against draws."""
        try:
            seen = self.trial.look(case, question)
        except Violation as violation:
            return Suspect(case, violation)
        except (NoAnswer, SpecverifyError) as event:
            raise _undecided(event) from event
        return Suspect(case, statistical_violation(question, seen)) if seen.log_e >= FLAG else None

    def _contradicted(self, found: Suspect, seen: Exactly) -> bool:
        """Whether draws do not follow the explored law; then the subject's explored laws count no more, and the search begins anew."""
        try:
            if not self.trial.contradicted(found.case, seen):
                return False
        except (Violation, NoAnswer, SpecverifyError):
            return False
        observe.distrust(self.bench.subject, "draws do not follow the explored law: a hidden state, or a source of randomness that is not followed")
        self.seen, self.suspects = {}, []
        self.trial.rungs, self.trial.explored = set(), None
        return True

    def _search_first(self, cases: Sequence[Case]) -> Suspect | None:
        """The first telling suspect among the given cases."""
        return next((suspect for case in cases if (suspect := self._examine(case)) is not None and suspect.telling), None)

    def _exhaust(self, scope: Scope) -> Suspect | None:
        """Judge all small cases, in order, many to a request; only what is wrong is noted one by one."""
        name = self.bench.settings.scope
        waiting = iter(scope.cases(self.bench.subject.description, name))
        self.quiet = True
        while (chunk := list(itertools.islice(waiting, CHUNK))) and observe.explorable(self.bench.subject):
            observe.foresee(self.bench.subject, chunk, probe=1)
            found = self._search_first(chunk)
            if found is not None:
                return found
        self.quiet = False
        if not chunk:
            self.trial.remark = f"exhausted: {scope.told(name)}"
        return None

    def _search(self, strategy: st.SearchStrategy[Case]) -> Suspect | None:
        """Let Hypothesis look for a telling suspect and shrink it; its seed is a hash of the run key, the property and the subject."""
        worst: list[Suspect] = []
        budget = len(self.seen) + self.claim.limit + SHRINK_CASES

        @hypothesis.seed(stream_key(self.bench.settings.run_key, self.bench.subject.label, self.row.id))
        @hypothesis.settings(
            max_examples=self.claim.limit, database=None, deadline=None, derandomize=False, report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck), print_blob=False,
        )  # fmt: skip
        @hypothesis.given(strategy)
        def search(case: Case) -> None:
            if len(self.seen) >= budget and digest(case) not in self.seen:
                self.cut = True
                return
            suspect = self._examine(case)
            if suspect is not None and suspect.telling:
                worst.append(suspect)
                raise suspect.violation.with_traceback(None)

        try:
            search()
        except Violation:
            return worst[-1]
        return None

    def _examine(self, case: Case) -> Suspect | None:
        """Judge a case once: its answer is kept, so that the search sees a function of the case."""
        name = digest(case)
        if not self.suspects and not self.bench.settings.mine(name):
            return None  # another shard's; a shrinker's cases are judged where it shrinks
        if name not in self.seen:
            self.seen[name] = self._judge(case)
            if (violation := self.seen[name]) is not None:
                self.suspects.append(Suspect(case, violation))
        violation = self.seen[name]
        return None if violation is None else Suspect(case, violation)

    def _judge(self, case: Case) -> Violation | None:
        if self.stopped is not None or self.deaths >= DEATHS:
            self.cut = True
            return None
        self.trial.last = None
        try:
            self.claim.body(self.trial, case)
        except Violation as violation:
            if self.bench.subject.leaves_company():
                return self._judge(case)
            self.deaths += violation.kind == "died"
            self._note(case, "suspect" if violation.question else "violated", violation.observed)
            return violation
        except (NoAnswer, NotJudged, SpecverifyError) as event:
            if self.bench.subject.leaves_company():
                return self._judge(case)
            self.stopped = _undecided(event)
            self._note(case, "no answer", None)
            return None
        self._note(case, "ok", self.trial.last)
        return None

    def _confirmed(self, suspect: Suspect) -> Suspect:
        """The suspect with fresh draws in its table."""
        assert suspect.violation.question is not None
        try:
            done = self.trial.confirm(suspect.case, suspect.violation.question)
        except Violation as violation:  # the process ended: no statistics are needed for that
            return Suspect(suspect.case, violation)
        except (NoAnswer, SpecverifyError) as event:
            raise _undecided(event) from event
        assert isinstance(done, Confirmed)
        self._note(suspect.case, "confirmed" if done.sure else "not confirmed", done.observed, done.threshold)
        if not done.sure:
            seen = f"one case looked wrong in its screen; {done.observed.drawn:,} fresh draws did not confirm it"
            raise Undecided("unconfirmed", f"{seen} (E = {power_of_ten(done.observed.log_e)})")
        return Suspect(suspect.case, statistical_violation(suspect.violation.question, done.observed))

    def _report(self, found: Suspect) -> None:
        finding = recording.finding(self.claim, self.trial, self.bench, found.case, found.violation, smallest=not self.cut)
        self.bench.write(finding)
        breaks = finding.severity == "finding" or finding.severity in self.bench.settings.fail_on
        self._end("failed" if breaks else finding.severity, finding.id)
        if breaks and (known := self._known(finding.id)) is not None:
            pytest.xfail(f"known finding {finding.id}: {known.reason}")
        if breaks:
            pytest.fail(finding_text(finding), pytrace=False)

    def _known(self, id_: str) -> records.Known | None:
        """The entry of the configuration that accepts a finding today."""
        today = datetime.datetime.now(tz=datetime.UTC).date()
        return next((one for one in self.bench.settings.known if one.finding == id_ and not expired(one, today)), None)

    def _note(self, case: Case, result: str, observed: Observed | Exactly | None, threshold: float | None = None) -> None:
        if self.quiet and result == "ok":
            return
        self.bench.write(records.CaseRecord(self.bench.subject.label, self.row.id, digest(case), result, recording.statistics(observed, threshold)))

    def _evidence(self) -> str:
        """The weakest rung that answered."""
        if self.trial.rungs:
            return next((rung for rung in ("statistical", "near-exact") if rung in self.trial.rungs), "exact")
        return "statistical" if self.row.statistical else recording.beyond_laws(self.row)

    def _end(self, status: str, reason: str = "") -> None:
        row, subject, together = self.row, self.bench.subject, self.trial.together
        if together.leading is not None:
            self.bench.write(recording.together(subject.label, row.id, together))
        self.bench.write(
            records.PropertyRecord(
                subject=subject.label, contract=row.contract, property=row.id, sentence=row.sentence, guards=row.guards, status=status,
                evidence=self._evidence(), reason=records.clean(reason), law=self.trial.asked_law,
                certificate=self.trial.certificate, signs=self.trial.health.signs, speed=self.trial.health.speed, cases=len(self.seen), draws=self.trial.draws, seconds=round(time.monotonic() - self.started, 3),
            )
        )  # fmt: skip


def _undecided(event: Exception) -> Undecided:
    """A worker that does not come back is lost; silence and want of memory are inconclusive; what cannot be judged does not apply."""
    if isinstance(event, NotJudged):
        return Undecided("not applicable", str(event))
    if isinstance(event, SpecverifyError):
        return Undecided("lost" if isinstance(event, Unloadable) else "inconclusive", event.message)
    return Undecided("inconclusive", str(event))
