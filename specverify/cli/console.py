"""Renders a run while it goes on: a bar per subject on a terminal, plain lines elsewhere. NO_COLOR is honoured by rich."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import rich.console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from specverify.audit.baseline import out_of_date
from specverify.audit.records import Finding, Header, PropertyRecord, Record, SubjectRecord
from specverify.audit.run import Finished
from specverify.audit.suite import of_contract
from specverify.audit.verdict import KNOWN, Verdict
from specverify.report.summary import counts_text
from specverify.report.text import finding_text

NAME, CONTRACT = 26, 16


class Console:
    """Use as a context while the run goes on; `finished` prints the verdict after it."""

    def __init__(self, *, quiet: bool = False, plain: bool = False) -> None:
        """With `quiet` the verdict and what it rests on are printed alone; with `plain` a terminal gets what a file does."""
        self._out = rich.console.Console(highlight=False, soft_wrap=True, no_color=plain or None, force_terminal=False if plain else None)
        self._quiet = quiet
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._rows: dict[str, list[PropertyRecord]] = {}
        self._wanted: dict[str, int] = {}

    def __enter__(self) -> Self:
        if self._out.is_terminal and not self._quiet:
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
            self._bars = Progress(*columns, console=self._out, transient=True)
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bars is not None:
            self._bars.stop()

    def started(self, header: Header, subjects: list[SubjectRecord]) -> None:
        """Print the heading and open a line per subject."""
        if self._quiet:
            return
        self._print(f"specverify {header.version} · suite {header.suite} · {' '.join(header.arguments)}")
        self._print(f"alpha {header.alpha:g} over {header.pairs} statistical checks · run key {header.run_key}\n")
        for told in dict.fromkeys(f"{record.source} on a checkout at {record.commit}" for record in subjects if record.checkout):
            self._print(told)
        for record in subjects:
            if record.problem is not None:
                self._print(f"{record.subject:<{NAME}} {record.contract:<{CONTRACT}} NOT LOADED")
                continue
            self._rows[record.subject] = []
            self._wanted[record.subject] = len(of_contract(record.contract))
            if self._bars is not None:
                self._tasks[record.subject] = self._bars.add_task(
                    f"{record.subject:<{NAME}} {record.contract:<{CONTRACT}}", total=self._wanted[record.subject], told=""
                )

    def record(self, record: Record) -> None:
        """Advance a subject's line; print it when its last property is judged."""
        if not isinstance(record, PropertyRecord) or record.subject not in self._rows:
            return
        rows = self._rows[record.subject]
        rows.append(record)
        if self._bars is not None:
            self._bars.update(self._tasks[record.subject], advance=1, told=counts_text(rows))
        if len(rows) == self._wanted[record.subject]:
            if self._bars is not None:
                self._bars.remove_task(self._tasks[record.subject])
            self._print(f"{record.subject:<{NAME}} {record.contract:<{CONTRACT}} {counts_text(rows)}   {sum(row.seconds for row in rows):.1f} s")

    def finished(self, run: Finished, page: Path) -> None:
        """Findings, then one line per subject, then where the report is."""
        for verdict in run.verdicts:
            self._problem(verdict)
            for finding in verdict.findings:
                self._finding(finding, verdict.severity(finding), run.folder)
        self._print("")
        for verdict in run.verdicts:
            style = {0: "green", 1: "red"}.get(verdict.exit_code, "yellow")
            self._out.print(f"{escape(verdict.subject.subject):<{NAME}} [{style} bold]{escape(verdict.headline)}[/]  {escape(verdict.sentence)}")
        for line in out_of_date(run.header, run.records):
            self._print(f"baseline: {line}; `specverify baseline update` mends it.")
        if not run.complete:
            self._print("The run was cut short; what it found is kept and marked partial.")
        self._print(f"\n{page} · {run.seconds:.1f} s · exit {run.exit_code}")

    def _problem(self, verdict: Verdict) -> None:
        if verdict.subject.problem is not None:
            self._print(f"\n{verdict.subject.subject}: {verdict.subject.problem}\n  hint: {verdict.subject.hint}")

    def _finding(self, finding: Finding, severity: str, folder: Path) -> None:
        head = {"finding": "FAILED", "grid": "GRID EFFECT", "advisory": "advisory", KNOWN: "known"}[severity]
        style = {"finding": "red bold", "grid": "yellow", "advisory": "dim", KNOWN: "yellow"}[severity]
        self._out.print(f"\n[{style}]{head}[/] {escape(finding_text(finding))}")
        if finding.severity == "finding":
            script = folder / f"{finding.id}.py"
            self._print(f"  {'replay':<15} specverify replay {finding.id}" + (f"   stand-alone  {script}" if script.exists() else ""))

    def _print(self, text: str) -> None:
        self._out.print(escape(text))
