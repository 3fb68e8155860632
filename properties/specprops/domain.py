"""From a helper's declared domain to cases: the corners of the ranges first, then Hypothesis strategies of the whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from specverify.contracts import Case, array
from specverify.contracts.arrays import SMALLEST_NORMAL
from specverify.contracts.ranges import Range, entry_dtype, named_axes, smallest

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

LONGEST_AXIS = 6
"""Of a named axis: enough for a fault of indices, small enough to be read."""
CORNERS = 24
"""Cases of the corners at most."""

Axes = Mapping[str, int]


def corners(subject: Description) -> list[Case]:
    """Every argument at its smallest, then one at a time at the ends of its range."""
    domain, dtype = subject.domain or {}, subject.dtypes[0]
    dull = {name: smallest(told, dtype) for name, told in domain.items()}
    wide = {axis: LONGEST_AXIS for told in domain.values() for axis in named_axes(told)}
    cases = [dull, *({**dull, name: value} for name, told in domain.items() for value in _ends(told, dtype, dict.fromkeys(wide, 1)))]
    if wide:
        cases.append({name: next(_ends(told, dtype, wide)) for name, told in domain.items()})
    return list(itertools.islice(_distinct(cases), CORNERS))


def _distinct(cases: list[dict[str, object]]) -> Iterator[Case]:
    return (case for i, case in enumerate(cases) if case not in cases[:i])


def _ends(told: Range, dtype: str, axes: Axes) -> Iterator[object]:
    """The least and the greatest value of a range; of lists a short one and the longest, of either."""
    match told:
        case {"kind": "ints" | "floats", "low": low, "high": high}:
            yield from (low, high)
        case {"kind": "lists", "items": items, "min_size": least, "max_size": most}:
            for value in _ends(items, dtype, axes):
                yield from ([value] * size for size in dict.fromkeys((max(least, min(1, most)), most)))
        case _:
            shape = tuple(axis if isinstance(axis, int) else axes[axis] for axis in told["shape"])
            for value in _ends(told["items"], dtype, axes):
                yield array(entry_dtype(told["items"], dtype), shape, [value] * math.prod(shape))  # type: ignore[list-item]


@st.composite
def cases(draw: st.DrawFn, subject: Description) -> Case:
    """Any values of the domain; axes of one name are equal in one case, arrays have one of the declared dtypes."""
    domain, dtype = subject.domain or {}, draw(st.sampled_from(subject.dtypes))
    axes = {axis: draw(st.integers(1, LONGEST_AXIS)) for told in domain.values() for axis in named_axes(told)}
    return {name: draw(values(told, dtype, axes)) for name, told in domain.items()}


def values(told: Range, dtype: str, axes: Axes) -> st.SearchStrategy[Any]:
    """The strategy of one range, its named axes already drawn."""
    match told:
        case {"kind": "ints", "low": low, "high": high}:
            return st.integers(low, high)
        case {"kind": "floats", "low": low, "high": high}:
            return st.floats(low, high, allow_subnormal=max(abs(low), abs(high)) < SMALLEST_NORMAL["float64"])
        case {"kind": "lists", "items": items, "min_size": least, "max_size": most}:
            return st.lists(values(items, dtype, axes), min_size=least, max_size=most)
        case _:
            shape = tuple(axis if isinstance(axis, int) else axes[axis] for axis in told["shape"])
            size, items = math.prod(shape), told["items"]
            entries = st.lists(values(items, dtype, axes), min_size=size, max_size=size)
            return entries.map(lambda drawn: array(entry_dtype(items, dtype), shape, drawn))
