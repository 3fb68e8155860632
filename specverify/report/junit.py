"""JUnit XML: a test suite per subject, a test case per property. A run has no other conditions yet: records tell no dtype or device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from specverify.report.text import finding_text
from specverify.report.view import View, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specverify.audit.records import Finding, Known, PropertyRecord, Record
    from specverify.audit.verdict import Verdict

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write; a subject may print them."""
OUTCOMES = {
    "failed": "failure",
    "lost": "error",
    "inconclusive": "error",
    "blocked": "skipped",
    "not applicable": "skipped",
}
"""Status to the element that tells it; the other statuses pass, and say why in their output."""
KINDS = ("failure", "error", "skipped")


def render(found: Sequence[Record]) -> str:
    """The whole file."""
    run = view(found)
    root = Element("testsuites", name=_clean(f"specverify {' '.join(run.header.arguments)}"))
    for verdict in run.verdicts:
        _suite(root, run, verdict)
    if run.cut:
        case = _case(SubElement(root, "testsuite", name="run"), "run", "complete", 0.0)
        _tell(case, "error", "the run is partial", run.cut)
    for suite in root:
        _count(suite)
    _count(root)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, run: View, verdict: Verdict) -> None:
    name = _clean(verdict.subject.subject)
    suite = SubElement(root, "testsuite", name=name, timestamp=run.header.started.partition("+")[0])
    if verdict.subject.problem is not None:
        _tell(_case(suite, name, "loads", 0.0), "error", verdict.subject.problem, verdict.subject.hint or "")
    for row in verdict.properties:
        _property(_case(suite, name, f"{row.property} {row.sentence}", row.seconds), row, verdict.findings, verdict.known)


def _property(case: Element, row: PropertyRecord, findings: Sequence[Finding], known: Mapping[str, Known]) -> None:
    finding = next((one for one in findings if one.id == row.reason), None)
    message = finding.message if finding else f"blocked by {row.reason}" if row.status == "blocked" else row.reason
    told = finding_text(finding) if finding else message
    if finding is not None and finding.id in known:
        _tell(case, "skipped", f"known finding {finding.id}: {known[finding.id].reason}", told)
    elif row.status in OUTCOMES:
        _tell(case, OUTCOMES[row.status], message or row.status, told)
    elif row.status != "ok":
        SubElement(case, "system-out").text = _clean(f"{row.status}: {told}")


def _case(suite: Element, subject: str, name: str, seconds: float) -> Element:
    return SubElement(suite, "testcase", classname=_clean(subject), name=_clean(name), time=f"{seconds:.3f}")


def _tell(case: Element, kind: str, message: str, text: str) -> None:
    SubElement(case, kind, message=_clean(message)).text = _clean(text)


def _count(element: Element) -> None:
    """The numbers of what lies below, as readers expect them on suites and on the root."""
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for kind in KINDS[: 2 if element.tag == "testsuites" else 3]:
        element.set({"failure": "failures", "error": "errors", "skipped": "skipped"}[kind], str(sum(case.find(kind) is not None for case in cases)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
