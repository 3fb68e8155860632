"""The guarantee ladder: what of the promise holds for a subject, how that is known, and which rung nobody looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specverify.audit.resolution import coarsest
from specverify.audit.suite import promises
from specverify.report.marks import OPEN, Mark

if TYPE_CHECKING:
    from specverify.audit.records import PropertyRecord
    from specverify.audit.verdict import Verdict


@dataclass(frozen=True)
class Rung:
    """One guarantee: the word in `PropertyRecord.guards`, its name, what it means."""

    guards: str
    name: str
    meaning: str


@dataclass(frozen=True)
class Standing:
    """How a subject stands on a rung; `finding` is the id of the one that broke it."""

    mark: Mark
    detail: str = ""
    finding: str = ""


LADDER = (
    Rung("joint", "joint law", "The tokens of an output together have the target's law."),
    Rung("position", "per-position law", "Each value, or the law of each single token, is right."),
    Rung("support", "support", "Nothing comes out that the target gives probability zero, and nothing is shut out."),
    Rung("greedy", "greedy-exact", "At temperature 0 the target's own tokens come out."),
    Rung("well-formed", "well-formed", "Every result has the contract's form, and no call fails."),
)
ASKED_FOR = (
    Rung("requests", "own seeds", "Requests with seeds of their own do not touch each other: the tokens of each are the same in every batch."),
    Rung("pathwise", "pathwise", "With the same seed, the tokens of plain decoding come out."),
    Rung("bitwise", "bitwise", "A result does not depend on the batch, to the last bit."),
)
"""Rungs of claims and declarations of their own: shown where a property looked at them."""
IMPLIED_BY = {"position": ("joint",), "support": ("joint", "position")}
"""The joint law fixes the law of each token, and a law fixes its support: a broken rung breaks those above it."""
WEAKER = ("exact", "near-exact", "pathwise", "pointwise", "statistical")
"""Kinds of evidence; a rung is known by the weakest of its properties."""
NO_ANSWER = ("inconclusive", "lost", "blocked", "unconfirmed")
BROKEN, FALLS, UNTESTED, GRID = Mark("✗", "BROKEN", "bad"), Mark("✗", "falls", "bad"), Mark("–", "not tested", "quiet"), Mark("≈", "to 2^-20", "open")
UNPROMISED = Mark("–", "not promised", "quiet")
IN_PART = Mark("?", "in part", "open")


def rungs(verdicts: list[Verdict]) -> tuple[Rung, ...]:
    """The rungs of a run, top first."""
    seen = {row.guards for verdict in verdicts for row in verdict.properties}
    return LADDER + tuple(rung for rung in ASKED_FOR if rung.guards in seen)


def standings(verdict: Verdict, ladder: tuple[Rung, ...]) -> list[Standing]:
    """How one subject stands on each rung."""
    own = {rung.guards: _own(verdict, rung.guards) for rung in ladder}
    fallen = {rung.guards: _fallen(rung, own) for rung in ladder}
    return [_followed(rung, fallen) for rung in ladder]


def _fallen(rung: Rung, own: dict[str, Standing]) -> Standing:
    """A rung that was tested falls with a broken one that it implies."""
    broken = [lower for lower, uppers in IMPLIED_BY.items() if rung.guards in uppers and own[lower].mark == BROKEN]
    if broken and own[rung.guards].mark not in (BROKEN, UNTESTED):
        return Standing(FALLS, f"with {', '.join(each.name for each in LADDER if each.guards in broken)}", own[broken[0]].finding)
    return own[rung.guards]


def _followed(rung: Rung, standing: dict[str, Standing]) -> Standing:
    """A rung that nobody looked at follows from the joint law where that holds."""
    here, joint = standing[rung.guards], standing["joint"]
    follows = here.mark == UNTESTED and rung.guards in IMPLIED_BY and joint.mark.tone == "good"
    return replace(joint, detail="follows from the joint law") if follows else here


def _own(verdict: Verdict, guards: str) -> Standing:
    severity = {finding.id: finding.severity for finding in verdict.findings}
    rows = [row for row in verdict.properties if row.guards == guards and row.status != "not applicable"]
    outcome = {row.property: severity.get(row.reason, "finding") if row.status == "failed" else row.status for row in rows}
    broken = [row for row in rows if outcome[row.property] == "finding"]
    unanswered = [row for row in rows if row.status in NO_ANSWER]
    if broken:
        return Standing(BROKEN, ", ".join(row.property for row in broken), broken[0].reason)
    if unanswered:
        return Standing(OPEN, ", ".join(f"{row.property} {row.status}" for row in unanswered))
    if not rows:
        return Standing(UNTESTED if guards in promises(verdict.subject.claim) else UNPROMISED)
    if guards == "joint" and not any(row.law for row in rows):
        return Standing(IN_PART, "no law was judged, only what it implies")
    grid = [row for row in rows if outcome[row.property] == "grid"]
    return Standing(GRID, f"{grid[0].property} breaks it at a bound of the generator", grid[0].reason) if grid else _holding(verdict, rows)


def _holding(verdict: Verdict, rows: list[PropertyRecord]) -> Standing:
    weakest = max((row.evidence for row in rows), key=WEAKER.index)
    seen = f"{sum(row.cases for row in rows):,} cases, {sum(row.draws for row in rows):,} draws"
    seen += "".join(f"; {row.certificate.space} within a total variation of {row.certificate.bound:.2g}" for row in rows if row.certificate is not None)
    laws = {row.evidence for row in rows if row.law and row.status == "ok"}
    seen += f"; its laws {' and '.join(sorted(laws))}" if laws and weakest not in laws else ""
    resolves = coarsest(verdict.resolved[row.property] for row in rows if row.property in verdict.resolved)
    return Standing(Mark("✓", weakest, "good"), f"{seen}; {resolves.shown}" if resolves else seen)
