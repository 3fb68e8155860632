"""Audits of the same subjects, round after round with other keys, until the time is up: what one round finds, and all of them together."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from specverify.audit.baseline import accepted
from specverify.audit.combine import merged
from specverify.audit.events import write_records
from specverify.audit.finding_files import FOLDER
from specverify.audit.records import CaseRecord, Finding, Footer, Header, PropertyRecord, Record, SubjectRecord
from specverify.audit.run import INTERRUPTION, TIME_UP, Finished, Watcher, header_of, run_folder
from specverify.audit.settings import Settings
from specverify.audit.verdict import INTERRUPTED, UNDECIDED, exit_code, verdicts

Round = Callable[[Settings, Path, Watcher], Finished]
"""One audit: its settings, the folder for its folder, and who watches it."""
ROUNDS = "rounds"
BASEL = math.pi**2 / 6
"""The sum of 1 / k^2 over all k: round k gets alpha / (BASEL k^2), so that all rounds together, however many there will be, spend alpha."""


def share(alpha: float, number: int) -> float:
    """The part of alpha that round `number` (from 1) may spend."""
    return alpha / (BASEL * number**2)


def settings_of(settings: Settings, number: int) -> Settings:
    """Of one round: the first has the run's own key, and the small tables, which are the same under every key; the others have keys derived from it."""
    first = number == 1
    return msgspec.structs.replace(
        settings,
        run_key=settings.run_key if first else f"{settings.run_key}/{number}",
        alpha=share(settings.alpha, number),
        scope=settings.scope if first else "none",
    )


@dataclass(frozen=True)
class Told:
    """What a console hears after each round: its number, its end, and the findings that no round before had."""

    number: int
    finished: Finished
    new: tuple[Finding, ...]


def fuzz(arguments: Sequence[str], settings: Settings, one: Round, *, out: Path, seconds: float, most: int | None, told: Callable[[Told], None]) -> Finished:
    """Rounds until the time is up, `most` of them are done, or somebody interrupts; the chance that a correct subject is accused in any stays alpha.

    Args:
        arguments: SUBJECT arguments.
        settings: of the whole; each round gets its share.
        one: audits the subjects once.
        out: folder under which RUN is made.
        seconds: after which the round that goes on is stopped.
        most: rounds, or no limit.
        told: hears of each round.
    """
    began = time.monotonic()
    whole = _Whole(run_folder(out, list(arguments)), partial(header_of, arguments=list(arguments)), settings)
    number, reason = 0, ""
    with contextlib.suppress(KeyboardInterrupt):
        reason = INTERRUPTION
        while not _over(whole, number, began + seconds, most):
            number += 1
            finished = one(settings_of(settings, number), whole.folder / ROUNDS, Watcher(until=began + seconds))
            told(Told(number, finished, whole.add(finished)))
            if finished.exit_code == INTERRUPTED:
                raise KeyboardInterrupt
        reason = "" if whole.complete else f"{TIME_UP} in the first round"
    return whole.finished(reason, time.monotonic() - began)


def _over(whole: _Whole, number: int, until: float, most: int | None) -> bool:
    """Whether another round makes no sense: the time is up, or nothing loads."""
    return number > 0 and (time.monotonic() >= until or number == most or whole.dead)


class _Whole:
    """The folder of all rounds: its records after each, without a footer until the end, so that a killed search keeps what it found."""

    def __init__(self, folder: Path, header: Callable[..., Header], settings: Settings) -> None:
        self.folder, self.complete, self.dead = folder, False, False
        self._header = header(folder.name, settings=settings)
        self._subjects: list[SubjectRecord] = []
        self._found: list[Record] = []
        write_records(folder, [self._header])

    def add(self, done: Finished) -> tuple[Finding, ...]:
        """Take a round in; the findings that are new."""
        first = not self._found
        self._header = msgspec.structs.replace(self._header, pairs=done.header.pairs, rounds=self._header.rounds + (not first))
        self._subjects = self._subjects or [record for record in done.records if isinstance(record, SubjectRecord)]
        self.dead = all(one.problem is not None for one in self._subjects)
        self.complete = self.complete or done.complete
        known = {record.id for record in self._found if isinstance(record, Finding)}
        self._found = list(merged(self._header, [self._found, [*_kept(done, first=first)]], rounds=True))
        write_records(self.folder, [self._header, *self._subjects, *self._found])
        self._keep_files(done.folder)
        return tuple(one for one in self._found if isinstance(one, Finding) and one.id not in known)

    def _keep_files(self, run: Path) -> None:
        """The finding files of a round, which carry its key, where none of a round before has their names; and nothing else of it."""
        for file in sorted((run / FOLDER).glob("*")):
            (self.folder / FOLDER).mkdir(exist_ok=True)
            if not (self.folder / FOLDER / file.name).exists():
                shutil.move(file, self.folder / FOLDER / file.name)
        for script in sorted(run.glob("*.py")):
            if not (self.folder / script.name).exists():
                shutil.move(script, self.folder / script.name)
        shutil.rmtree(run, ignore_errors=True)

    def finished(self, reason: str, seconds: float) -> Finished:
        """The end: verdicts over all rounds, and the footer."""
        with contextlib.suppress(OSError):
            (self.folder / ROUNDS).rmdir()
        given = verdicts(self._subjects, self._found, accepted(self._header))
        code = INTERRUPTED if reason == INTERRUPTION else exit_code(given) or (UNDECIDED if reason else 0)
        footer = Footer(complete=not reason, exit_code=code, seconds=round(seconds, 3), reason=reason)
        records = (self._header, *self._subjects, *self._found, footer)
        write_records(self.folder, list(records))
        return Finished(self.folder, self._header, tuple(given), records, code, seconds, not reason)


def _kept(done: Finished, *, first: bool) -> Sequence[Record]:
    """What the whole takes from a round: of later ones neither cases that are as they should be, nor what was cut off, nor a second certificate."""
    rows = [record for record in done.records if isinstance(record, (CaseRecord, Finding, PropertyRecord))]
    return rows if first else [_bare(row) for row in rows if not _empty(row, done)]


def _empty(record: Record, done: Finished) -> bool:
    if isinstance(record, CaseRecord):
        return record.result == "ok"
    return isinstance(record, PropertyRecord) and record.status == "inconclusive" and not done.complete


def _bare(record: Record) -> Record:
    return msgspec.structs.replace(record, certificate=None) if isinstance(record, PropertyRecord) else record
