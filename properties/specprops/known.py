"""Laws of known faults as alternatives to the right law: of one case, in the outcomes that a property judges, and of all cases of a run together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from specverify.contracts import Case, digest
from specverify.faults.laws import LAWS, alternatives
from specverify.law import Law, Outcome
from specverify.observe import Observed, Question
from specverify.stats import RunWide, average


def beside(contract: str, case: Case, question: Question) -> Question:
    """The question with the known faults of a contract, whose laws are projected from (n, tokens), or of a sample from tokens, to the tokens."""
    project: Callable[[Outcome], Outcome] = _same if contract == "sample" else _tokens
    return Question(question.right, question.project, question.spans, alternatives=functools.partial(_laws, contract, case, project))


class Together:
    """All cases of one property on one subject that were drawn from: a fault too small or too rare for any of them shows in their product (statistics 2.9, T2).

    Attributes:
        process: the product, each case once.
        drawn: draws of all cases.
        leading: the case that speaks loudest for a known fault, with its draws; none before the first.
    """

    def __init__(self, contract: str) -> None:
        self.process = RunWide(LAWS.get(contract, {}))
        self.drawn = 0
        self.leading: tuple[Case, Observed] | None = None

    def add(self, case: Case, seen: Observed) -> None:
        """Count a case, unless it was counted before."""
        if self.process.add(digest(case), seen.ratios):
            self.drawn += seen.drawn
            if self.leading is None or average(seen.ratios) > average(self.leading[1].ratios):
                self.leading = (case, seen)

    @property
    def log_e(self) -> float:
        """Natural logarithm of the e-value of all cases; 0 before the first."""
        return self.process.log_e if self.process.cases else 0.0


def _laws(contract: str, case: Case, project: Callable[[Outcome], Outcome]) -> Mapping[str, Law]:
    return {name: law.project(project) for name, law in alternatives(contract, case).items()}


def _same(outcome: Outcome) -> Outcome:
    return outcome


def _tokens(outcome: Outcome) -> Outcome:
    return outcome[1]
