"""Making a test of a property: it searches cases, confirms what is statistical, and writes what it found.

    @prop("POS-002", "The result is …", source="2211.17192, section 2.3", guards="position", cases=differences)
    def test_value(trial: Trial, case: Case) -> None: ...

The decorated name is a pytest test with one argument, `bench`, which specverify's plugin fills once per subject of the contract.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from specprops.trial import TELLING, Trial, statistical_violation
from specprops.violation import NoAnswer, Violation
from specverify.audit import records
from specverify.audit.suite import Property
from specverify.contracts import CONTRACTS, Case, digest
from specverify.observe import Observed, Unobserved, stream_key
from specverify.report.text import finding_text

if TYPE_CHECKING:
    from specverify.audit.bench import Bench
    from specverify.subjects.subject import Description

Body = Callable[[Trial, Case], None]
SHRINK_CASES = 120
"""Cases beyond the search that a shrinker may judge; then it keeps what it has."""
DEATHS = 4
"""Ends of the process that one property may cause; each restart imports the subject again."""

PROPERTIES: list[Property] = []
"""Every property, in the order of its module; `properties.json` is made from it."""


def prop(  # noqa: PLR0913  a property is described in one place
    id_: str,
    sentence: str,
    *,
    source: str,
    guards: str,
    cases: Callable[[Description], st.SearchStrategy[Case]] | None = None,
    first: Callable[[Description], Sequence[Case]] = lambda _: (),
    after: tuple[str, ...] = (),
    statistical: bool = False,
    severity: str = "finding",
    limit: int = 40,
    applies: Callable[[Description], str | None] = lambda _: None,
) -> Callable[[Body], Callable[[Bench], None]]:
    """Register a property and make its test.

    Args:
        id_: permanent id; its prefix names the contract.
        sentence: the claim, for a reader.
        source: paper and section, or the page of theory.
        guards: what a violation breaks: joint, position, support, greedy, well-formed, pathwise, bitwise, hygiene, efficiency.
        cases: strategy of cases for a subject.
        first: small telling cases that are tried before, smallest first.
        after: ids that must hold first.
        statistical: whether it takes a share of alpha; then every violation is confirmed on fresh draws.
        severity: finding, grid or advisory.
        limit: how many cases are searched.
        applies: why it does not apply to a subject, or none.
    """
    contract = next(name for name, one in CONTRACTS.items() if one.prefix == id_.partition("-")[0])

    def decorate(body: Body) -> Callable[[Bench], None]:
        row = Property(id_, contract, sentence, source, guards, after, statistical, severity, body.__name__)
        PROPERTIES.append(row)

        def test(bench: Bench) -> None:
            Judgement(row, body, bench).run(cases, first, limit, applies)

        test.__name__, test.__qualname__, test.__doc__, test.__module__ = body.__name__, body.__qualname__, sentence, body.__module__
        test.specverify_property = row  # type: ignore[attr-defined]
        return test

    return decorate


class Judgement:
    """One property on one subject."""

    def __init__(self, row: Property, body: Body, bench: Bench) -> None:
        self.row, self.body, self.bench = row, body, bench
        self.trial = Trial(bench, row.id)
        self.seen: dict[str, Violation | None] = {}
        self.stopped: str | None = None
        self.deaths = 0
        self.started = time.monotonic()

    def run(
        self,
        cases: Callable[[Description], st.SearchStrategy[Case]] | None,
        first: Callable[[Description], Sequence[Case]],
        limit: int,
        applies: Callable[[Description], str | None],
    ) -> None:
        """Judge, record, and fail the pytest test where the claim is broken."""
        described = self.bench.subject.description
        reason = applies(described) if self.row.promised_by(described.claim) else f"the claim {described.claim} does not promise it"
        if reason is not None:
            self._end("not applicable", reason)
            pytest.skip(reason)
        blocker = self.bench.blocker(self.row.after)
        if blocker is not None:
            self._end("blocked", blocker)
            pytest.skip(f"blocked by {blocker}")
        worst = self._search_first(first(described))
        if worst is None and cases is not None and self.stopped is None:
            worst = self._search(cases(described), limit)
        self.trial.dispose()
        self._conclude(worst)

    def _search_first(self, cases: Sequence[Case]) -> tuple[Case, Violation] | None:
        """The first telling violation among the given cases, else the most telling one."""
        flagged: list[tuple[Case, Violation]] = []
        for case in cases:
            try:
                self._examine(case)
            except Violation as violation:
                flagged.append((case, violation))
                if violation.observed is None or violation.observed.log_e >= TELLING:
                    return flagged[-1]
        return max(flagged, key=lambda pair: pair[1].observed.log_e if pair[1].observed else 0.0, default=None)

    def _search(self, strategy: st.SearchStrategy[Case], limit: int) -> tuple[Case, Violation] | None:
        """Let Hypothesis look for a violation and shrink it; the seed is a hash of the run key, the property and the subject."""
        worst: list[tuple[Case, Violation]] = []
        budget = len(self.seen) + limit + SHRINK_CASES

        @hypothesis.seed(stream_key(self.bench.settings.run_key, self.bench.subject.label, self.row.id))
        @hypothesis.settings(
            max_examples=limit, database=None, deadline=None, derandomize=False, report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck), print_blob=False,
        )  # fmt: skip
        @hypothesis.given(strategy)
        def search(case: Case) -> None:
            if len(self.seen) < budget or digest(case) in self.seen:
                try:
                    self._examine(case)
                except Violation as violation:
                    worst.append((case, violation))
                    raise

        try:
            search()
        except Violation:
            return worst[-1]
        return None

    def _examine(self, case: Case) -> None:
        """Judge a case once: its answer is kept, so that the search sees a function of the case."""
        name = digest(case)
        if name not in self.seen:
            self.seen[name] = self._judge(case)
        violation = self.seen[name]
        if violation is not None:
            raise violation.with_traceback(None)

    def _judge(self, case: Case) -> Violation | None:
        if self.stopped is not None or self.deaths >= DEATHS:
            return None
        self.trial.last = None
        try:
            self.body(self.trial, case)
        except Violation as violation:
            self.deaths += violation.kind == "died"
            self._note(case, "suspect" if violation.question else "violated", violation.observed)
            return violation
        except NoAnswer as event:
            self.stopped = str(event)
            self._note(case, "no answer", None)
            return None
        self._note(case, "ok", self.trial.last)
        return None

    def _conclude(self, worst: tuple[Case, Violation] | None) -> None:
        if worst is None:
            self._end("inconclusive", self.stopped) if self.stopped else self._end("ok")
            return
        case, violation = worst
        threshold = None
        if violation.question is not None:
            violation, threshold, reason = self._confirmed(case, violation)
            if reason is not None:
                self._end(*reason)
                return
        self._report(case, violation, threshold)

    def _confirmed(self, case: Case, violation: Violation) -> tuple[Violation, float | None, tuple[str, str] | None]:
        """The violation with fresh draws in its table, or why there is none."""
        assert violation.question is not None
        done = self.trial.confirm(case, violation.question)
        if isinstance(done, Unobserved):
            return violation, None, ("inconclusive", f"The confirmation ended early: the subject {done.reply}.")
        self._note(case, "confirmed" if done.sure else "not confirmed", done.observed, done.threshold)
        if not done.sure:
            text = f"one case looked wrong in its screen; {done.observed.drawn} fresh draws did not confirm it (E = {_power(done.observed.log_e)})"
            return violation, None, ("unconfirmed", text)
        return statistical_violation(violation.question, done.observed), done.threshold, None

    def _report(self, case: Case, violation: Violation, threshold: float | None) -> None:
        described = self.bench.subject.description
        finding = records.Finding(
            id=_finding_id(self.bench.subject.label, self.row.id, violation.kind), subject=self.bench.subject.label, contract=described.contract,
            property=self.row.id, sentence=self.row.sentence, source=self.row.source, severity=self.row.severity, message=violation.message,
            case=records.arguments(case), table=tuple(records.Line(r.outcome, r.found, r.right) for r in violation.table),
            evidence=self._evidence, statistics=statistics(violation.observed, threshold),
            steps=violation.observed.steps if violation.observed else (), output=violation.output[-2000:], file=described.file, line=described.line,
        )  # fmt: skip
        self.bench.write(finding)
        breaks = self.row.severity == "finding" or self.row.severity in self.bench.settings.fail_on
        self._end("failed" if breaks else self.row.severity, finding.id)
        if breaks:
            pytest.fail(finding_text(finding), pytrace=False)

    @property
    def _evidence(self) -> str:
        return "statistical" if self.row.statistical else "pointwise"

    def _note(self, case: Case, result: str, observed: Observed | None, threshold: float | None = None) -> None:
        self.bench.write(records.CaseRecord(self.bench.subject.label, self.row.id, digest(case), result, statistics(observed, threshold)))

    def _end(self, status: str, reason: str | None = None) -> None:
        described = self.bench.subject.description
        row, seconds = self.row, round(time.monotonic() - self.started, 3)
        self.bench.write(
            records.PropertyRecord(
                subject=self.bench.subject.label,
                contract=described.contract,
                property=row.id,
                sentence=row.sentence,
                guards=row.guards,
                status=status,
                evidence=self._evidence,
                reason=reason or "",
                cases=len(self.seen),
                draws=self.trial.draws,
                seconds=seconds,
            )
        )


def statistics(observed: Observed | None, threshold: float | None = None) -> records.Statistics | None:
    """An observation as a record carries it."""
    if observed is None:
        return None
    chi2 = observed.chi2
    beside = (chi2.statistic, chi2.dof, chi2.p_value, chi2.pooled) if chi2 else (None,) * 4
    return records.Statistics(observed.drawn, observed.log_e, threshold, *beside)


def _finding_id(subject: str, property_: str, kind: str) -> str:
    return hashlib.blake2b(f"{subject}|{property_}|{kind}".encode(), digest_size=4).hexdigest()


def _power(log_e: float) -> str:
    return f"1e{log_e / 2.302585092994046:+.1f}"
