"""Markdown, for the summary of a CI step: verdicts, then findings, then what was not tested."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from specverify.report.gaps import answered, gaps
from specverify.report.marks import verdict_mark
from specverify.report.summary import counts_text
from specverify.report.text import finding_text
from specverify.report.view import View, view

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specverify.audit.records import Finding, Record

SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")
MOST_FINDINGS = 50
"""A step summary holds 1 MiB; a finding takes 2 to 8 kB."""


def render(found: Sequence[Record]) -> str:
    """The whole file."""
    run = view(found)
    return "\n".join([*_head(run), *_findings(run), *_untested(run)]) + "\n"


def escaped(text: str) -> str:
    """Text that stays text in a table too."""
    return SPECIAL.sub(r"\\\1", html.escape(text, quote=False)).replace("\n", " ")


def _head(run: View) -> Iterator[str]:
    yield f"## specverify: {escaped(' '.join(run.header.arguments))}\n"
    if run.cut:
        yield f"**PARTIAL** The run was cut short ({escaped(run.cut)}); what it found stands, the rest is not tested.\n"
    yield "| subject | contract | claim | verdict | properties |"
    yield "| --- | --- | --- | --- | --- |"
    for verdict in run.verdicts:
        subject, mark = verdict.subject, verdict_mark(verdict.exit_code)
        cells = (subject.subject, subject.contract, subject.claim, f"{mark.glyph} {verdict.headline}", counts_text(list(verdict.properties)))
        yield f"| {' | '.join(map(escaped, cells))} |"
    yield ""
    for verdict in run.verdicts:
        yield f"- {escaped(verdict.subject.subject)}: {escaped(verdict.sentence)}"


def _findings(run: View) -> Iterator[str]:
    mine = sorted(run.findings, key=lambda finding: not run.breaks(finding))
    for finding in mine[:MOST_FINDINGS]:
        yield f"\n<details><summary>{_title(run, finding)}</summary>\n\n<pre>{html.escape(finding_text(finding), quote=False)}</pre>\n</details>"
    if len(mine) > MOST_FINDINGS:
        yield f"\nand {len(mine) - MOST_FINDINGS} more."


def _title(run: View, finding: Finding) -> str:
    word = "FAILED" if run.breaks(finding) else "known" if finding.id in run.known else finding.severity
    return html.escape(f"{word} {finding.property} [{finding.subject}] {finding.message}", quote=False)


def _untested(run: View) -> Iterator[str]:
    done, of = answered(list(run.verdicts))
    yield f"\n{done} of {of} properties gave an answer."
    for gap in gaps(list(run.verdicts)):
        yield f"- {escaped(', '.join(gap.properties))} {gap.mark.word} {escaped(gap.reason)} ({escaped(', '.join(gap.subjects))})"
