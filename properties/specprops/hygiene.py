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
