"""What can come back from a subject, as the tool sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specverify.contracts import Array
from specverify.law import ExactLaw, Outcome, Path, freeze


@dataclass(frozen=True)
class Value:
    """A result of the contract's form.

    Attributes:
        outcome: the canonical outcome.
        changed: arguments that the call wrote into, where it was watched.
        aliased: arguments whose memory the result shares, where it was watched.
        uniforms: uniform numbers that the call drew, where one was put.
        put: dtype of the number that was put, "" if the call drew too few.
        judged: what the subject's own `ensures` and `oracle` said, where they were asked; an exception of theirs in its place.
        again: what a second call with the same objects gave, where it was made.
        raw: the result as it came, the keywords handed over, whether one row was lifted; where it was asked for.
    """

    outcome: Outcome
    changed: tuple[str, ...] = ()
    aliased: tuple[str, ...] = ()
    uniforms: int = 0
    put: str = ""
    judged: Mapping[str, Outcome] = field(default_factory=dict)
    again: Value | Raised | Malformed | None = None
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Raised:
    """An exception of the subject: its type, the first line of its message, the innermost line of code, and whether the subject declares it."""

    type: str
    message: str
    where: str
    uniforms: int = 0
    put: str = ""
    declared: bool = False
    raw: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"raises {self.type}" + (f": {self.message}" if self.message else "") + (f" ({self.where})" if self.where else "")


@dataclass(frozen=True)
class Malformed:
    """A result that is not of the contract's form."""

    sentence: str
    uniforms: int = 0
    put: str = ""
    raw: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Died:
    """The worker process ended during the call: how, and the last of what it printed."""

    how: str
    output: str = ""

    def __str__(self) -> str:
        return f"ends the process ({self.how})"


@dataclass(frozen=True)
class TimedOut:
    """No answer within the time limit; the worker was killed."""

    seconds: float

    def __str__(self) -> str:
        return f"gives no answer within {self.seconds:g} s"


@dataclass(frozen=True)
class Explored:
    """A law that was explored, and an example of each exception in it; `above` says why it is near-exact and not exact, if so."""

    law: ExactLaw
    examples: Mapping[str, Raised] = field(default_factory=dict)
    above: str = ""


@dataclass(frozen=True)
class Unexplored:
    """Why a law cannot be explored: because of what the subject does, or of the size of the case.

    Attributes:
        reason: a sentence.
        size: whether the case is too large.
        hidden: whether the subject depends on something else than the draws that are followed, so that none of its laws can be trusted.
        above: where the reason is that of a near-exact law, why there is no exact one.
    """

    reason: str
    size: bool = False
    hidden: bool = False
    above: str = ""


Reply = Value | Raised | Malformed | Died | TimedOut


@dataclass(frozen=True)
class Sampled:
    """Counts of one stream, and an example of each exception in it."""

    counts: Mapping[Outcome, int]
    drawn: int
    examples: Mapping[str, Raised] = field(default_factory=dict)


def reply(message: Mapping[str, Any]) -> Value | Raised | Malformed:
    """A call's reply from its message."""
    told: dict[str, Any] = {"uniforms": int(message.get("uniforms", 0)), "put": str(message.get("put", "")), "raw": message.get("raw")}
    match message["is"]:
        case "value":
            value = message["value"]
            outcome = value if isinstance(value, Array) else freeze(value)
            judged = {name: _judgement(one) for name, one in message.get("judged", {}).items()}
            again = reply(message["again"]) if "again" in message else None
            return Value(outcome, tuple(message.get("changed", ())), tuple(message.get("aliased", ())), judged=judged, again=again, **told)
        case "raised":
            return Raised(message["type"], message["message"], message["where"], declared=bool(message.get("declared")), **told)
        case _:
            return Malformed(message["sentence"], **told)


def _judgement(message: Mapping[str, Any]) -> Outcome:
    return freeze(message["value"]) if message["is"] == "value" else Raised(message["type"], message["message"], message["where"])


def sampled(message: Mapping[str, Any]) -> Sampled:
    """A stream's counts from its message."""
    counts = {freeze(outcome): int(count) for outcome, count in message["counts"]}
    examples = {name: Raised(one["type"], one["message"], one["where"]) for name, one in message["raised"].items()}
    return Sampled(counts, int(message["drawn"]), examples)


def explored(message: Mapping[str, Any]) -> Explored | Unexplored:
    """A law from its message."""
    above = str(message.get("above", ""))
    if message["is"] != "law":
        return Unexplored(message["reason"], size=message["is"] == "too large", hidden=message["is"] == "hidden", above=above)
    masses = {freeze(outcome): float(mass) for outcome, mass in message["law"]}
    paths = {freeze(outcome): Path(float(mass), freeze(steps)) for outcome, mass, steps in message["paths"]}
    notes, runs, idealised = tuple(message["notes"]), int(message["runs"]), bool(message["idealised"])
    law = ExactLaw(masses, float(message["open"]), message["kind"], float(message["tolerance"]), notes, paths, runs, idealised)
    return Explored(law, {name: Raised(one["type"], one["message"], one["where"]) for name, one in message["raised"].items()}, above)
