"""SARIF 2.1.0, for code scanning: a rule per property, a result per finding, at the file and line of its subject."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from specverify.report.text import finding_text
from specverify.report.view import View, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.audit.records import Finding, Record

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"grid": "warning", "advisory": "note"}
"""Of what does not fail the run; what does is an error."""
FINGERPRINT = "specverifyFinding/v1"
"""A finding's id is a digest of subject, property and class of fault, so it survives a better counterexample and a moved line."""


def render(found: Sequence[Record]) -> str:
    """The whole file. Places below the current folder are written relative to it, as a code host expects them."""
    run = view(found)
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(run)]}, indent=1) + "\n"


def _run(run: View) -> dict[str, Any]:
    rules = list({finding.property: finding for finding in run.findings}.values())
    places = {rule.property: place for place, rule in enumerate(rules)}
    driver = {"name": "specverify", "version": run.header.version, "semanticVersion": run.header.version, "rules": [_rule(rule) for rule in rules]}
    return {
        "tool": {"driver": driver},
        "invocations": [_invocation(run)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(run, finding, places[finding.property]) for finding in run.findings],
    }


def _rule(finding: Finding) -> dict[str, Any]:
    return {"id": finding.property, "shortDescription": {"text": finding.sentence}, "help": {"text": f"Source: {finding.source}"}}


def _invocation(run: View) -> dict[str, Any]:
    problems = [f"{verdict.subject.subject}: {verdict.subject.problem}" for verdict in run.verdicts if verdict.subject.problem is not None]
    told = [*problems, *([f"The run is partial: {run.cut}."] if run.cut else [])]
    notes = {"toolExecutionNotifications": [{"level": "error", "message": {"text": text}} for text in told]} if told else {}
    return {"executionSuccessful": not told, "exitCode": run.exit_code, "commandLine": run.header.command, **notes}


def _result(run: View, finding: Finding, place: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.property,
        "ruleIndex": place,
        "level": "error" if run.breaks(finding) else LEVELS.get(finding.severity, "error"),
        "message": {"text": f"{finding.subject}: {finding.message}\n{finding_text(finding)}"},
        "partialFingerprints": {FINGERPRINT: finding.id},
    }
    if finding.id in run.known:
        result |= {"suppressions": [{"kind": "external", "justification": run.known[finding.id].reason}]}
    return result | ({"locations": [_location(finding)]} if finding.file else {})


def _location(finding: Finding) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": uri(finding.file)}}
    if finding.line > 0:
        where["region"] = {"startLine": finding.line}
    return {"physicalLocation": where, "logicalLocations": [{"name": finding.subject, "kind": "function"}]}


def uri(file: str) -> str:
    """Relative to the current folder where the file lies below it."""
    path = Path(file)
    if not path.is_absolute():
        return quote(path.as_posix())
    return quote(path.relative_to(Path.cwd()).as_posix()) if path.is_relative_to(Path.cwd()) else path.as_uri()
