"""What a filter must and may keep: conventions are free, everything else is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specprops.keep_fraction import kept
from specprops.logit_rows import softmax, top_k, top_p

LINES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=6)


@given(LINES, st.integers(1, 7))
def test_top_k_takes_ties_cut_and_ties_kept_and_nothing_else(line: list[float], k: int) -> None:
    rule, order = top_k(line, k), sorted(range(len(line)), key=lambda i: -line[i])
    border = line[order[min(k, len(line)) - 1]]
    assert rule.refuses(frozenset(order[:k])) is None
    assert rule.refuses(frozenset(i for i, x in enumerate(line) if x >= border)) is None
    if k < len(line) and line[order[k]] < border:
        assert rule.refuses(frozenset(order[: k + 1])) is not None
    if k <= len(line) and k > 1:
        assert rule.refuses(frozenset(order[: k - 1])) is not None


@given(LINES, st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_top_p_takes_the_boundary_token_kept_and_dropped(line: list[float], p: float) -> None:
    rule, mass = top_p(line, p, "float32"), softmax(line)
    order = sorted(range(len(line)), key=lambda i: -line[i])
    n, total = 0, 0.0
    while n < len(order) and total < p:
        total += mass[order[n]]
        n += 1
    assert rule.refuses(frozenset(order[:n])) is None
    if n > 1:
        assert rule.refuses(frozenset(order[: n - 1])) is None
    assert rule.refuses(frozenset()) is not None


def test_dyadic_boundaries_are_a_convention() -> None:
    rule = top_p((0.0, 0.0), 0.5, "float32")
    assert rule.refuses(frozenset({0})) is None
    assert rule.refuses(frozenset({0, 1})) is None


def test_what_is_far_beyond_the_boundary_must_go_and_what_is_far_before_it_must_stay() -> None:
    rule = top_p((3.0, 2.0, 1.0, -9.0), 0.95, "float32")
    assert rule.refuses(frozenset({0, 1, 2, 3})) == "token 3 is kept"
    assert rule.refuses(frozenset({1, 2})) == "token 0 is dropped"


@pytest.mark.parametrize(("thres", "width", "counts"), [(0.5, 4, {2}), (0.9, 10, {1, 2}), (0.9, 9, {1}), (1.0, 3, {1}), (0.0, 3, {3})])
def test_a_fraction_is_rounded_up_within_the_noise_of_its_product(thres: float, width: int, counts: set[int]) -> None:
    line = [float(i) for i in range(width)]
    allowed = {k for k in range(1, width + 1) if kept(line, thres).refuses(frozenset(range(width - k, width))) is None}
    assert allowed == counts


def test_masked_tokens_count_for_nothing() -> None:
    rule = top_k((-math.inf, 1.0, 0.0), 2)
    assert rule.refuses(frozenset({1, 2})) is None
    assert rule.refuses(frozenset({1})) is not None
