"""Properties of `warp`: temperature, top-k and top-p, to probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import filter_order, logit_rows, rows
from specprops.filter_order import Filters, Seen
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.arrays import EPS
from specverify.law import show_probability
from specverify.stats import GRID
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "theory S11, C1 to C5"
TEMPERATURES = (1.0, 0.5, 2.0, 0.25, 10.0, 0.01)
STEPS = 8
"""Roundings of a softmax: logit / temperature, the difference to the top, exp, and the quotient, each twice."""


def _case(dtype: str, line: Sequence[float], temperature: float = 1.0, k: int | None = None, p: float = 1.0) -> Case:
    return {"logits": array(dtype, (len(line),), line), "temperature": temperature, "top_k": k or len(line), "top_p": p}


def first(subject: Description) -> list[Case]:
    """Each parameter alone, on few tokens; then together."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    return [_case(dtype, line, t, k, p) for line, t, k, p in (
        ((0, 1), 1.0, None, 1.0), ((0, 1), 0.5, None, 1.0), ((0, 1), 2.0, None, 1.0), ((0, 1), 1.0, 1, 1.0), ((0, 2, 1), 1.0, 2, 1.0), ((0, 2, 1), 1.0, None, 0.5),
        ((0, 0), 1.0, None, 0.25), ((-math.inf, 1, 0), 1.0, None, 1.0), ((0, 1, 2, 3), 0.5, 3, 1.0), ((0, 8, 1), 2.0, None, 0.9), ((0, 1), 0.01, None, 1.0),
    )]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """A temperature with one filter at most."""
    logits = draw(logit_rows.batch(subject, rows.wide(subject)))
    v, filtered = logits.shape[-1], draw(st.sampled_from(("none", "top_k", "top_p")))
    return {
        "logits": logits,
        "temperature": draw(st.sampled_from(TEMPERATURES)),
        "top_k": draw(st.integers(1, v)) if filtered == "top_k" else v,
        "top_p": draw(st.sampled_from(logit_rows.TOP_P)) if filtered == "top_p" else 1.0,
    }


def together(subject: Description) -> list[Case]:
    """Rows that tell the orders of the filters apart, at temperature 1 and 2."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    single = [_case(dtype, [x * t for x in line], t, k, p) for t in (2.0, 1.0) for line, k, p in filter_order.TELLING]
    return [*single, {**single[-1], "logits": filter_order.pair(dtype)}] if subject.batch else single


@st.composite
def both(draw: st.DrawFn, subject: Description) -> Case:
    """A temperature and both filters."""
    logits = draw(logit_rows.batch(subject, rows.wide(subject)))
    k, p = draw(filter_order.parameters(logits.shape[-1]))
    return {"logits": logits, "temperature": draw(st.sampled_from(TEMPERATURES)), "top_k": k, "top_p": p}


def all_cases(subject: Description) -> st.SearchStrategy[Case]:
    """One filter or both."""
    return cases(subject) | both(subject)


@prop("WRP-001", "Every row is a distribution over its finite logits.", source=SOURCE, guards="well-formed",
      first=first, cases=all_cases, limit=60, applies=rows.needs_wide)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        off = not all(0 <= a <= 1 for a in row) or abs(math.fsum(row) - 1) > (len(row) + STEPS) * EPS[found.dtype]
        if off or any(x == -math.inf and a > 0 for x, a in zip(given, row, strict=True)):
            raise Violation("A row is no distribution over its finite logits.", _table(given, row, softmax_over(given, row, case)), kind="no distribution")


@prop("WRP-003", "Kept tokens have the probabilities of softmax(logits / temperature), normalised over them.", source="theory S11; faults B008, B016",
      guards="position", after=("WRP-001",), first=first, cases=all_cases, limit=80, applies=rows.needs_wide)  # fmt: skip
def test_value(trial: Trial, case: Case) -> None:
    found, t = trial.value(case).outcome, float(str(case["temperature"]))
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        right = softmax_over(given, row, case)
        largest = max(abs(x) for x in given if x != -math.inf) / t
        slack = (len(row) + STEPS + 2 * largest) * EPS[found.dtype]
        if any(abs(a - b) > slack * b + GRID for a, b in zip(row, right, strict=True)):
            raise Violation("A row is not the softmax of its logits over the temperature.", _table(given, row, right))


@prop("WRP-002", "The tokens that keep a probability are the top-k, or the smallest set of mass top-p.", source="theory C2, C3; faults B011, B017",
      guards="support", after=("WRP-003",), first=first, cases=cases, limit=80, applies=rows.needs_wide)  # fmt: skip
def test_kept(trial: Trial, case: Case) -> None:
    k, p, t = int(str(case["top_k"])), float(str(case["top_p"])), float(str(case["temperature"]))
    found = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        filtered = _filtered(trial.subject, given, t)
        rule = logit_rows.top_p(filtered, p, found.dtype) if p < 1 else logit_rows.top_k(given, k)
        told = rule.granting(logit_rows.vanishing([x / t for x in given])).refuses(frozenset(i for i, a in enumerate(row) if a > 0))
        if told is not None:
            raise Violation(f"In the row {logit_rows.show(given)} {told}.", _table(given, row, softmax_over(given, row, case)), kind="kept")


def _filtered(subject: Description, given: Sequence[float], temperature: float) -> list[float]:
    """The logits that the filters see: divided by the temperature, unless the subject declares that the filters come first."""
    return [x if subject.conventions.get("order") == "filters" else x / temperature for x in given]


@prop("WRP-005", "With both filters one order explains what keeps a probability in every row: top-p over the renormalised top-k tokens, or both over the whole row.",
      source="theory C1; faults B014", guards="support", after=("WRP-002",), first=together, cases=both, limit=40, applies=rows.needs_wide)  # fmt: skip
def test_both_kept(trial: Trial, case: Case) -> None:
    found, t = trial.value(case).outcome, float(str(case["temperature"]))
    seen = [
        Seen(_filtered(trial.subject, line, t), frozenset(i for i, a in enumerate(row) if a > 0), logit_rows.vanishing([x / t for x in line]))
        for line, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True)
    ]
    filter_order.judge(trial, seen, Filters(int(str(case["top_k"])), float(str(case["top_p"])), found.dtype))


def softmax_over(given: Sequence[float], row: Sequence[float], case: Case) -> list[float]:
    """The right probabilities of the tokens that the subject kept."""
    kept = [x if a > 0 else -math.inf for x, a in zip(given, row, strict=True)]
    return logit_rows.softmax(kept if max(kept) > -math.inf else given, float(str(case["temperature"])))


def greedy(subject: Description) -> list[Case]:
    """Temperature 0, a unique argmax at either end."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    return [_case(dtype, (1, 0), 0.0), _case(dtype, (0, 1, 0.5), 0.0)]


def _one_hot(trial: Trial, case: Case) -> None:
    reply, (given,) = trial.call(case), array_of(case, "logits").rows()
    right = tuple(float(x == max(given)) for x in given)
    if isinstance(reply, Value) and reply.outcome.values != right:
        raise Violation("Temperature 0 is not the one-hot argmax.", _table(given, reply.outcome.values, right), kind="temperature 0")


@prop("WRP-004", "Temperature 0 is the one-hot argmax, where that is declared.", source="theory S10; faults B072", guards="greedy", after=("WRP-001",), first=greedy,
      applies=lambda s: None if s.conventions.get("zero_means") == "argmax" else 'the subject does not declare zero_means="argmax"')  # fmt: skip
def test_declared_greedy(trial: Trial, case: Case) -> None:
    trial.value(case)
    _one_hot(trial, case)


@prop("WRP-011", "Temperature 0 is the one-hot argmax or an exception.", source="theory S10; faults B072", guards="hygiene", severity="advisory", after=("WRP-001",),
      first=greedy, applies=lambda s: "the subject declares what it does" if "zero_means" in s.conventions else None)  # fmt: skip
def test_greedy(trial: Trial, case: Case) -> None:
    _one_hot(trial, case)


@prop("WRP-012", "More places than tokens keep all.", source="theory C4", guards="hygiene", severity="advisory", after=("WRP-001",),
      first=lambda s: [_case((rows.wide(s) or s.dtypes)[0], (0, 1), 1.0, 3)])  # fmt: skip
def test_more_places_than_tokens(trial: Trial, case: Case) -> None:
    if min(trial.value(case).outcome.values) == 0:
        raise Violation("A token is dropped though there are places for all.", (Row("kept", "one token", "two"),), kind="top_k")


@prop(
    "WRP-010", "The call leaves the logits as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("WRP-001",), first=first
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop(
    "WRP-014",
    "The same logits give the same result twice.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("WRP-001",),
    first=first,
)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)


def _table(given: Sequence[float], row: Sequence[float], right: Sequence[float]) -> tuple[Row, ...]:
    return tuple(
        Row(f"logit {'-inf' if x == -math.inf else format(x, 'g')}", show_probability(a, "float32", b), show_probability(b, "float32"))
        for x, a, b in zip(given, row, right, strict=True)
    )
