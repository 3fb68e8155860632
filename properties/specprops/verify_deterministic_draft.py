"""Properties of `verify_deterministic_draft`: exact for every draft, though no q was drawn from (theory S8, S9)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import rows
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged, same_seed, takes_a_seed
from specprops.suite import prop
from specprops.trial import Trial
from specprops.verify_chain import Draw, emitted, impossible_token, keeps_prefix, keeps_support, on_draws
from specverify.contracts import Case, array, array_of
from specverify.law import product_law

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "theory S8, S9"


def _case(dtype: str, p: Sequence[Sequence[float]], draft: Sequence[int]) -> Case:
    return {"p": array(dtype, (len(p), len(p[0])), itertools.chain(*p)), "draft": array("int64", (len(draft),), draft)}


def first(subject: Description) -> list[Case]:
    """Drafts of much, little and no probability; rows differ from position to position."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    half, low = (0.5, 0.5), (0.25, 0.75)
    return [
        _case(dtype, [half, low], (0,)),
        _case(dtype, [(0, 1), (1, 0)], (0,)),
        _case(dtype, [(1, 0), half], (0,)),
        _case(dtype, [low, half, (0, 1)], (1, 0)),
        _case(dtype, [(0.5, 0.25, 0.25), (0, 0.5, 0.5)], (1,)),
        _case(dtype, [(0.25, 0.25, 0.5), (0.5, 0, 0.5), (0.125, 0.375, 0.5)], (2, 0)),
    ]


@st.composite
def tables(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None, cells: int | None = None) -> Case:
    """Rows of the target and any draft."""
    dtype, gamma = draw(st.sampled_from(dtypes or subject.dtypes)), draw(st.integers(1, 3))
    v = draw(st.integers(2, 8 if cells is None else max(v for v in range(2, 9) if v ** (gamma + 1) <= cells)))
    p = [draw(rows.row(v, dtype)) for _ in range(gamma + 1)]
    return _case(dtype, p, [draw(st.integers(0, v - 1)) for _ in range(gamma)])


def lawful(subject: Description) -> st.SearchStrategy[Case]:
    """Tables whose joint law has few enough cells, in float32 or float64."""
    return tables(subject, dtypes=rows.wide(subject), cells=rows.CELLS)


@prop("DET-001", "Every call gives 1 to gamma + 1 token ids of the vocabulary, and no exception.", source=SOURCE, guards="well-formed", statistical=True,
      first=first, cases=tables, limit=25)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The step fails")


@prop("DET-002", "All tokens but the last are the first draft tokens.", source="theory S12a", guards="well-formed", statistical=True, after=("DET-001",),
      first=first, cases=tables, limit=15)  # fmt: skip
def test_accepted_prefix(trial: Trial, case: Case) -> None:
    trial.holds(case, on_draws(keeps_prefix), "Tokens before the last differ from the draft")


@prop("DET-003", "A token that the target gives probability zero is never emitted.", source="theory S12c", guards="support", statistical=True,
      after=("DET-001",), first=first, cases=tables, limit=25)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    p = list(array_of(case, "p").rows())
    trial.holds(case, on_draws(lambda d: keeps_support(p, d)), "A token of target probability zero is emitted")


@prop("DET-008", "For every draft the emitted tokens completed from p follow the product of p's rows.", source=SOURCE, guards="joint", statistical=True,
      after=("DET-003",), first=first, cases=lawful, limit=8, applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    trial.law(case, product_law(array_of(case, "p").rows()), lambda outcome: Draw(*outcome).tokens, known=True)


@prop("DET-010", "The call leaves its arguments as they were.", source="theory, L17; faults B019", guards="hygiene", severity="advisory", after=("DET-001",),
      first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("DET-011", "The same seed gives the same tokens.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("DET-001",), first=first,
      applies=takes_a_seed)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    same_seed(trial, case)


@prop("DET-004", "No bound of a uniform generator's range leads to a token of target probability zero or to an exception.", source="theory S12c, C6, C7",
      guards="support", severity="grid", after=("DET-001", "DET-003"), first=first)  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    p = list(array_of(case, "p").rows())
    at_the_bounds(trial, case, lambda tokens: impossible_token(p, tokens), emitted)
