"""Properties of `keep_fraction`: the ceil((1 - thres) V) largest logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import logit_rows
from specprops.filter_logits import judge_kept
from specprops.hygiene import inputs_unchanged, twice_the_same
from specprops.logit_rows import Kept
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "contracts, keep_fraction"
NOISE, DYADIC = 1e-6, 1024
"""(1 - thres) V is computed in floating point; within NOISE of a whole number both neighbours are lawful, unless thres is a small dyadic fraction,
with which nothing is rounded."""


def _case(dtype: str, line: Sequence[float], thres: float) -> Case:
    return {"logits": array(dtype, (len(line),), line), "thres": thres}


def first(subject: Description) -> list[Case]:
    """Whole and broken counts, on few tokens."""
    dtype = subject.dtypes[0]
    return [_case(dtype, line, thres) for line, thres in (
        ((0, 1), 0.5), ((1, 0), 0.75), ((0, 2, 1), 0.5), ((0, 1), 0.0), ((3, 1, 2, 0), 0.9), ((0, 0, 1), 0.5), ((-math.inf, 1, 0), 0.5),
    )]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """Thresholds in eighths and tenths."""
    return {"logits": draw(logit_rows.batch(subject)), "thres": draw(st.sampled_from((0.0, 0.125, 0.25, 0.5, 0.75, 0.9, 0.95)))}


def kept(line: Sequence[float], thres: float) -> Kept:
    """What must and may be kept; ties at the border are a convention."""
    exact = (1 - thres) * len(line)
    noise = 0.0 if Fraction(thres).denominator <= DYADIC else NOISE
    few, many = max(1, math.ceil(exact - noise)), max(1, math.ceil(exact + noise))
    narrow, broad = logit_rows.top_k(line, few), logit_rows.top_k(line, many)
    return replace(narrow, may=broad.may)


@prop("KPF-001", "The result has the shape of the logits, and each of its entries is the one given or -inf.", source=SOURCE, guards="well-formed",
      first=first, cases=cases, limit=60)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    found = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        if any(a not in (x, -math.inf) for x, a in zip(given, row, strict=True)) or max(row) == -math.inf:
            raise Violation(
                "A kept entry is changed, or a row emptied.", (Row(logit_rows.show(given), logit_rows.show(row), "as given, or -inf"),), kind="changed"
            )


@prop("KPF-002", "The ceil((1 - thres) V) largest are kept, at least one.", source=SOURCE, guards="position", after=("KPF-001",),
      first=first, cases=cases, limit=80)  # fmt: skip
def test_kept(trial: Trial, case: Case) -> None:
    thres = float(str(case["thres"]))
    judge_kept(trial, case, lambda line: kept(line, thres))


@prop("KPF-011", "A threshold of 1 keeps one token, or is refused.", source=SOURCE, guards="hygiene", severity="advisory", after=("KPF-001",),
      first=lambda subject: [_case(subject.dtypes[0], (0, 1), 1.0)])  # fmt: skip
def test_threshold_of_one(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Value) and max(reply.outcome.values) == -math.inf:
        raise Violation("A threshold of 1 empties the row.", (Row("(0, 1)", logit_rows.show(reply.outcome.values), "(-inf, 1)"),), kind="emptied")


@prop(
    "KPF-010", "The call leaves the logits as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("KPF-001",), first=first
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop(
    "KPF-014",
    "The same logits give the same result twice.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("KPF-001",),
    first=first,
)
def test_twice_the_same(trial: Trial, case: Case) -> None:
    twice_the_same(trial, case)
