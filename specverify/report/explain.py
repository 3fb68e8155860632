"""A finding explained: what is broken, found and right side by side, the way there, what falls with it, and how to see it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specverify.report.guarantees import ASKED_FOR, IMPLIED_BY, LADDER
from specverify.report.text import finding_text

if TYPE_CHECKING:
    from pathlib import Path

    from specverify.audit.finding_files import FindingFile

HEADS = {"finding": "FAILED", "grid": "GRID EFFECT", "advisory": "advisory"}
OTHER = {"hygiene": "nothing that a claim promises: manners and conventions", "efficiency": "nothing that a claim promises: speed"}


def explanation(file: FindingFile, run: Path) -> list[str]:
    """The text, line by line; `run` is the folder that the finding's script lies in."""
    finding, header, subject = file.finding, file.header, file.subject
    lines = [f"{HEADS[finding.severity]} {finding_text(finding)}", *_falls(file)]
    if file.blocked:
        lines.append(_line("not judged", f"because of it: {', '.join(file.blocked)}"))
    if file.script.startswith("none"):
        lines.append(_line("stand-alone", file.script))
    elif file.script:
        lines.append(_line("stand-alone", f"{subject.python_path or 'python'} {run / file.script}"))
    lines.append(_line("replay", f"specverify replay {finding.id}"))
    versions = ", ".join(f"{name} {version}" for name, version in subject.versions.items())
    commit = f" @ {subject.commit}" if subject.commit else ""
    lines.append(
        _line("seen in", f"{header.run}, specverify {header.version}, suite {header.suite}, run key {header.run_key}; {subject.source}{commit} ({versions})")
    )
    return lines


def _falls(file: FindingFile) -> list[str]:
    """The guarantee that is broken, and those that it takes along."""
    guards = file.row.guards
    rungs = {rung.guards: rung for rung in (*LADDER, *ASKED_FOR)}
    if file.finding.severity != "finding" or guards not in rungs:
        return [_line("breaks", OTHER.get(guards, "nothing by itself, since it is only a remark"))]
    above = [rungs[upper].name for upper in IMPLIED_BY.get(guards, ())]
    lines = [_line("breaks", f"{rungs[guards].name}: {rungs[guards].meaning}")]
    return lines + ([_line("with it", f"{' and '.join(above)}, of which it is a part")] if above else [])


def _line(label: str, text: str) -> str:
    return f"  {label:<15} {text}"
