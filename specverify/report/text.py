"""A finding as plain text: what pytest prints, and the console."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.audit.records import Choice, Finding, Likely, Part, Statistics

LN10 = math.log(10)
PARTS = {"acceptance": "the acceptance", "accepted": "accepted tokens", "replacement": "the replacement", "bonus": "the bonus"}
MOST_WRITTEN = math.log(1e6)
"""A ratio up to which it is written out."""
MOST_NAMED = 3
"""Faults of equal law that are named; the records have all."""
NOTHING = 0.995
"""A share of a deviation that is shown as 100 %: all of it is unexplained."""


def finding_text(finding: Finding) -> str:
    """A few aligned lines: the claim, the smallest case, found beside right, and how it is known."""
    head = f"{finding.property}  {finding.sentence}"
    lines = [f"{head}  [{finding.subject}]  finding {finding.id}", f"  {'what':<15} {finding.message}"]
    label = "smallest case" if finding.smallest else "case"
    for number, argument in enumerate(finding.case):
        lines.append(f"  {label if number == 0 else '':<15} {argument.name} = {argument.shown}")
    lines += _table(finding)
    for number, choice in enumerate(finding.path):
        lines.append(f"  {'path' if number == 0 else '':<15} {choice_text(choice)}")
    if finding.parts:
        lines.append(f"  {'where':<15} {parts_text(finding.parts)}")
    if finding.likely:
        lines.append(f"  {'likely fault':<15} {likely_text(finding.likely)}")
    lines.append(f"  {'evidence':<15} {evidence_text(finding.evidence, finding.statistics)}")
    lines.append(f"  {'source':<15} {finding.source}")
    if finding.file:
        lines.append(f"  {'subject at':<15} {finding.file}:{finding.line}")
    if finding.output.strip():
        lines.append(f"  {'last output':<15} {finding.output.strip().splitlines()[-1]}")
    return "\n".join(lines)


def parts_text(parts: Sequence[Part]) -> str:
    """Which parts of a step are wrong, how surely or by how much, and which show nothing wrong."""
    wrong = [f"{_part_name(one)} ({_part_evidence(one)})" for one in parts if one.wrong]
    kinds = [kind for kind in PARTS if any(one.part == kind for one in parts) and not any(one.wrong for one in parts if one.part == kind)]
    right = listed([PARTS[kind] for kind in kinds])
    if not wrong:
        return f"no part alone; {right} show nothing wrong, so look at how they depend on each other"
    return listed(wrong) + (f"; {right} show{'s' * (len(kinds) == 1 and kinds != ['accepted'])} nothing wrong" if kinds else "")


def listed(words: Sequence[str]) -> str:
    """Such as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _part_name(one: Part) -> str:
    return PARTS[one.part] if one.part == "bonus" else f"{PARTS[one.part]} at position {one.position}"


def _part_evidence(one: Part) -> str:
    return f"total variation {one.distance:.2g}" if one.log_e is None else f"E = {power_of_ten(one.log_e)} from {one.draws:,} draws"


def likely_text(likely: Sequence[Likely]) -> str:
    """Which known faults explain a finding best, how well, and how far the next are behind; or that none does."""
    best, *others = likely
    names = f"{_named(best.faults)} ({', '.join(best.corpus)})"
    if not best.fits and best.left > NOTHING:
        return f"unknown; none of the {sum(len(one.faults) for one in likely)} known faults that were compared explains any of it"
    if not best.fits:
        return f"unknown; the nearest, {names}, leaves {best.left:.0%} of the deviation unexplained"
    return f"{names}: {best.sentence}{_ahead_text(best, others[0]) if others else ''}"


def _named(faults: Sequence[str]) -> str:
    """The names of faults of equal law, the first few of many."""
    more = len(faults) - MOST_NAMED
    return " or ".join(faults[:MOST_NAMED]) + (f" or {more} other{'s' * (more > 1)}" if more > 0 else "")


def _ahead_text(best: Likely, second: Likely) -> str:
    """How far ahead of the next, in words."""
    name = _named(second.faults)
    if not best.drawn:
        return f" It leaves {best.left:.1%} of the deviation unexplained; the next, {name}, {second.left:.1%}."
    times = f"{math.exp(second.behind):,.0f}" if second.behind < MOST_WRITTEN else power_of_ten(second.behind)
    return f" {times} times as likely as the next, {name}."


def choice_text(choice: Choice) -> str:
    """One random choice in a line: "rand at sampling/utils.py:54 in [0, 0.5) (1/2)"."""
    return f"{short(choice.draw)} -> {choice.outcome} ({choice.shown})"


def short(draw: str) -> str:
    """A draw's label with the last two parts of its file's path."""
    head, at, place = draw.partition(" at ")
    return f"{head} at {'/'.join(place.split('/')[-2:])}" if at else draw


def _table(finding: Finding) -> list[str]:
    rows = [("", "found", "right"), *((line.outcome, line.found, line.right) for line in finding.table)]
    if len(rows) == 1:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [f"  {'':<15} " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def evidence_text(evidence: str, statistics: Statistics | None) -> str:
    """One phrase: pointwise, or the draws, the e-value and what it had to reach, with chi-squared beside it."""
    if statistics is None:
        return evidence
    parts = [f"{evidence}: {statistics.draws:,} draws, E = {power_of_ten(statistics.log_e)}"]
    if statistics.threshold is not None:
        parts.append(f"needed {power_of_ten(math.log(statistics.threshold))}")
    if statistics.dof is not None and statistics.p_value is not None:
        value = "inf" if statistics.chi_squared is None or math.isinf(statistics.chi_squared) else f"{statistics.chi_squared:.1f}"
        parts.append(f"chi-squared {value} on {statistics.dof} degrees of freedom, p = {statistics.p_value:.2g}")
    return "; ".join(parts)


def power_of_ten(log: float) -> str:
    """A number by its natural logarithm, as 10^x."""
    return f"10^{log / LN10:.1f}"
