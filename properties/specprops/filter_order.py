"""Top-k and top-p together: the sets that each order of the two may keep, and which order a subject follows (theory C1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from specprops import logit_rows
from specprops.logit_rows import Kept
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Array, array

ORDERS = ("top_k first", "top_p first")
FLAT = tuple(i / 8 for i in range(8))
TELLING = (((0, 1, 2, 3), 2, 0.7), ((0, 1, 2, 3), 3, 0.9), ((0, 1, 2, 3), 3, 0.5), ((1, 0, 0, 1), 3, 0.75), (FLAT, 4, 0.5))
"""Rows with a top-k and a top-p. Of (0.64, 0.24, 0.09, 0.03) the first weighs 0.73 among the first two: at top-p 0.7 the second is kept by top-p first alone.
The third row has one answer under both orders, smaller than top-k's own; the fourth ties at the border. Of the flat row top-k first keeps one or two,
top-p first three or four, as the token on the boundary stays or goes."""


@dataclass(frozen=True)
class Seen:
    """One row: the logits as the filters saw them, the tokens that were kept, and those too improbable to matter."""

    line: Sequence[float]
    kept: frozenset[int]
    vanishing: frozenset[int]


@dataclass(frozen=True)
class Filters:
    """A top-k and a top-p, and the dtype in which masses were summed."""

    k: int
    p: float
    dtype: str

    def top_k(self, line: Sequence[float]) -> Kept:
        """What top-k keeps of a row."""
        return logit_rows.top_k(line, self.k)

    def top_p(self, line: Sequence[float]) -> Kept:
        """What top-p keeps of a row."""
        return logit_rows.top_p(line, self.p, self.dtype)


def pair(dtype: str) -> Array:
    """The last of the telling rows in a batch of two, upside down the second time."""
    return array(dtype, (2, len(FLAT)), (*FLAT, *reversed(FLAT)))


def parameters(v: int) -> st.SearchStrategy[tuple[int, float]]:
    """A top-k and a top-p, both below what keeps all."""
    return st.tuples(st.integers(1, max(1, v - 1)), st.sampled_from([p for p in logit_rows.TOP_P if p < 1]))


def judge(trial: Trial, rows: Sequence[Seen], filters: Filters) -> None:
    """One order must explain what is kept of every row, the declared one where there is one; the order that was seen is remarked."""
    declared = trial.subject.conventions.get("filters")
    refusals = {order: refusal(order, rows, filters) for order in ([declared] if declared else ORDERS)}
    lawful = [order for order, told in refusals.items() if told is None]
    if not lawful:
        table = tuple(Row(f"of {logit_rows.show(row.line)}", _only(row.line, row.kept), _right(row.line, filters)) for row in rows)
        raise Violation(_complaint(refusals), table, kind="order" if declared else "kept")
    if len(lawful) == 1 and not declared:
        trial.remark = _remark(trial.remark, lawful[0])


def _complaint(refusals: Mapping[str, str | None]) -> str:
    if len(refusals) > 1 and len(set(refusals.values())) == 1:
        refusals = {"either order": next(iter(refusals.values()))}
    told = "; ".join(f"by {order}, {reason} wrongly" for order, reason in refusals.items())
    return told[:1].upper() + told[1:] + "."


def _remark(before: str, order: str) -> str:
    """What is told of the order: the one that was seen, or that it changes from case to case."""
    told = f"with both filters it applies {order}"
    return told if before in ("", told) else "which filter comes first differs from case to case"


def refusal(order: str, rows: Sequence[Seen], filters: Filters) -> str | None:
    """What was kept that the order does not allow, in the first such row, or none."""
    allowed = top_k_first if order == "top_k first" else top_p_first
    told = ((i, allowed(row, filters)) for i, row in enumerate(rows))
    return next((f"in row {i + 1} {reason}" for i, reason in told if reason is not None), None)


def top_k_first(row: Seen, filters: Filters) -> str | None:
    """Why top-p over the renormalised top-k tokens cannot keep what was kept, or none.

    Of the ties at the k-th place any that fill the k places, or all, may stay. Tied tokens are alike to top-p, so only how many stay matters; those that were
    kept in the end are among them.
    """
    rule = filters.top_k(row.line)
    ties = sorted((i for i in rule.may - rule.must if row.line[i] != -math.inf), key=lambda i: (i not in row.kept, i))
    reason = None
    for stay in range(max(0, rule.least - len(rule.must)), len(ties) + 1):
        left = rule.must.union(ties[:stay])
        reason = filters.top_p(_cut(row.line, left)).granting(row.vanishing).refuses(row.kept)
        if reason is None:
            return None
    return reason


def top_p_first(row: Seen, filters: Filters) -> str | None:
    """Why the tokens that top-p and top-k both keep of the whole row cannot be what was kept, or none. Each filter may treat ties in its own way."""
    few, heavy = filters.top_k(row.line), filters.top_p(row.line)
    both = Kept(few.must & heavy.must, few.may & heavy.may, max(1, few.least - len(few.may - heavy.must)))
    return both.granting(row.vanishing).refuses(row.kept)


def _cut(line: Sequence[float], left: frozenset[int]) -> list[float]:
    return [x if i in left else -math.inf for i, x in enumerate(line)]


def _only(line: Sequence[float], kept: frozenset[int]) -> str:
    return logit_rows.show(_cut(line, kept))


def _right(line: Sequence[float], filters: Filters) -> str:
    """What either order keeps, ties and boundary tokens kept."""
    few = filters.top_k(line).may
    first, second = filters.top_p(_cut(line, few)).may, few & filters.top_p(line).may
    return f"{_only(line, first)} by top_k first, {_only(line, second)} by top_p first"
