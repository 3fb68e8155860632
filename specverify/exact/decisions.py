"""The choices of a verification one after another, each with the right probabilities of its outcomes given what came before: the standard rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from specverify.law import Outcome

ACCEPTED, REJECTED = "accepted", "rejected"
Label = Hashable


@dataclass(frozen=True)
class Decision:
    """One choice of a kernel.

    Attributes:
        name: such as "draft token 3 of row 0".
        right: its outcomes with their right probabilities, given what came before.
        read: from what the kernel returned to the outcome of this choice.
        then: by outcome, the choice that comes after; none ends.
    """

    name: str
    right: Mapping[Label, float]
    read: Callable[[Outcome], Label]
    then: Mapping[Label, Decision] = field(default_factory=dict)


def chain(p: Sequence[Sequence[float]], q: Sequence[Sequence[float]], draft: Sequence[int]) -> Decision:
    """The decisions of `verify_chain` under the standard rule, given the draft.

    Args:
        p: rows of the target, (gamma + 1, V).
        q: rows of the draft, (gamma, V).
        draft: token ids, (gamma,), each of which its row of q can draw.
    """
    last = len(draft)
    after = Decision(f"the token after {last} accepted", _positive(p[last]), _emitted(last))
    for i in reversed(range(last)):
        x = draft[i]
        accept = min(1.0, p[i][x] / q[i][x])
        rest = [max(0.0, mine - theirs) for mine, theirs in zip(p[i], q[i], strict=True)]
        total = math.fsum(rest)
        token = Decision(f"the token after {i} accepted", _positive([one / total for one in rest] if total else p[i]), _emitted(i))
        right: dict[Label, float] = {ACCEPTED: accept, REJECTED: 1 - accept}
        after = Decision(f"draft token {x} of row {i}", right, _accepted(i, draft), {ACCEPTED: after, REJECTED: token})
    return after


def _positive(row: Sequence[float]) -> dict[Label, float]:
    return {y: mass for y, mass in enumerate(row) if mass > 0}


def _emitted(n: int) -> Callable[[Outcome], Label]:
    """The token in place n, the last one; what is no such row, as it is."""

    def read(outcome: Outcome) -> Label:
        found: Label = outcome[n] if isinstance(outcome, tuple) and len(outcome) == n + 1 else outcome
        return found

    return read


def _accepted(i: int, draft: Sequence[int]) -> Callable[[Outcome], Label]:
    """Whether the draft token of row i was accepted, or a token came in its place; what is neither, as it is."""

    def read(outcome: Outcome) -> Label:
        found: Label = outcome
        if isinstance(outcome, tuple) and outcome[:i] == tuple(draft[:i]) and len(outcome) > i:
            found = REJECTED if len(outcome) == i + 1 else ACCEPTED if outcome[i] == draft[i] else outcome
        return found

    return read


def deterministic(p: Sequence[Sequence[float]], draft: Sequence[int]) -> Decision:
    """The decisions of `verify_deterministic_draft`: q is sure of each draft token.

    Args:
        p: rows of the target, (gamma + 1, V).
        draft: token ids, (gamma,).
    """
    return chain(p, [[float(y == x) for y in range(len(p[0]))] for x in draft], draft)


def token(row: Sequence[float]) -> Decision:
    """The one decision of `sample`, on a row (V,); the kernel returns a token."""
    return Decision("the token", _positive(row), lambda outcome: outcome)
