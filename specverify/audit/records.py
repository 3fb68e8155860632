"""The event stream: what a run leaves behind, one JSON object per line. The schema is shipped as events.schema.json."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

FORMAT = 1


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding that is accepted for now: its id, why, where that is discussed, the last day, and, so that it is seen when it is gone, whose it is."""

    finding: str
    reason: str
    link: str = ""
    expires: datetime.date | None = None
    subject: str = ""
    property: str = ""


class Header(msgspec.Struct, tag="header", tag_field="kind", frozen=True):
    """First line: what was asked for, on what. `known` are the findings of the configuration that are accepted; `rounds` of `fuzz` share alpha."""

    format: int
    version: str
    suite: str
    run: str
    arguments: tuple[str, ...]
    run_key: str
    alpha: float
    draws: int
    pairs: int
    fail_on: tuple[str, ...]
    started: str
    python: str
    platform: str
    command: str = ""
    shard: int = 1
    shards: int = 1
    known: tuple[Known, ...] = ()
    rounds: int = 1


class SubjectRecord(msgspec.Struct, tag="subject", tag_field="kind", frozen=True):
    """One subject: loaded, or not and why. `python_path` is the interpreter that it runs in; `checkout` tells whether `commit` is that of a repository which a gallery entry imports from."""

    subject: str
    source: str
    contract: str = ""
    claim: str = ""
    rule: str | None = None
    file: str = ""
    line: int = 0
    versions: Mapping[str, str] = {}
    about: str = ""
    commit: str = ""
    checkout: bool = False
    python_path: str = ""
    problem: str | None = None
    hint: str | None = None
    usage: bool = False


class Statistics(msgspec.Struct, frozen=True):
    """Of one observed law. `log_e` is the natural logarithm of the e-value, `cells` the number of outcomes of the right law; infinite statistics are written as null."""

    draws: int
    log_e: float
    threshold: float | None = None
    chi_squared: float | None = None
    dof: int | None = None
    p_value: float | None = None
    pooled: int | None = None
    cells: int | None = None


class CaseRecord(msgspec.Struct, tag="case", tag_field="kind", frozen=True):
    """One case that a property judged: `result` is ok, violated, suspect, confirmed, not confirmed, no answer."""

    subject: str
    property: str
    digest: str
    result: str
    statistics: Statistics | None = None


class Line(msgspec.Struct, frozen=True):
    """One outcome of a table: found against right."""

    outcome: str
    found: str
    right: str


class Choice(msgspec.Struct, frozen=True):
    """One random choice on the way to an outcome: the primitive and its line, what it gave, and how probable that is, as a number and as text."""

    draw: str
    outcome: str
    probability: float
    shown: str


class Argument(msgspec.Struct, frozen=True):
    """One argument of a case: as text, and whole (an array as dtype, shape and base64 of little-endian bytes)."""

    name: str
    shown: str
    data: Any


class Likely(msgspec.Struct, frozen=True):
    """Known faults of equal law that may be behind a finding: names, parameters in brackets; what the first does, and the public bugs that it is modelled on.

    `fits` tells whether they explain what was seen, `left` which share of the deviation from the right law they do not; `behind` is what they leave beyond
    the best: a total variation, or where laws were `drawn` the natural logarithm of a likelihood ratio.
    """

    faults: tuple[str, ...]
    sentence: str
    corpus: tuple[str, ...]
    fits: bool
    left: float
    behind: float
    drawn: bool


class Part(msgspec.Struct, frozen=True):
    """A part of a step at one position, held against its law under the standard rule: acceptance, accepted, replacement or bonus.

    `log_e` is the natural logarithm of the e-value of its `draws`, null where the law was explored; `distance` is a total variation; `wrong` tells whether it is off.
    """

    part: str
    position: int
    draws: int
    log_e: float | None
    distance: float
    wrong: bool


class Call(msgspec.Struct, frozen=True):
    """One call behind a finding: its arguments, the keywords beside them, the seeds of Python's, numpy's and torch's generators, and what it gave.

    `gave` is the result as a Python literal (arrays as nested lists), or "raises TYPE"; `lifted` tells whether one row was handed over as (1, V).
    """

    case: tuple[Argument, ...]
    gave: str
    lifted: bool = False
    keywords: dict[str, Any] = {}
    seeds: tuple[int, int, int] | None = None


class Excess(msgspec.Struct, frozen=True):
    """An outcome that comes too often: as text, its probability found and right, and the outcomes of single draws (as `call` and stream give them) that are it."""

    outcome: str
    found: float
    right: float
    draws: tuple[Any, ...]


class Alone(msgspec.Struct, frozen=True):
    """What shows a finding again without us: calls with what they gave, or outcomes that come too often; `why_not` says why there is neither.

    `spans` is the number of successive calls that make one outcome; `lifted` tells whether one row is handed over as (1, V).
    """

    calls: tuple[Call, ...] = ()
    excess: tuple[Excess, ...] = ()
    spans: int = 1
    lifted: bool = False
    why_not: str = ""


class Finding(msgspec.Struct, tag="finding", tag_field="kind", frozen=True):
    """A property that failed: `severity` is finding, grid or advisory; `likely` names known faults, the best first; `parts` tell where a step goes wrong.

    `fault` is the class of fault that its id is made of; `alone` is what a script needs to show it.
    """

    id: str
    subject: str
    contract: str
    property: str
    sentence: str
    source: str
    severity: str
    message: str
    case: tuple[Argument, ...]
    table: tuple[Line, ...]
    evidence: str
    smallest: bool = True
    statistics: Statistics | None = None
    steps: tuple[tuple[str, str], ...] = ()
    path: tuple[Choice, ...] = ()
    output: str = ""
    file: str = ""
    line: int = 0
    likely: tuple[Likely, ...] = ()
    parts: tuple[Part, ...] = ()
    fault: str = ""
    alone: Alone | None = None


class Certificate(msgspec.Struct, frozen=True):
    """How far a law can be from the right one, after a number of draws that was fixed before: its total variation is at most `bound`, but for a chance of `risk`.

    `space` says what an outcome is, `cells` how many there are; `distance` is that of the draws' frequencies, which chance alone keeps from 0. In a shard `counts` has how often each
    outcome of the right law was drawn, and its probability there, so that shards can be added up.
    """

    space: str
    cells: int
    draws: int
    distance: float
    bound: float
    risk: float
    counts: tuple[tuple[int, float], ...] = ()


class Sign(msgspec.Struct, frozen=True):
    """A sign of a subject's health: whether it was `seen`, and the natural logarithm of the chance that a correct subject would not have shown it; see `audit.health`."""

    kind: str
    seen: bool
    log_chance: float


class Speed(msgspec.Struct, frozen=True):
    """What verify steps accepted, over all cases of a property, beside what the standard rule accepts of the same drafts: information, never a finding.

    `steps` counts draws (an explored law as those of a screen), `accepted` draft tokens, `judged` those that were looked at: all up to the first that is rejected.
    `standard_accepted` and `standard_judged` are their expectations (2211.17192, section 3.1).
    """

    steps: float
    accepted: float
    judged: float
    standard_accepted: float
    standard_judged: float

    def __add__(self, other: Speed) -> Speed:
        """Of more cases."""
        return Speed(*(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)))


class PropertyRecord(msgspec.Struct, tag="property", tag_field="kind", frozen=True):
    """One property on one subject.

    `status` is ok, failed, grid, advisory, blocked, inconclusive, lost (the worker did not come back), not applicable or unconfirmed;
    `law` tells whether a law was judged, and not invariants alone; `certificate` what a large sample promises; `signs` and `speed` what was seen beside.
    """

    subject: str
    contract: str
    property: str
    sentence: str
    guards: str
    status: str
    evidence: str
    reason: str = ""
    cases: int = 0
    draws: int = 0
    seconds: float = 0.0
    law: bool = False
    certificate: Certificate | None = None
    signs: tuple[Sign, ...] = ()
    speed: Speed | None = None


class Together(msgspec.Struct, tag="together", tag_field="kind", frozen=True):
    """All cases of one property on one subject that were drawn from, held against known faults together.

    `log_e` is the natural logarithm of the average likelihood ratio, `likeliest` the fault that explains most; `process` has the sums that shards add up, and the digests of
    the cases in them. `case` is the loudest of them, `table` what was found there.
    """

    subject: str
    property: str
    draws: int
    log_e: float
    likeliest: str
    process: dict[str, Any]
    case: tuple[Argument, ...]
    table: tuple[Line, ...]
    steps: tuple[tuple[str, str], ...] = ()


class Footer(msgspec.Struct, tag="footer", tag_field="kind", frozen=True):
    """Last line. A file without one, or with complete = false, is of a run that was cut short."""

    complete: bool
    exit_code: int
    seconds: float
    reason: str = ""


Record = Header | SubjectRecord | CaseRecord | Finding | PropertyRecord | Together | Footer

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Record).decode


def schema() -> dict[str, Any]:
    """JSON Schema of one line of the stream."""
    return msgspec.json.schema(Record)


def finding_id(subject: str, property_: str, kind: str) -> str:
    """A finding's name: the same as long as the subject breaks the property in the same way, on whatever case."""
    return hashlib.blake2b(f"{subject}|{property_}|{kind}".encode(), digest_size=4).hexdigest()


def clean(text: str) -> str:
    """Text that JSON can hold: what a subject says may contain halves of characters."""
    return text.encode("utf-8", "replace").decode()


def read(lines: Sequence[bytes]) -> list[Record]:
    """The records of a file; a last line that was cut off in writing is left out."""
    records = []
    for number, line in enumerate(lines):
        try:
            records.append(decode(line))
        except msgspec.DecodeError:
            if number != len(lines) - 1:
                raise
    return records
