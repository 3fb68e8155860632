"""Properties of `helper`: a pure function keeps what it declares, on the domain that it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from specprops.alike import difference, rounding
from specprops.domain import cases, corners
from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import NoAnswer, NotJudged, Row, Violation
from specverify.audit.cases import show_value
from specverify.contracts import Array, Case
from specverify.subjects.replies import Malformed, Raised, Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "contracts, helper"
LONGEST = 200
OPAQUE = "a result holds an object that cannot be compared"


def has_a_judge(subject: Description) -> str | None:
    """Why results are not judged."""
    return None if subject.ensures or subject.oracle else "the subject declares no postcondition and no oracle"


def _lawful(reply: Value | Raised | Malformed) -> Value | Raised:
    """A result, or an exception that the subject declares; anything else is a violation."""
    if isinstance(reply, Value) or (isinstance(reply, Raised) and reply.declared):
        return reply
    if isinstance(reply, Raised):
        raise Violation(f"The subject {reply}.", (Row("call", f"raises {reply.type}", "a result, or a declared exception"),), kind=f"raises {reply.type}")
    raise Violation(f"The result is malformed: {reply}.", kind="malformed")


@prop("HLP-001", "Every call on the declared domain gives a result or a declared exception.", source=SOURCE, guards="well-formed",
      first=corners, cases=cases, limit=30)  # fmt: skip
def test_no_undeclared_exception(trial: Trial, case: Case) -> None:
    _lawful(trial.call(case))


@prop("HLP-002", "The result is what the declared oracle gives, and the declared postcondition holds.", source=SOURCE, guards="position", after=("HLP-001",),
      first=corners, cases=cases, limit=50, applies=has_a_judge)  # fmt: skip
def test_as_declared(trial: Trial, case: Case) -> None:
    reply = _lawful(trial.call(case, judge=True))
    if isinstance(reply, Value):
        _judge_postcondition(reply)
        _judge_against_oracle(case, reply)


def _judge_postcondition(reply: Value) -> None:
    if (told := _said(reply, "ensures", "postcondition")) not in (None, True):
        raise Violation(f"The postcondition fails: {told}.", (Row("result", show(reply.outcome[1]), str(told)),), kind="postcondition")


def _judge_against_oracle(case: Case, reply: Value) -> None:
    if (told := _said(reply, "oracle", "oracle")) is None:
        return
    (_, found), (comparable, right) = reply.outcome, told
    if not (reply.outcome[0] and comparable):
        raise NoAnswer(f"{OPAQUE.capitalize()} with the oracle's: {show(found)} and {show(right)}. Write `ensures`, or return numbers, lists or dicts.")
    if (differs := difference(found, right, rounding(case, found, right))) is not None:
        raise Violation(f"The result is not the oracle's: {differs}.", (Row("result", show(found), show(right)),), kind="oracle")


def _said(reply: Value, which: str, called: str) -> Any:
    """What `ensures` or `oracle` said, none if it is not declared; an exception of its own is a mistake in the subjects file."""
    told = reply.judged.get(which)
    if isinstance(told, Raised):
        raise NoAnswer(f"The {called} itself {told}: that is for the subjects file to mend, and says nothing about the subject.")
    return told


@prop(
    "HLP-003", "Two calls with equal arguments give equal results.", source=SOURCE, guards="position", after=("HLP-001",), first=corners, cases=cases, limit=20
)
def test_deterministic(trial: Trial, case: Case) -> None:
    once, again = _lawful(trial.call(case)), _lawful(trial.call(case))
    differs = _apart(once, again)
    if differs is not None:
        raise Violation(
            f"Two calls with equal arguments differ: {differs}.", (Row("result", f"{_told(once)}, then {_told(again)}", "twice the same"),), kind="impure"
        )
    if isinstance(once, Value) and not once.outcome[0]:
        raise NotJudged(OPAQUE)


def _apart(once: Value | Raised, again: Value | Raised) -> str | None:
    if isinstance(once, Value) and isinstance(again, Value):
        told = difference(again.outcome[1], once.outcome[1])
        return told and f"in the second call {told}"
    return None if isinstance(once, Raised) and isinstance(again, Raised) and once.type == again.type else "one of them raises"


@prop("HLP-010", "The call leaves its arguments as they were, but those that it declares in mutates.", source="contracts, hygiene", guards="hygiene",
      severity="advisory", after=("HLP-001",), first=corners)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


def _told(reply: Value | Raised) -> str:
    return show(reply.outcome[1]) if isinstance(reply, Value) else f"raises {reply.type}"


def show(value: object) -> str:
    """A result in one line."""
    text = _shown(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return show_value(value) if isinstance(value, Array) else repr(value)
