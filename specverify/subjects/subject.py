"""A loaded subject: its description, and calls that always come back with a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from specverify.contracts import CONTRACTS, Case, fitted
from specverify.errors import SpecverifyError
from specverify.subjects.replies import Died, Explored, Reply, Sampled, TimedOut, Unexplored, explored, reply, sampled
from specverify.subjects.source import Source
from specverify.subjects.worker import Limits, Overdue, WorkerGone

STREAM_SECONDS = 20.0
LAW_SECONDS = 10.0
"""For the exploration of one case; a step over 8 tokens with 3 drafts takes 2.6 s."""
DECIDE_SECONDS = 60.0
"""For the decisions of one case: a thousand calls, and some twenty thousand seeds."""
DRAW_SECONDS = 0.02
"""A stream that needs longer than 20 s and 20 ms a draw stops by itself; that is no answer. Third-party steps take 0.1 to 1 ms at small V."""


class Served(Protocol):
    """Where subjects live: a worker process, or this one."""

    source: Source
    limits: Limits

    def describe(self) -> dict[str, Any]:
        """Load the source; its descriptions and versions."""

    def request(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Ask, and wait for at most `seconds`."""

    def close(self) -> None:
        """End it."""

    def output(self) -> str:
        """The end of what it printed."""


@dataclass(frozen=True)
class Description:
    """What a worker tells of a subject; see `subject()` for the options.

    Attributes:
        problem: why it cannot be called as its contract, or none.
    """

    name: str
    contract: str
    claim: str
    rule: str | None = None
    arrays: str = "torch"
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ("cpu",)
    batch: bool = False
    seed: str | None = None
    rng: str | None = None
    mutates: tuple[str, ...] = ()
    refuses: bool = False
    conventions: Mapping[str, Any] = field(default_factory=dict)
    domain: Mapping[str, Any] | None = None
    ensures: bool = False
    oracle: bool = False
    raises: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    peek: bool = False
    memory: int | None = None
    slots: int | None = None
    siblings: str | None = None
    scratch: tuple[str, ...] = ()
    models: str | None = None
    file: str = ""
    line: int = 0
    problem: str | None = None

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Description:
        """From a worker's message, where tuples came as lists."""
        fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in message.items()}
        return cls(**fields)


class Subject:
    """One subject in its worker. Cases are checked before they are sent; whatever the subject does comes back as a reply."""

    def __init__(self, label: str, description: Description, worker: Served) -> None:
        self.label, self.description, self.worker = label, description, worker
        self.contract = fitted(CONTRACTS[description.contract], description.domain)

    def leaves_company(self) -> bool:
        """End a process that another subject has used too, so that what that one left there counts against nobody; whether there was one."""
        shared = bool(getattr(self.worker, "users", set()) - {self.description.name})
        if shared:
            self.worker.close()
        return shared

    def call(
        self,
        case: Case,
        *,
        key: int = 0,
        seed: int | None = None,
        put: tuple[float, int] | None = None,
        watch: bool = False,
        judge: bool = False,
        again: bool = False,
        raw: bool = False,
    ) -> Reply:
        """One call; `put` (value, place) replaces one uniform number, `watch` reports what happened to the inputs, `judge` asks a helper's oracle, `again` calls twice,
        `raw` reports the result as it came.

        The seed or generator that is handed over comes from `seed`, where that is given, instead of `key`.
        """
        request = {"case": dict(case), "key": key, "seed": seed, "put": put, "watch": watch, "judge": judge, "again": again, "raw": raw}
        message = {"do": "call", "subject": self.description.name, "cases": [request]}
        calls = 1 if self.contract.calls is None else self.contract.calls(case)
        answer = self._ask(case, message, self.worker.limits.call_seconds * calls)
        return reply(answer["replies"][0]) if isinstance(answer, dict) else answer

    def sample(self, case: Case, n: int, *, key: int, spans: int = 1, keep: str | None = None) -> Sampled | Died | TimedOut:
        """Counts of n outcomes from one stream seeded by `key`; with `keep`, from batches of copies of the case, and of that part of the outcome."""
        seconds = STREAM_SECONDS + DRAW_SECONDS * n
        how = {"spans": spans} if keep is None else {"keep": keep}
        message = {"do": "sample", "subject": self.description.name, "case": dict(case), "n": n, "key": key, "seconds": seconds, **how}
        answer = self._ask(case, message, seconds + self.worker.limits.call_seconds)
        if not isinstance(answer, dict):
            return answer
        drawn = sampled(answer)
        return drawn if drawn.drawn == n else TimedOut(seconds)

    def laws(self, cases: Sequence[Case], *, spans: int = 1, probe: int = 2) -> list[Explored | Unexplored]:
        """The exact laws of several cases, each explored, or the reason why not; a process that ends or hangs under exploration is such a reason."""
        message = {
            "do": "law",
            "subject": self.description.name,
            "cases": [dict(case) for case in cases],
            "spans": spans,
            "seconds": LAW_SECONDS,
            "probe": probe,
        }
        for case in cases:
            self.contract.check(case)
        answer = self._ask(cases[0], message, LAW_SECONDS * len(cases) + self.worker.limits.call_seconds)
        if not isinstance(answer, dict) or answer["laws"] is None:
            return [Unexplored(f"under exploration it {answer if not isinstance(answer, dict) else 'ends the process'}")] * len(cases)
        return [explored(one) for one in answer["laws"]]

    def decide(self, case: Case) -> dict[str, Any] | Died | TimedOut:
        """The decisions of a step with a counter-based generator, checked by the numbers that it tells; see `decide.decisions`."""
        return self._ask(case, {"do": "decide", "subject": self.description.name, "case": dict(case)}, DECIDE_SECONDS)

    def _ask(self, case: Case, message: Mapping[str, object], seconds: float) -> dict[str, Any] | Died | TimedOut:
        self.contract.check(case)
        try:
            answer = self.worker.request(message, seconds)
        except WorkerGone as event:
            return Died(event.how, event.output)
        except Overdue:
            return TimedOut(seconds)
        if "error" in answer:
            raise SpecverifyError(answer["error"]["message"], hint=answer["error"]["hint"])
        return answer


def load(worker: Served) -> tuple[list[Description], dict[str, str]]:
    """The descriptions of a worker's subjects, and the versions of what it runs on.

    Raises:
        SpecverifyError: the source does not load, or declares nothing.
    """
    described = worker.describe()
    if not described["subjects"]:
        raise SpecverifyError(
            f"{worker.source.shown} declares no subject.", hint="Bind a function with `specverify.subject(CONTRACT)`; `specverify list` shows the contracts."
        )
    return [Description.of(message) for message in described["subjects"]], described["versions"]
