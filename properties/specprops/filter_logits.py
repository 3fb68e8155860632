"""Properties of `filter_logits`: top-k and top-p on logits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import filter_order, logit_rows
from specprops.filter_order import Filters, Seen
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.logit_rows import Kept
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "theory C2, C3, C4; arXiv 1904.09751"


def _case(dtype: str, line: Sequence[float], k: int, p: float = 1.0) -> Case:
    return {"logits": array(dtype, (len(line),), line), "top_k": k, "top_p": p}


def first(subject: Description) -> list[Case]:
    """Each filter alone, on few tokens; dyadic boundaries; more places than tokens."""
    dtype = subject.dtypes[0]
    return [_case(dtype, line, k, p) for line, k, p in (
        ((1, 0), 1, 1.0), ((0, 1), 2, 1.0), ((2, 0, 1), 2, 1.0), ((0, 0, 1), 2, 1.0), ((0, 1), 3, 1.0), ((0, 2, 1), 3, 0.5), ((0, 0), 2, 0.5), ((0, 0), 2, 0.25),
        ((0, 8, 1), 3, 0.25), ((-math.inf, 1, 0), 3, 0.9), ((0, 1, 2, 3), 4, 0.9),
    )]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """One filter at a time."""
    logits = draw(logit_rows.batch(subject))
    v = logits.shape[-1]
    k = draw(st.integers(1, v + 1))
    return (
        {"logits": logits, "top_k": k, "top_p": 1.0}
        if draw(st.booleans())
        else {"logits": logits, "top_k": v, "top_p": draw(st.sampled_from(logit_rows.TOP_P))}
    )


def together(subject: Description) -> list[Case]:
    """Rows that tell the orders apart; where batches are declared, two of them in one."""
    single = [_case(subject.dtypes[0], line, k, p) for line, k, p in filter_order.TELLING]
    return [*single, {**single[-1], "logits": filter_order.pair(subject.dtypes[0])}] if subject.batch else single


@st.composite
def both(draw: st.DrawFn, subject: Description) -> Case:
    """Both filters at once."""
    logits = draw(logit_rows.batch(subject))
    k, p = draw(filter_order.parameters(logits.shape[-1]))
    return {"logits": logits, "top_k": k, "top_p": p}


def all_cases(subject: Description) -> st.SearchStrategy[Case]:
    """One filter or both."""
    return cases(subject) | both(subject)


@prop("FLT-001", "The result has the shape of the logits, and each of its entries is the one given or -inf.", source=SOURCE, guards="well-formed",
      first=first, cases=all_cases, limit=60)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        if any(a not in (x, -math.inf) for x, a in zip(given, row, strict=True)):
            raise Violation("A kept entry is changed.", (Row(logit_rows.show(given), logit_rows.show(row), "entries as given, or -inf"),), kind="changed")


@prop("FLT-002", "No row is emptied.", source="contracts, filter_logits", guards="support", after=("FLT-001",),
      first=first, cases=all_cases, limit=60)  # fmt: skip
def test_not_emptied(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        if max(row) == -math.inf:
            raise Violation("A row is emptied.", (Row(logit_rows.show(given), logit_rows.show(row), "at least one token"),), kind="emptied")


@prop("FLT-003", "The kept tokens are the top-k, or the smallest set of mass top-p.", source=SOURCE, guards="position", after=("FLT-002",),
      first=first, cases=cases, limit=100)  # fmt: skip
def test_kept(trial: Trial, case: Case) -> None:
    k, p, dtype = int(str(case["top_k"])), float(str(case["top_p"])), array_of(case, "logits").dtype
    judge_kept(trial, case, lambda line: logit_rows.top_p(line, p, dtype) if p < 1 else logit_rows.top_k(line, k))


@prop("FLT-004", "With both filters one order explains what is kept of every row: top-p over the renormalised top-k tokens, or both over the whole row.",
      source="theory C1; faults B014", guards="position", after=("FLT-003",), first=together, cases=both, limit=40)  # fmt: skip
def test_both_kept(trial: Trial, case: Case) -> None:
    logits, found = array_of(case, "logits"), trial.value(case).outcome
    seen = [
        Seen(line, frozenset(i for i, a in enumerate(row) if a != -math.inf), logit_rows.vanishing(line))
        for line, row in zip(logits.rows(), found.rows(), strict=True)
    ]
    filter_order.judge(trial, seen, Filters(int(str(case["top_k"])), float(str(case["top_p"])), logits.dtype))


def judge_kept(trial: Trial, case: Case, right: Callable[[Sequence[float]], Kept]) -> None:
    """The finite entries of each row must be a set that the filter may keep."""
    found = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        rule = right(given).granting(logit_rows.vanishing(given))
        told = rule.refuses(frozenset(i for i, a in enumerate(row) if a != -math.inf))
        if told is not None:
            kept = tuple(x if i in rule.may else -math.inf for i, x in enumerate(given))
            raise Violation(f"In the row {logit_rows.show(given)} {told}.", (Row("kept", logit_rows.show(row), f"of {logit_rows.show(kept)}"),), kind="kept")


@prop(
    "FLT-010", "The call leaves the logits as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("FLT-001",), first=first
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop(
    "FLT-014",
    "The same logits give the same result twice.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("FLT-001",),
    first=first,
)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)
