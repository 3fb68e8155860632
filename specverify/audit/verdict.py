"""From records to a verdict: per subject what may be relied on, and the run's exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specverify.audit.health import health
from specverify.audit.records import Certificate, Finding, Known, PropertyRecord, Record, SubjectRecord
from specverify.audit.resolution import Resolved, coarsest, resolved

UPHELD, USAGE, BROKEN, UNLOADABLE, UNDECIDED, OUTDATED, INTERRUPTED = 0, 2, 1, 3, 4, 5, 130
PRIORITY = (INTERRUPTED, USAGE, BROKEN, UNLOADABLE, UNDECIDED, UPHELD)
"""Of the exit codes of several subjects the first of these that occurs."""

EXPLORED = " Laws are exact on the tested cases: every random choice was explored."
SAMPLED = " Laws were judged by sampling."
RESOLVES = " Laws were judged by sampling; on each tested case a total variation of {distance} is found with probability 99 % (the fewest draws of a case were {draws:,})."
TOO_FEW = " Laws were judged by sampling; a case had {draws:,} draws alone, too few to find a total variation for sure."
NEARLY = " Laws are near-exact on the tested cases: computed from what single coins do, of which a range that is thin and that the theory does not expect can be missed."
LOSSY = " A lossy claim promises no law, and none was judged: the output may differ from the target's."

OWN = {
    "lossless": {"joint", "position", "support", "greedy"},
    "greedy-exact": {"greedy"},
    "pathwise": {"pathwise"},
    "bitwise": {"bitwise"},
    "lossy": {"efficiency"},
}
"""What each claim is about; without a judged property of that kind there is no verdict. The law of a lossy subject is not measured yet."""

WITH_A_NOTE = ", WITH A HEALTH NOTE"
"""Behind the headline of a claim that is upheld, so that nobody reads it without."""

BUT_FOR = ", BUT FOR KNOWN FINDINGS"
"""Behind the headline of a subject all of whose findings are accepted: they are broken promises still."""
KNOWN = "known"

JUDGED = ("ok", "failed", "grid", "advisory", "unconfirmed")


@dataclass(frozen=True)
class Verdict:
    """Of one subject: its records, the exit code it would give alone, a headline, a plain sentence, health notes, known findings, and what its sampled laws resolve, by property."""

    subject: SubjectRecord
    properties: tuple[PropertyRecord, ...]
    findings: tuple[Finding, ...]
    exit_code: int
    headline: str
    sentence: str
    health: tuple[str, ...] = ()
    known: Mapping[str, Known] = field(default_factory=dict)
    resolved: Mapping[str, Resolved] = field(default_factory=dict)

    def severity(self, finding: Finding) -> str:
        """Of a finding of its own: known, if it is accepted, else as it was judged."""
        return KNOWN if finding.id in self.known else finding.severity

    def having(self, severity: str) -> tuple[Finding, ...]:
        """Its findings of one severity."""
        return tuple(finding for finding in self.findings if self.severity(finding) == severity)

    def count(self, *statuses: str) -> int:
        """How many properties ended so."""
        return sum(row.status in statuses for row in self.properties)


def verdicts(subjects: list[SubjectRecord], found: list[Record], known: Mapping[str, Known] | None = None) -> list[Verdict]:
    """One verdict per subject, in order; findings that are known (by id) do not decide it."""
    looks = resolved(found)
    mine = ({id_: one for (name, id_), one in looks.items() if name == subject.subject} for subject in subjects)
    return [_verdict(subject, found, known or {}, resolves) for subject, resolves in zip(subjects, mine, strict=True)]


def exit_code(given: list[Verdict]) -> int:
    """Of the whole run."""
    codes = {verdict.exit_code for verdict in given} or {UNDECIDED}
    return next(code for code in PRIORITY if code in codes)


def _verdict(subject: SubjectRecord, found: list[Record], known: Mapping[str, Known], resolves: Mapping[str, Resolved]) -> Verdict:
    rows = tuple(r for r in found if isinstance(r, PropertyRecord) and r.subject == subject.subject)
    findings = tuple(r for r in found if isinstance(r, Finding) and r.subject == subject.subject)
    mine = {finding.id: known[finding.id] for finding in findings if finding.id in known}
    counted = tuple(row for row in rows if row.reason not in mine)
    code = _code(subject, counted, rows)
    notes, (headline, sentence) = health(rows), _words(subject, counted, findings, code, coarsest(resolves.values()))
    if mine and code == UPHELD:
        headline, sentence = f"{headline}{BUT_FOR}", f"{sentence} Known and accepted: {', '.join(f'{id_} ({one.reason})' for id_, one in mine.items())}."
    if notes:
        headline, sentence = f"{headline}{WITH_A_NOTE}" if code == UPHELD else headline, f"{sentence} Health: {'; '.join(notes)}."
    return Verdict(subject, rows, findings, code, headline, sentence, notes, mine, resolves)


def _code(subject: SubjectRecord, rows: tuple[PropertyRecord, ...], judged: tuple[PropertyRecord, ...]) -> int:
    """By the rows that count; what was judged at all may be a known finding alone."""
    statuses = {row.status for row in rows}
    if subject.problem is not None:
        return USAGE if subject.usage else UNLOADABLE
    if "failed" in statuses:
        return BROKEN
    if "lost" in statuses:
        return UNLOADABLE
    return UNDECIDED if "inconclusive" in statuses or not _judged(subject, judged) else UPHELD


def _judged(subject: SubjectRecord, rows: tuple[PropertyRecord, ...]) -> bool:
    """Whether something that the claim itself promises was looked at."""
    own = OWN[subject.claim.partition("(")[0]]
    return any(row.status in JUDGED and row.guards in own for row in rows)


def _words(subject: SubjectRecord, rows: tuple[PropertyRecord, ...], findings: tuple[Finding, ...], code: int, resolves: Resolved | None) -> tuple[str, str]:
    claim = (subject.claim or "lossless").upper()
    if code == BROKEN:
        return _broken(claim, rows, findings)
    if subject.problem is not None:
        return "NOT LOADED", subject.problem
    reasons = " ".join(sorted({row.reason for row in rows if row.status in ("inconclusive", "lost") and row.reason}))
    if code == UNLOADABLE:
        return "WORKER LOST", reasons
    if code == UNDECIDED:
        return "INCONCLUSIVE", reasons or f"Nothing that the claim {subject.claim} promises was checked."
    return _upheld(claim, rows, resolves)


def _certified(given: list[Certificate]) -> str:
    """What large samples promise, in a sentence."""
    bounds = " and ".join(f"that of {one.space} by {one.bound:.2g} ({one.draws:,} draws, {one.cells} outcomes)" for one in given)
    return f" On the certified cases the total variation is bounded: {bounds}, each wrong with a chance of {given[0].risk:g} at most." if given else ""


def _broken(claim: str, rows: tuple[PropertyRecord, ...], findings: tuple[Finding, ...]) -> tuple[str, str]:
    severities = {finding.id: finding.severity for finding in findings}
    failed = [row for row in rows if row.status == "failed"]
    broken = [row.property for row in failed if severities.get(row.reason, "finding") == "finding"]
    if broken:
        return f"NOT {claim}", f"Do not rely on the claim: {', '.join(broken)} {'is' if len(broken) == 1 else 'are'} broken."
    kinds = sorted({severities[row.reason] for row in failed})
    return f"FAILED ON {' AND '.join(kinds).upper()}", f"The claim stands; --fail-on lets {', '.join(row.property for row in failed)} fail the run."


def _by_sampling(resolves: Resolved | None) -> str:
    if resolves is None:
        return SAMPLED
    return (TOO_FEW if resolves.distance is None else RESOLVES).format(draws=resolves.draws, distance=resolves.rounded)


def _some(sentence: str) -> str:
    return sentence.replace(" Laws", " Some laws", 1)


def _upheld(claim: str, rows: tuple[PropertyRecord, ...], resolves: Resolved | None) -> tuple[str, str]:
    seen = f"{sum(row.cases for row in rows):,} cases and {sum(row.draws for row in rows):,} draws"
    rungs = {row.evidence for row in rows if row.law and row.status == "ok" and row.certificate is None}
    told = {"exact": EXPLORED, "near-exact": NEARLY, "statistical": _by_sampling(resolves)}
    tail = "".join(_some(sentence) if rungs - {rung} else sentence for rung, sentence in told.items() if rung in rungs)
    tail += LOSSY if claim.startswith("LOSSY") else ""
    tail += _certified([row.certificate for row in rows if row.certificate is not None])
    doubtful = [row.property for row in rows if row.status == "unconfirmed"]
    if doubtful:
        tail += f" In {', '.join(doubtful)} a case looked wrong at first and was not confirmed."
    if any(row.status == "grid" for row in rows):
        grid = "Only draws at the bound of the random generator's range, of probability 2^-20 at most, break it"
        return f"{claim} TO 2^-20, AS FAR AS TESTED", f"{grid}; nothing else was found in {seen}.{tail}"
    return f"{claim}, AS FAR AS TESTED", f"Nothing was found against it in {seen}.{tail}"
