"""Claims of good manners that every contract shares: undeclared side effects are advisories, never a verdict."""

from __future__ import annotations

from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.subjects.replies import Value


def inputs_unchanged(trial: Trial, case: Case) -> None:
    """No argument is written into, but those that the subject declares in `mutates`."""
    reply = trial.call(case, watch=True)
    if not isinstance(reply, Value):
        return
    undeclared = [name for name in reply.changed if name not in trial.subject.mutates]
    if undeclared:
        rows = tuple(Row(name, "changed by the call", "unchanged, or declared in mutates") for name in undeclared)
        raise Violation(f"The call writes into {', '.join(undeclared)}.", rows, kind="mutates")


def memory_of_its_own(trial: Trial, case: Case) -> None:
    """The result shares no memory with an argument, but those that the subject declares in `mutates`."""
    reply = trial.call(case, watch=True)
    shared = [name for name in reply.aliased if name not in trial.subject.mutates] if isinstance(reply, Value) else []
    if shared:
        raise Violation(f"The result shares memory with {', '.join(shared)}.", (Row("memory", f"that of {shared[0]}", "its own"),), kind="aliased")


def twice_the_same(trial: Trial, case: Case) -> None:
    """A function without randomness gives equal results for equal arguments."""
    once, again = trial.call(case, stage="once"), trial.call(case, stage="again")
    if isinstance(once, Value) and isinstance(again, Value) and once.outcome != again.outcome:
        raise Violation("Two calls with equal arguments differ.", (Row("result", "two values", "twice the same"),), kind="nondeterministic")
