"""Claims of good manners that every contract shares: undeclared side effects are advisories, never a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specprops.health import seeds
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description


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


def takes_a_seed(subject: Description) -> str | None:
    """Why reproducibility is not looked at."""
    return None if subject.seed else "the subject takes no seed"


def same_seed(trial: Trial, case: Case) -> None:
    """Two calls with the same seed give the same result."""
    once, again = trial.call(case), trial.call(case)
    seeds(trial, case)
    if once != again:
        raise Violation("Two calls with one seed differ.", (Row("tokens", f"{once}, then {again}", "twice the same"),), kind="seed")
