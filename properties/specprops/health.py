"""Signs of a subject's health and speed, gathered from what is observed anyway; `specverify.audit.health` makes notes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from specverify.audit.records import Sign, Speed
from specverify.contracts import Case, array_of
from specverify.faults.laws import rows_of
from specverify.faults.steps import Rows, ratio
from specverify.law import Outcome
from specverify.observe import Exactly, Observed
from specverify.observe.ladder import is_failure
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specprops.trial import Trial

EXPLORED = 2_000
"""Draws that an explored law counts as: those of a screen."""
LEAST = 1e-300
"""Stands for a chance of 0, whose logarithm JSON has not."""
CALLS = 40
"""Of one look; 40 results that are equal by chance, where the likeliest has a probability of OPEN, are 1e-12."""
OPEN = 0.5


class Health:
    """What one property saw of a subject's signs, over all its cases."""

    def __init__(self, contract: str) -> None:
        self._contract = contract
        self._seen: dict[str, bool] = {}
        self._log_chance: dict[str, float] = {}
        self.speed: Speed | None = None

    @property
    def signs(self) -> tuple[Sign, ...]:
        """All of them, by kind."""
        return tuple(Sign(kind, seen, self._log_chance.get(kind, 0.0)) for kind, seen in self._seen.items())

    def knows(self, kind: str) -> bool:
        """Whether a kind of sign was looked at."""
        return kind in self._seen

    def note(self, kind: str, *, seen: bool, log_chance: float = 0.0) -> None:
        """Count one look at a kind of sign: whether it was seen, and the chance that a correct subject would not have shown it (natural logarithm)."""
        self._seen[kind] = self._seen.get(kind, False) or seen
        self._log_chance[kind] = self._log_chance.get(kind, 0.0) + log_chance

    def outcomes(self, case: Case, seen: Observed | Exactly) -> None:
        """What draws of one case, or its explored law, show: accepted lengths, and whether equal arguments give different results."""
        rows = _rows(self._contract, case)
        if rows is None:
            return
        scale = EXPLORED if isinstance(seen, Exactly) else 1
        weights = {outcome: scale * n for outcome, n in seen.outcomes.items() if not is_failure(outcome)}
        if self._contract == "sample":
            self._variety({(): weights}, rows)
            return
        self._lengths(weights, *rows)
        self._variety(_by_draft(weights), rows)

    def _lengths(self, weights: Mapping[Outcome, float], p: Rows, q: Rows) -> None:
        """Every rule that verifies accepts the first draft token with sum p q at least (sample-and-match); every exact rule rejects it with TV(p, q) at least."""
        draws, lengths = sum(weights.values()), {n for _, n, _ in weights}
        if draws:
            speed = _speed(weights, p, q)
            self.speed = speed if self.speed is None else self.speed + speed
        self.note("acceptance", seen=max(lengths, default=0) > 0, log_chance=draws * _log(1 - float(p[0] @ q[0])))
        self.note("rejection", seen=min(lengths, default=len(q)) < len(q), log_chance=draws * _log(float(np.minimum(p[0], q[0]).sum())))

    def _variety(self, groups: Mapping[Outcome, Mapping[Outcome, float]], rows: tuple[Rows, Rows]) -> None:
        """All draws with equal arguments are the same with a chance of (largest probability)^(draws - 1) at most."""
        for draft, weights in groups.items():
            again = max(0.0, sum(weights.values()) - 1)
            self.note("variety", seen=len(weights) > 1, log_chance=again * _log(largest(*rows, draft)))


def _speed(weights: Mapping[Outcome, float], p: Rows, q: Rows) -> Speed:
    """By the standard rule a draft token is accepted with sum min(p, q), given that those before it are (2211.17192, theorem 3.5)."""
    draws, reached = sum(weights.values()), np.cumprod([1.0, *np.minimum(p[: len(q)], q).sum(-1)])
    accepted = sum(n * weight for (_, n, _), weight in weights.items())
    judged = sum(min(n + 1, len(q)) * weight for (_, n, _), weight in weights.items())
    return Speed(draws, accepted, judged, draws * float(reached[1:].sum()), draws * float(reached[:-1].sum()))


def seeds(trial: Trial, case: Case) -> None:
    """Calls with one seed while global generators differ, each beside one with another seed while they are the same; once, on the first case that is open enough."""
    rows, first = _rows(trial.subject.contract, case), trial.call(case)
    draft = tuple(int(x) for x in array_of(case, "draft").values) if "draft" in case else ()
    if rows is None or not isinstance(first, Value) or trial.health.knows("seed") or largest(*rows, draft) > OPEN:
        return
    for number in range(CALLS):
        same, other = (trial.call(case, stage=f"state/{number}", seed=seed) for seed in ("call", f"seed/{number}"))
        trial.health.note("seed", seen=other != same, log_chance=_log(largest(*rows, draft)))
        trial.health.note("unseeded", seen=same != first)


def largest(p: Rows, q: Rows, draft: tuple[int, ...]) -> float:
    """The probability of the likeliest result of one call, by the standard rule: of a sample p (rows, V) alone matters, of a step also q (gamma, V) and its draft."""
    if not draft:
        return float(p.max(-1).prod())
    best, reached = 0.0, 1.0
    for row, other, x in zip(p, q, draft, strict=False):
        accepted, left = float(ratio(row, other)[x]), np.maximum(row - other, 0.0)
        best = max(best, reached * (1 - accepted) * float(left.max() / max(left.sum(), LEAST)))
        reached *= accepted
    return max(best, reached * float(p[-1].max()))


def _rows(contract: str, case: Case) -> tuple[Rows, Rows] | None:
    """P and q of a case; that a chain's draft is given does not matter."""
    return rows_of(contract, {name: value for name, value in case.items() if name != "draft" or contract != "verify_chain"})


def _by_draft(weights: Mapping[Outcome, float]) -> dict[Outcome, dict[Outcome, float]]:
    """What the step itself gave, without the completion, for each draft."""
    groups: dict[Outcome, dict[Outcome, float]] = {}
    for (draft, n, tokens), weight in weights.items():
        group, given = groups.setdefault(tuple(map(int, draft)), {}), tokens[: n + 1]
        group[given] = group.get(given, 0.0) + weight
    return groups


def _log(chance: float) -> float:
    return math.log(min(1.0, max(chance, LEAST)))
