"""The suite judged on this machine: which property finds each planted fault, at which cost, and how often what is right is accused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

import specverify
from specverify.audit.records import Finding, PropertyRecord, Record, SubjectRecord
from specverify.audit.run import Finished, Watcher, audit
from specverify.audit.settings import SUITE, Settings
from specverify.audit.verdict import BROKEN, UPHELD, verdicts
from specverify.faults import FAULTS, NOT_BUGS, Fault

QUICK_FAULTS = (
    "softmax-residual",
    "residual-reversed",
    "ratio-reversed",
    "ratio-uncapped",
    "counts-every-acceptance",
    "pad-one-short",
    "token-zero-raises",
    "one-hot-always-accepted",
    "greedy-row-late",
    "top-k-ignored",
    "fraction-rounded-down",
    "temperature-ignored",
    "seed-ignored",
    "last-window-missing",
    "documents-joined",
    "branches-padded-with-zero",
    "ragged-branches-read-token-0",
    "mismatch-in-a-tree-drawn-again",
    "position-is-the-slot",
    "turned-the-other-way",
    "positions-of-the-first-request",
    "heads-tiled",
    "rejected-rows-come-back",
    "state-saved-behind-the-drafts",
    "bonus-of-the-row-before",
    "bonus-row-unprocessed",
    "id-0-is-a-pad",
    "rollback-forgotten",
    "logprobs-of-the-row-before",
    "rounds-counted-for-tokens",
    "last-draft-unread-where-all-are-accepted",
    "draft-runs-into-the-next-document",
    "siblings-seen",
)
"""One of each contract but the steps of a chain and of batches, whose audits take as long as all of these."""
QUICK_NOT_BUGS = ("the-same-for-every-seed", "ties-are-cut", "residual-in-logarithms")


class Kill(msgspec.Struct, frozen=True):
    """One planted fault: the properties that should find it, those that do, the best of them first, and what that took.

    `evidence` is of the best one's finding, `named` what that finding takes for the likely fault; cases, draws and seconds are of the whole audit.
    """

    fault: str
    kind: str
    contract: str
    wanted: tuple[str, ...]
    found: tuple[str, ...]
    evidence: str
    named: tuple[str, ...]
    cases: int
    draws: int
    seconds: float

    @property
    def hit(self) -> bool:
        """Whether a property that should find it does."""
        return bool(set(self.wanted) & set(self.found))


class Harmless(msgspec.Struct, frozen=True):
    """One correct subject under one run key: how many properties judged it, and those that accuse it or gave no answer."""

    subject: str
    contract: str
    run_key: str
    judged: int
    accused: tuple[str, ...]
    undecided: tuple[str, ...]
    draws: int
    seconds: float


class SelfTest(msgspec.Struct, frozen=True):
    """The whole: what `selftest.json` holds."""

    version: str
    suite: str
    kills: tuple[Kill, ...]
    harmless: tuple[Harmless, ...]
    seconds: float

    @property
    def missed(self) -> list[str]:
        """Planted faults that no property finds which should."""
        return [kill.fault for kill in self.kills if not kill.hit]

    @property
    def accused(self) -> list[str]:
        """Correct subjects that a property accuses."""
        return list(dict.fromkeys(one.subject for one in self.harmless if one.accused))

    @property
    def undecided(self) -> list[str]:
        """Correct subjects on which a property gave no answer."""
        return list(dict.fromkeys(one.subject for one in self.harmless if one.undecided))


def selftest(faults: Sequence[str], correct: Sequence[str], keys: Sequence[str], *, out: Path, workers: str, watcher: Watcher) -> SelfTest:
    """Audit planted faults once, and correct subjects under every run key.

    Args:
        faults: names of planted faults.
        correct: SUBJECT arguments that must pass.
        keys: run keys.
        out: folder of the runs.
        workers: pytest's -n.
        watcher: told what happens.
    """
    runs, kills, harmless = list[Finished](), list[Kill](), list[Harmless]()
    if faults:
        settings = Settings(fail_on=("grid",), scope="none")
        runs.append(audit([f"fault:{name}" for name in faults], settings, python=None, out=out, workers=workers, watcher=watcher))
        kills += [kill(FAULTS[name], runs[-1].records) for name in faults]
    for key in keys if correct else ():
        runs.append(audit(list(correct), Settings(run_key=key, scope="none"), python=None, out=out, workers=workers, watcher=watcher))
        harmless += judged(runs[-1].records, key)
    return SelfTest(specverify.__version__, SUITE, tuple(kills), tuple(harmless), round(sum(run.seconds for run in runs), 1))


def quick(wanted: bool) -> tuple[list[str], list[str]]:  # noqa: FBT001  a choice of two lists
    """Names of planted faults, and not-bugs as arguments: all, or a few that take less than a minute."""
    return list(QUICK_FAULTS if wanted else FAULTS), [f"not-bug:{name}" for name in (QUICK_NOT_BUGS if wanted else NOT_BUGS)]


def kill(fault: Fault, records: Iterable[Record]) -> Kill:
    """What an audit's records say of a planted fault."""
    mine = [record for record in records if isinstance(record, (Finding, PropertyRecord)) and record.subject == fault.name]
    rows = [record for record in mine if isinstance(record, PropertyRecord)]
    failed = sorted((row for row in rows if row.status == "failed"), key=lambda row: _rank(fault, row.property))
    finding = next((record for record in mine if isinstance(record, Finding) and failed and record.id == failed[0].reason), None)
    named = finding.likely[0].faults if finding is not None and finding.likely and finding.likely[0].fits else ()
    return Kill(
        fault.name, fault.kind, fault.contract, fault.found_by, tuple(row.property for row in failed), finding.evidence if finding is not None else "", named,
        sum(row.cases for row in rows), sum(row.draws for row in rows), round(sum(row.seconds for row in rows), 1),
    )  # fmt: skip


def _rank(fault: Fault, property_: str) -> int:
    return fault.found_by.index(property_) if property_ in fault.found_by else len(fault.found_by)


def judged(records: Sequence[Record], key: str) -> list[Harmless]:
    """What an audit's records say of correct subjects."""
    given = verdicts([record for record in records if isinstance(record, SubjectRecord)], list(records))
    return [
        Harmless(
            verdict.subject.subject, verdict.subject.contract, key, sum(row.status != "not applicable" for row in verdict.properties),
            tuple(row.property for row in verdict.properties if row.status == "failed"),
            () if verdict.exit_code in (UPHELD, BROKEN) else tuple(row.property for row in verdict.properties if row.status in ("inconclusive", "lost", "blocked")) or ("loading",),
            sum(row.draws for row in verdict.properties), round(sum(row.seconds for row in verdict.properties), 1),
        )
        for verdict in given
    ]  # fmt: skip
