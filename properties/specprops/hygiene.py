"""Claims of good manners that every contract shares: undeclared side effects are advisories, never a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from specprops.alike import difference, rounding
from specprops.health import seeds
from specprops.trial import Trial
from specprops.violation import NotJudged, Row, Violation
from specverify.contracts import Case
from specverify.law import Outcome
from specverify.subjects.replies import Raised, Reply, Value

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


Judged = Callable[[Outcome], Outcome]
"""What of an outcome is not free."""


def leaves_nothing_behind(trial: Trial, case: Case, *others: Case, judged: Judged = lambda outcome: outcome) -> None:
    """Calls on other cases in between change nothing: no history, state or buffer of one call reaches the next."""
    once = trial.value(case, stage="once")
    for other in others:
        trial.call(other, stage="between")
    _still(case, judged, once, trial.call(case, stage="again"))


def same_objects_again(trial: Trial, case: Case, *, judged: Judged = lambda outcome: outcome) -> None:
    """A second call with the very objects of the first gives the same: nothing that it wrote into them is read again."""
    once = trial.value(case, again=True)
    if once.again is None:
        raise NotJudged("its worker makes no second call with the same objects")
    _still(case, judged, once, once.again)


def writes_into_nothing(subject: Description) -> str | None:
    """Why a second call with the same objects is not made."""
    return f"the subject declares that it writes into {', '.join(subject.mutates)}" if subject.mutates else None


def _still(case: Case, judged: Judged, once: Value, again: Reply) -> None:
    """Equal but for rounding, which the alignment of memory may change."""
    if isinstance(again, Value):
        told = difference(judged(again.outcome), judged(once.outcome), rounding(case, once.outcome))
    else:
        told = f"the subject {again}" if isinstance(again, Raised) else str(again)
    if told is not None:
        raise Violation(f"The second call gives another result: {told}.", (Row("result", "another", "the same twice"),), kind="left behind")


def takes_a_seed(subject: Description) -> str | None:
    """Why reproducibility is not looked at."""
    return None if subject.seed else "the subject takes no seed"


def same_seed(trial: Trial, case: Case) -> None:
    """Two calls with the same seed give the same result."""
    once, again = trial.call(case), trial.call(case)
    seeds(trial, case)
    if once != again:
        raise Violation("Two calls with one seed differ.", (Row("tokens", f"{once}, then {again}", "twice the same"),), kind="seed")
