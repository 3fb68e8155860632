"""What was not tested, and why: properties without an answer, gathered by reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from specverify.report.marks import STATUSES, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specverify.audit.records import PropertyRecord
    from specverify.audit.verdict import Verdict

Key = TypeVar("Key")
NOT_LOADED = Mark("?", "not loaded", "open")
UNTESTED = ("not applicable", "blocked", "inconclusive", "lost", "unconfirmed")
ALWAYS_UNTESTED = (
    "laws on other cases than those tried; where a law was sampled and not explored, a fault far below the stated total variation is not seen",
    "what stands around the subjects: models, caches, schedulers and servers that are no subject of this run themselves",
    "other devices, versions and number formats than those named here, and speed in seconds",
)


@dataclass(frozen=True)
class Gap:
    """Properties that gave no answer on the same subjects, for one reason."""

    properties: tuple[str, ...]
    mark: Mark
    reason: str
    subjects: tuple[str, ...]


def gaps(verdicts: list[Verdict]) -> list[Gap]:
    """Every subject that could not be loaded, and every property without an answer."""
    rows = [row for verdict in verdicts for row in _unanswered(verdict)]
    subjects = _gathered(((row.property, row.status, row.reason), row.subject) for row in rows)
    properties = _gathered(((status, reason, names), id_) for (id_, status, reason), names in sorted(subjects.items()))
    unloaded = [verdict.subject for verdict in verdicts if verdict.subject.problem is not None]
    return [Gap(("all",), NOT_LOADED, _why("", subject.problem or ""), (subject.subject,)) for subject in unloaded] + [
        Gap(ids, STATUSES[status], _why(status, reason), names) for (status, reason, names), ids in properties.items()
    ]


def answered(verdicts: list[Verdict]) -> tuple[int, int]:
    """How many properties gave an answer, of how many."""
    total = sum(len(verdict.properties) for verdict in verdicts)
    return total - sum(len(_unanswered(verdict)) for verdict in verdicts), total


def _unanswered(verdict: Verdict) -> list[PropertyRecord]:
    return [row for row in verdict.properties if row.status in UNTESTED]


def _why(status: str, reason: str) -> str:
    return f"by {reason}" if status == "blocked" else f"– {reason}" if reason else ""


def _gathered(pairs: Iterable[tuple[Key, str]]) -> dict[Key, tuple[str, ...]]:
    """What stands beside each key, in order."""
    found: dict[Key, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}
