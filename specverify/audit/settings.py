"""What a run is told: keys, levels, budgets; and the plan that carries subjects into pytest's processes."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from specverify.audit.records import Argument, Known
from specverify.subjects.source import Source
from specverify.subjects.subject import Description

SUITE = "1"
ALPHA = 1e-6
"""The chance that a correct subject fails the whole run."""
RUN_KEY = "specverify-1"
"""Fixed for a release, so that CI repeats itself; another key draws other cases and other streams."""
SCREEN_DRAWS = 2_000
"""Per case while cases are searched: a fault of total variation 0.1 on 8 cells is flagged by most of them."""
CONFIRM_DRAWS = 20_000
"""Of the one confirmation per property: reaches 1e-6 / 20 at total variation 0.05 on 8 cells."""
SCREEN_FINDS, CONFIRM_FINDS = 0.15, 0.05
"""Total variations that these find with a chance of 99 %, spread over up to 64 outcomes (tests/unit/test_fuzz.py holds them against `stats.power`)."""
FAIL_ON = ("grid", "advisory")
SCOPES = ("none", "small", "large")


class Settings(msgspec.Struct, frozen=True):
    """Of one run.

    Attributes:
        run_key: all seeds are hashes of it.
        alpha: the chance that a correct subject fails the whole run.
        draws: of a confirmation.
        screen: draws per case while cases are searched.
        fail_on: severities beside "finding" that fail the run: grid, advisory.
        pairs: (property, subject) pairs that share alpha; counted when the plan is made.
        call_seconds: time limit of one call.
        memory: address space of a worker in bytes, 0 for none.
        in_process: run subjects in pytest's own process, for a debugger.
        shard: which part of the cases is judged here, from 1.
        shards: parts that they are split into, by their digests.
        scope: of the small tables that an explored step is judged on, all of them: none, small or large.
        known: findings of the configuration.
        strict: whether known findings that are out of date fail the run.
    """

    run_key: str = RUN_KEY
    alpha: float = ALPHA
    draws: int = CONFIRM_DRAWS
    screen: int = SCREEN_DRAWS
    fail_on: tuple[str, ...] = ()
    pairs: int = 1
    call_seconds: float = 10.0
    memory: int = 2 * 2**30
    in_process: bool = False
    shard: int = 1
    shards: int = 1
    scope: str = "small"
    known: tuple[Known, ...] = ()
    strict: bool = False

    def mine(self, digest: str) -> bool:
        """Whether a case is of this shard."""
        return int(digest, 16) % self.shards == self.shard - 1

    def finding(self, tv: float | None) -> Settings:
        """With draws for a total variation (None: as they are), never fewer than before: what n draws find falls with the root of n."""
        if tv is None:
            return self
        screen, draws = (math.ceil(n * (finds / tv) ** 2) for n, finds in ((SCREEN_DRAWS, SCREEN_FINDS), (CONFIRM_DRAWS, CONFIRM_FINDS)))
        return msgspec.structs.replace(self, screen=max(screen, self.screen), draws=max(draws, self.draws))

    @property
    def threshold(self) -> float:
        """The e-value that a confirmation must reach, and so must all cases of a property together: each pair of property and subject has a share of alpha for either."""
        return 2 * self.pairs * self.shards / self.alpha


class Planned(msgspec.Struct, frozen=True):
    """One subject of the plan: how reports call it, where it comes from, what it says of itself."""

    label: str
    source: Source
    description: Description


class Replay(msgspec.Struct, frozen=True):
    """A property that is to be judged on one subject again: on this case alone, or in full if there is none."""

    subject: str
    property: str
    case: tuple[Argument, ...] | None


class Plan(msgspec.Struct, frozen=True):
    """All that pytest's processes need to know. With `replays`, these are judged and nothing else."""

    settings: Settings
    subjects: tuple[Planned, ...]
    replays: tuple[Replay, ...] = ()

    def write(self, path: Path) -> None:
        """Save as JSON."""
        path.write_bytes(msgspec.json.encode(self))

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Load what `write` saved."""
        return msgspec.json.decode(path.read_bytes(), type=cls)


def labelled(found: list[tuple[Source, Description]]) -> tuple[Planned, ...]:
    """Give each subject a name of its own: its declared name, with its source where two share one."""
    names = [description.name for _, description in found]
    return tuple(Planned(d.name if names.count(d.name) == 1 else f"{source.shown}::{d.name}", source, d) for source, d in found)
