"""What is said of a law that is wrong: a sentence, and the outcomes that differ most."""

from __future__ import annotations

import math
from collections.abc import Iterable

from specprops.violation import Row, Violation
from specverify.law import Outcome, show_outcome, show_probability
from specverify.observe import Exactly, Observed, Question
from specverify.observe.ladder import is_failure

SHOWN_ROWS = 12


def exact_violation(question: Question, seen: Exactly, severity: str | None = None) -> Violation:
    """What to say of an explored law that is wrong."""
    impossible = seen.comparison.impossible
    if question.invariant is not None or any(is_failure(outcome) for outcome in impossible):
        chance = show_probability(math.fsum(impossible.values()), "float32")
        text = _broken_text(question.invariant or "A call fails", seen, impossible, f"with probability {chance}")
        failures = _failures(impossible)
        return Violation(text, table(question, seen), kind=failures[0] if failures else "invariant", observed=seen, severity=severity)
    message = f"The law is off by a total variation of {show_probability(seen.comparison.tv, 'float32')}."
    return Violation(message, table(question, seen), kind="law", observed=seen, severity=severity)


def statistical_violation(question: Question, seen: Observed) -> Violation:
    """What to say of an observation that speaks against the right law."""
    if question.invariant is not None or any(is_failure(outcome) for outcome in seen.counts):
        return _broken(question.invariant or "Some draws fail", question, seen)
    distance = seen.found.total_variation(question.right)
    return Violation(f"The law is off by a total variation of about {distance:.2g}.", table(question, seen), kind="law", question=question, observed=seen)


def _broken(message: str, question: Question, seen: Observed) -> Violation:
    outside = [outcome for outcome in seen.counts if question.right[outcome] == 0]
    failures = _failures(outside)
    share = sum(seen.counts[outcome] for outcome in outside) / seen.drawn
    text = _broken_text(message, seen, outside, f"in {show_share(share)} of the draws")
    return Violation(text, table(question, seen), kind=failures[0] if failures else "invariant", question=question, observed=seen)


def _failures(outside: Iterable[Outcome]) -> list[str]:
    return sorted({str(outcome[1]) for outcome in outside if is_failure(outcome) and isinstance(outcome[0], str)})


def _broken_text(message: str, seen: Observed | Exactly, outside: Iterable[Outcome], how_often: str) -> str:
    examples = "".join(f" The subject {seen.examples[name]}." for name in _failures(outside) if name in seen.examples)
    return f"{message} {how_often}.{examples}"


def show_share(share: float) -> str:
    """A share as a percentage that is never rounded to none."""
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.2g}"  # noqa: PLR2004


def table(question: Question, seen: Observed | Exactly) -> tuple[Row, ...]:
    """The outcomes that differ most, found against right."""
    found = seen.found
    if question.invariant is not None:
        wrong = sorted((x for x in found.probabilities if x is not True), key=lambda x: -found[x])
        return tuple(Row(show_outcome(x), _shown(found[x], seen), "0") for x in wrong[:SHOWN_ROWS])
    outcomes = sorted(question.right.probabilities.keys() | found.probabilities.keys(), key=lambda x: -abs(found[x] - question.right[x]))
    return tuple(Row(show_outcome(x), _shown(found[x], seen, question.right[x]), show_probability(question.right[x], "float32")) for x in outcomes[:SHOWN_ROWS])


def _shown(mass: float, seen: Observed | Exactly, right: float | None = None) -> str:
    return show_probability(mass, "float32", right) if isinstance(seen, Exactly) else f"{mass:.4g}"
