"""Where a property meets a subject: calls, settings, results so far, and the pen that writes records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from specverify.audit import records
from specverify.audit.cases import case_of
from specverify.audit.records import Record
from specverify.audit.settings import Plan, Planned, Settings
from specverify.contracts import Case
from specverify.subjects.inprocess import InProcess
from specverify.subjects.source import Source
from specverify.subjects.subject import Served, Subject
from specverify.subjects.worker import Limits, Worker


class Pen:
    """Appends records to a file, each flushed, so that a killed run keeps what it wrote."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")

    def write(self, record: Record) -> None:
        """One line."""
        self._file.write(records.encode(record) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Pool:
    """The workers of one process, one per source, kept alive between properties."""

    def __init__(self, settings: Settings) -> None:
        self._limits = Limits(settings.memory, settings.call_seconds)
        self._make: Callable[[Source, Limits], Served] = InProcess if settings.in_process else Worker
        self._workers: dict[Source, Served] = {}

    def worker(self, source: Source) -> Served:
        """The worker of a source, started at its first request."""
        if source not in self._workers:
            self._workers[source] = self._make(source, self._limits)
        return self._workers[source]

    def close(self) -> None:
        """End them all."""
        for worker in self._workers.values():
            worker.close()


class Bench:
    """One subject, ready to be judged by one property after another."""

    def __init__(self, planned: Planned, pool: Pool, settings: Settings, pen: Pen) -> None:
        self.subject = Subject(planned.label, planned.description, pool.worker(planned.source))
        self.settings, self.pen = settings, pen
        self.statuses: dict[str, str] = {}
        self.replays: dict[str, Case | None] | None = None

    def wanted(self, property_: str) -> bool:
        """Whether a property is to be judged here: each, unless findings are run again."""
        return self.replays is None or property_ in self.replays

    def share_alpha(self, pairs: int) -> None:
        """Divide the run's alpha by the number of (property, subject) pairs."""
        self.settings = msgspec.structs.replace(self.settings, pairs=pairs)

    def write(self, record: Record) -> None:
        """Write one record; the status of a property is remembered for its dependants."""
        self.pen.write(record)
        if isinstance(record, records.PropertyRecord):
            self.statuses[record.property] = record.status

    def blocker(self, after: tuple[str, ...]) -> str | None:
        """The first prerequisite that failed or could not be judged here, or none."""
        return next((id_ for id_ in after if self.statuses.get(id_) in ("failed", "inconclusive", "lost", "blocked")), None)


def benches(plan: Plan, pool: Pool, pen: Pen) -> list[Bench]:
    """A bench for each subject that can be called."""
    found = [Bench(planned, pool, plan.settings, pen) for planned in plan.subjects if planned.description.problem is None]
    for bench in found if plan.replays else ():
        mine = [one for one in plan.replays if one.subject == bench.subject.label]
        bench.replays = {one.property: None if one.case is None else case_of(one.case) for one in mine}
    return found
