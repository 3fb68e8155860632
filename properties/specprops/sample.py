"""Properties of `sample`: one token from each row, with that row's law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import rows
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged, same_seed, takes_a_seed
from specprops.suite import prop
from specprops.trial import Trial
from specverify.contracts import Case, Family, array, array_of
from specverify.contracts.arrays import round_to
from specverify.law import Law, Outcome, product_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.subjects.subject import Description

LARGE_DRAWS = 600
"""Of a law with two outcomes over a large vocabulary, where a draw may take milliseconds: flags a total variation of 0.15 like a whole screen."""


def _case(dtype: str, *lines: Sequence[float]) -> Case:
    shape = (len(lines[0]),) if len(lines) == 1 else (len(lines), len(lines[0]))
    return {"probs": array(dtype, shape, [x for line in lines for x in line])}


def first(subject: Description) -> list[Case]:
    """Point masses at both ends, zeros in every place, small fractions; smallest first."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    single = [
        _case(dtype, line) for line in ((1, 0), (0, 1), (0.5, 0.5), (0.25, 0.75), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.25, 0.25), (0.125, 0.125, 0.25, 0.5))
    ]
    several = [_case(dtype, (0.5, 0.5), (0.5, 0.5)), _case(dtype, (0.25, 0.75), (0.75, 0.25)), _case(dtype, (0.5, 0.5, 0), (0, 0.25, 0.75))]
    return single + (several if subject.batch else [])


def boundary(subject: Description) -> list[Case]:
    """Zeros in front, behind and in the middle; thirds, whose float sums miss 1."""
    dtype = subject.dtypes[0]
    third = round_to(dtype, [1 / 3])[0]
    lines = ((0, 1), (1, 0), (0, 0.5, 0.5), (0.5, 0.5, 0), (0.5, 0, 0.5), (third, third, third, 0), (0, third, third, third))
    return [_case(dtype, line) for line in lines]


def cases(subject: Description) -> st.SearchStrategy[Case]:
    """Rows and batches in every declared dtype."""
    return st.builds(lambda probs: {"probs": probs}, rows.batch(subject))


def lawful(subject: Description) -> st.SearchStrategy[Case]:
    """Rows whose joint law has few enough cells, in float32 or float64."""
    wide = st.builds(lambda probs: {"probs": probs}, rows.batch(subject, dtypes=rows.wide(subject)))
    return wide.filter(lambda case: _cells(case) <= rows.CELLS)


def single(subject: Description) -> st.SearchStrategy[Case]:
    """One row of up to five tokens."""
    dtypes = st.sampled_from(rows.wide(subject))
    return dtypes.flatmap(lambda dtype: st.integers(2, 5).flatmap(lambda v: rows.row(v, dtype)).map(lambda line: _case(dtype, line)))


@prop("SMP-001", "Every draw gives one token id per row, and no exception.", source="contracts, sample", guards="well-formed", statistical=True,
      first=first, cases=cases, limit=30)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "Drawing fails")


@prop("SMP-002", "A token of probability zero is never drawn.", source="theory S12c", guards="support", statistical=True, after=("SMP-001",),
      first=first, cases=cases, limit=30)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    lines = _rows(case)
    trial.holds(case, lambda outcome: all(line[t] > 0 for line, t in zip(lines, _tokens(outcome), strict=True)), "A token of probability zero is drawn")


@prop("SMP-004", "Tokens follow their rows, the rows of a batch independently.", source="contracts, sample; statistics 2.7", guards="position", statistical=True,
      after=("SMP-002",), first=first, cases=lawful, limit=12, applies=rows.needs_wide)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    trial.law(case, product_law(_rows(case)), _tokens, known=True)


@prop("SMP-005", "Successive calls are independent.", source="statistics 2.7; faults B053", guards="joint", statistical=True, after=("SMP-004",),
      first=lambda subject: [case for case in first(subject) if len(_rows(case)) == 1], cases=single, limit=5, applies=rows.needs_wide,
      drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    line = _rows(case)[0]
    trial.law(case, product_law([line, line]), lambda outcome: outcome, spans=2)


def ends(subject: Description) -> list[Case]:
    """Only the first and the last token of a large vocabulary, two sizes."""
    return [{"probs": Family("edges", 1, dtype, (v,))} for dtype in rows.wide(subject)[:1] for v in rows.LARGE]


@prop("SMP-006", "The first and the last token of a large vocabulary are drawn as often as they should.", source="contracts, sample; faults B080", guards="position",
      statistical=True, after=("SMP-002",), first=ends, cases=lambda s: st.builds(lambda probs: {"probs": probs}, rows.large(s, "sparse")), limit=4,
      applies=rows.needs_wide)  # fmt: skip
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    (line,) = _rows(case)
    trial.holds(case, lambda token: line[token] > 0, "A token of probability zero is drawn")
    if sum(x > 0 for x in line) == 2:  # noqa: PLR2004  the family "edges"
        trial.law(case, Law.of({(t,): x for t, x in enumerate(line)}), _tokens, draws=LARGE_DRAWS)


@prop("SMP-010", "The call leaves the probabilities as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("SMP-001",),
      first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("SMP-011", "The same seed gives the same tokens.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("SMP-001",),
      first=first, applies=takes_a_seed)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    same_seed(trial, case)


@prop("SMP-012", "A vocabulary of one token works.", source="contracts, sample", guards="hygiene", severity="advisory", after=("SMP-001",),
      first=lambda subject: [_case(subject.dtypes[0], (1,))])  # fmt: skip
def test_one_token(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("SMP-003", "No bound of a uniform generator's range leads to a token of probability zero or to an exception.",
      source="theory C6, C7; faults B030, B073", guards="support", severity="grid", after=("SMP-001", "SMP-002"), first=boundary)  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    lines = _rows(case)

    def wrong(outcome: Outcome) -> str | None:
        zero = [token for line, token in zip(lines, _tokens(outcome), strict=True) if line[token] == 0]
        return f"token {zero[0]} of probability zero is drawn" if zero else None

    at_the_bounds(trial, case, wrong)


def _rows(case: Case) -> list[tuple[float, ...]]:
    return list(array_of(case, "probs").rows())


def _cells(case: Case) -> int:
    cells = 1
    for line in _rows(case):
        cells *= sum(x > 0 for x in line)
    return cells


def _tokens(outcome: Outcome) -> tuple[int, ...]:
    return outcome if isinstance(outcome, tuple) else (outcome,)
