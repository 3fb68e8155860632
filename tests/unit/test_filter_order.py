"""What both filters may keep together: every implementation of either order, whatever it does with ties, and no other set."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specprops.filter_order import TELLING, Filters, Seen, refusal, top_k_first, top_p_first
from specprops.logit_rows import softmax, vanishing

LINES = st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=6)
MASSES = st.sampled_from([0.1, 0.25, 0.5, 0.7, 0.9])


def seen(line: list[float], kept: set[int]) -> Seen:
    return Seen(line, frozenset(kept), vanishing(line))


def nucleus(line: list[float], among: list[int], p: float) -> set[int]:
    """The shortest run of `among`, in its order, whose renormalised mass reaches p."""
    mass = softmax([x if i in among else -math.inf for i, x in enumerate(line)])
    kept, total = set(), 0.0
    for i in among:
        if total < p:
            kept.add(i)
        total += mass[i]
    return kept


def descending(line: list[float], ties: int) -> list[int]:
    return sorted(range(len(line)), key=lambda i: (-line[i], ties * i))


@settings(deadline=None)
@given(LINES, st.integers(1, 6), MASSES, st.sampled_from([1, -1]), st.sampled_from([1, -1]), st.booleans())
def test_either_order_takes_its_own_implementations(line: list[float], k: int, p: float, sort: int, choose: int, keep_ties) -> None:
    filters, order = Filters(k, p, "float64"), descending(line, sort)
    few = descending(line, choose)[:k]
    if keep_ties:
        few = [i for i in order if line[i] >= line[few[-1]]]
    first = nucleus(line, sorted(few, key=order.index), p)
    assert top_k_first(seen(line, first), filters) is None
    left = nucleus(line, order, p)
    assert top_p_first(seen(line, set(sorted(left, key=order.index)[:k])), filters) is None
    if left & set(few):
        assert top_p_first(seen(line, left & set(few)), filters) is None


@settings(deadline=None)
@given(LINES, st.integers(1, 5), MASSES)
def test_neither_order_takes_a_set_that_passes_over_a_better_token(line: list[float], k: int, p: float) -> None:
    order = descending(line, 1)
    worst = set(order[1:])
    if line[order[0]] > line[order[1]]:
        for order_name in ("top_k first", "top_p first"):
            assert refusal(order_name, [seen(line, worst)], Filters(k, p, "float64")) is not None


@pytest.mark.parametrize(
    ("row", "kept", "by_top_k", "by_top_p"),
    [
        (0, {3}, True, True), (0, {2, 3}, False, True), (1, {2, 3}, True, True), (1, {1, 2, 3}, False, True), (2, {3}, True, True), (2, {2, 3}, False, False),
        (4, {7}, True, False), (4, {6, 7}, True, False), (4, {5, 6, 7}, False, True), (4, {4, 5, 6, 7}, False, True), (4, {3, 4, 5, 6, 7}, False, False),
    ],
)  # fmt: skip
def test_the_telling_rows_tell(row: int, kept: set[int], by_top_k, by_top_p) -> None:
    """The token on the boundary of top-p may go or stay, so the first two rows tell only whether top-p comes first."""
    line, k, p = TELLING[row]
    filters, row = Filters(k, p, "float32"), seen(list(line), kept)
    assert (top_k_first(row, filters) is None, top_p_first(row, filters) is None) == (by_top_k, by_top_p)


def test_one_order_must_explain_every_row() -> None:
    line, k, p = TELLING[4]
    rows, filters = [seen(list(line), {6, 7}), seen(list(line), {5, 6, 7})], Filters(k, p, "float32")
    assert all(any(refusal(order, [row], filters) is None for order in ("top_k first", "top_p first")) for row in rows)
    assert refusal("top_k first", rows, filters) == "in row 2 token 5 is kept"
    assert refusal("top_p first", rows, filters) == "in row 1 token 5 is dropped"
