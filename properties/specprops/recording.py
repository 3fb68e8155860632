"""What a judgement leaves in the records: a finding, its statistics, and what all cases show together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specprops.alone import alone
from specprops.likely import likely
from specprops.parts import parts
from specprops.violation import Violation
from specprops.wrong_law import table
from specverify.audit import records
from specverify.audit.cases import arguments
from specverify.contracts import Case
from specverify.law import show_probability
from specverify.observe import Exactly, Observed, Question

if TYPE_CHECKING:
    from specprops.known import Together
    from specprops.suite import Claim
    from specprops.trial import Trial
    from specverify.audit.bench import Bench
    from specverify.audit.suite import Property

OUTPUT_SHOWN = 2_000


def finding(claim: Claim, trial: Trial, bench: Bench, case: Case, violation: Violation, *, smallest: bool) -> records.Finding:
    """A violation on a case, which the search could make no smaller, or had no time to."""
    row, subject, described, seen = claim.row, bench.subject, bench.subject.description, violation.observed
    severity = violation.severity or row.severity
    threshold = bench.settings.threshold if violation.question is not None or violation.kind == "together" else None
    return records.Finding(
        id=records.finding_id(subject.label, row.id, violation.kind), subject=subject.label, contract=described.contract,
        property=row.id, sentence=row.sentence, source=row.source, severity=severity, message=violation.message,
        case=arguments(case), table=tuple(records.Line(r.outcome, r.found, r.right) for r in violation.table),
        evidence=beyond_laws(row) if seen is None else seen.evidence, smallest=smallest,
        statistics=statistics(seen, threshold), steps=seen.steps if seen else (), path=_path(seen),
        output=records.clean(subject.worker.output()[-OUTPUT_SHOWN:]), file=described.file, line=described.line,
        likely=likely(trial, case) if severity == "finding" and row.statistical else (),
        parts=parts(described, case, seen) if violation.kind in ("law", "together") else (),
        fault=violation.kind, alone=alone(claim, bench, case, violation) if severity == "finding" else None,
    )  # fmt: skip


def beyond_laws(row: Property) -> str:
    """The evidence of what needs no law: two runs compared, or a value."""
    return "pathwise" if row.guards in {"requests", "pathwise"} else "pointwise"


def together(subject: str, property_: str, shown: Together) -> records.Together:
    assert shown.leading is not None
    case, seen = shown.leading
    lines = table(Question(seen.right, lambda outcome: outcome), seen)
    told = shown.process.as_dict()
    return records.Together(
        subject=subject, property=property_, draws=shown.drawn, log_e=shown.log_e, likeliest=shown.process.ranking[0][0], process=told,
        case=arguments(case), table=tuple(records.Line(line.outcome, line.found, line.right) for line in lines), steps=seen.steps,
    )  # fmt: skip


def _path(seen: Observed | Exactly | None) -> tuple[records.Choice, ...]:
    """The random choices that lead to the outcome that is furthest off."""
    if not isinstance(seen, Exactly):
        return ()
    impossible = seen.comparison.impossible
    worst = max(impossible, key=impossible.__getitem__) if impossible else seen.comparison.worst
    path = seen.law.paths.get(worst)
    return tuple(records.Choice(*step, show_probability(step[2])) for step in path.steps) if path is not None else ()


def statistics(observed: Observed | Exactly | None, threshold: float | None = None) -> records.Statistics | None:
    """Draws as a record carries them; an explored law has none."""
    if not isinstance(observed, Observed):
        return None
    chi2, cells = observed.chi2, len(observed.right.probabilities)
    if chi2 is None:
        return records.Statistics(observed.drawn, observed.log_e, threshold, cells=cells)
    return records.Statistics(observed.drawn, observed.log_e, threshold, chi2.statistic, chi2.dof, chi2.p_value, chi2.pooled, cells)
