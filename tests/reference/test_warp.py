"""Warping against a sort in rational arithmetic: which tokens stay, in which order the filters act, what stays as it is bit by bit."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from specref import warp

INF, NAN = math.inf, math.nan
CLOSE = 2**-40
"""Float64 softmax and four renormalisations of up to 8 tokens; borders of filters are kept 2^-30 away, so that rounding decides none."""
CLEAR = Fraction(1, 2**30)


def softmax(logits: list[float]) -> list[Fraction]:
    """As accurate as exp is, then in fractions."""
    top = max(logits)
    weights = [Fraction(math.exp(x - top)) for x in logits]
    return normalised(weights)


def normalised(weights: list[Fraction]) -> list[Fraction]:
    return [x / sum(weights) for x in weights]


def kept(law: list[Fraction], tokens: set[int]) -> list[Fraction]:
    return normalised([x * (i in tokens) for i, x in enumerate(law)])


def top_k_set(logits: list[float], k: int) -> set[int]:
    """Those that fewer than k exceed: ties at the border stay."""
    return {i for i, x in enumerate(logits) if sum(y > x for y in logits) < k}


def nucleus(law: list[Fraction], top_p: Fraction) -> tuple[set[int], Fraction]:
    """The smallest set of the likeliest whose mass reaches top_p, lowest index first among equals; and how far any sum is from top_p."""
    order = sorted(range(len(law)), key=lambda i: (-law[i], i))
    sums = [sum(law[i] for i in order[: n + 1]) for n in range(len(order))]
    size = next((n for n, total in enumerate(sums) if total >= top_p), len(order) - 1)
    return set(order[: size + 1]), min(abs(total - top_p) for total in sums)


def oracle(logits: list[float], temperature: float, top_k: int, top_p: float, min_p: float) -> list[Fraction]:
    """Temperature, top-k, top-p, min-p, each on what the one before left."""
    if temperature == 0:
        return [Fraction(i == logits.index(max(logits))) for i in range(len(logits))]
    law = softmax([(x - max(logits)) / temperature for x in logits])
    if 0 < top_k < len(logits):
        law = kept(law, top_k_set(logits, top_k))
    if top_p < 1:
        tokens, distance = nucleus(law, Fraction(top_p))
        assume(distance > CLEAR)
        law = kept(law, tokens)
    if min_p > 0:
        least = Fraction(min_p) * max(law)
        assume(min(abs(x - least) for x in law) > CLEAR or min_p == 1)
        law = kept(law, {i for i, x in enumerate(law) if x >= least})
    return law


def of(logits: list[float], kind: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(logits, dtype=kind)


def of_law(law: list[float], kind: torch.dtype = torch.float64) -> torch.Tensor:
    """Logits whose softmax is the law: powers of two come back within rounding."""
    return of(law, kind).log()


ROWS = st.lists(st.one_of(st.integers(-12, 12).map(lambda n: n / 4), st.just(-INF)), min_size=1, max_size=8).filter(lambda row: max(row) > -INF)


@settings(max_examples=300, deadline=None)
@given(
    ROWS,
    st.sampled_from([0.0, 0.25, 0.7, 1.0, 1.5, 8.0]),
    st.integers(0, 9),
    st.sampled_from([0.05, 0.3, 0.5, 0.77, 0.9, 0.999, 1.0]),
    st.sampled_from([0.0, 0.03, 0.1, 0.4, 0.9, 1.0]),
)
def test_against_a_sort(logits: list[float], temperature: float, top_k: int, top_p: float, min_p: float) -> None:
    """Quarter logits: ties everywhere, tokens that never come among them."""
    right = oracle(logits, temperature, top_k, top_p, min_p)
    found = warp(of(logits), temperature, top_k, top_p, min_p)
    assert found.tolist() == pytest.approx([float(x) for x in right], abs=CLOSE)
    assert [x > 0 for x in found.tolist()] == [x > 0 for x in right]


def test_temperature_comes_before_top_p() -> None:
    """Hot rows need more tokens for the same mass: theory, C1."""
    logits = of_law([0.6, 0.2, 0.1, 0.1])
    assert (warp(logits, 1.0, 0, 0.59) > 0).sum() == 1
    assert (warp(logits, 2.0, 0, 0.59) > 0).sum() == 2


def test_top_k_comes_before_top_p() -> None:
    """(4, 2, 1, 1) / 8: of the two likeliest, the first has 2/3 of the mass and reaches 0.6; of all four it does not."""
    logits = of_law([0.5, 0.25, 0.125, 0.125])
    assert (warp(logits, 1.0, 2, 0.6) > 0).tolist() == [True, False, False, False]
    assert (warp(logits, 1.0, 0, 0.6) > 0).tolist() == [True, True, False, False]


def test_top_p_comes_before_min_p() -> None:
    """Min-p first would leave (4, 3) / 7, of which the first reaches 0.55; top-p first keeps both."""
    logits = of_law([0.4, 0.3, 0.15, 0.15])
    assert (warp(logits, 1.0, 0, 0.55, 0.6) > 0).tolist() == [True, True, False, False]


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_temperature_zero_is_the_lowest_of_the_largest(kind: torch.dtype) -> None:
    """A one-hot row, whatever the filters."""
    logits = of([[1.0, 3.0, 3.0, -INF], [2.0, 2.0, 2.0, 2.0], [-INF, -INF, -5.0, -INF]], kind)
    for filters in ((0, 1.0, 0.0), (2, 0.5, 0.3)):
        assert warp(logits, 0.0, *filters).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]


@pytest.mark.parametrize("top_k", [1, 2, 3])
def test_top_k_keeps_ties(top_k: int) -> None:
    """Theory, C2: everything that equals the k-th."""
    assert warp(of([0.0, 5.0, 5.0, 5.0, 1.0]), top_k=top_k).tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0], abs=CLOSE)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
@pytest.mark.parametrize(("top_p", "size"), [(0.5, 2), (0.25, 1), (0.75, 3), (0.2500001, 2), (0.4999999, 2), (0.5000001, 3), (1e-9, 1), (0.9999999, 4)])
def test_top_p_at_its_border(top_p: float, size: int, kind: torch.dtype) -> None:
    """Theory, C3: four equal logits have exactly 1/4 each; the token that reaches top_p stays and no more. Lowest indices first among equals."""
    found = warp(of([3.0, 3.0, 3.0, 3.0], kind), top_p=top_p)
    assert found.tolist() == [1 / size if i < size else 0 for i in range(4)] if size != 3 else (found > 0).tolist() == [True, True, True, False]


def test_top_p_reads_the_likeliest_wherever_they_are() -> None:
    assert (warp(of_law([0.05, 0.5, 0.05, 0.4]), top_p=0.85) > 0).tolist() == [False, True, False, True]


@pytest.mark.parametrize(("min_p", "stay"), [(0.5, 2), (0.51, 1), (0.25, 4), (1.0, 1)])
def test_min_p_keeps_what_is_at_least_that_likely(min_p: float, stay: int) -> None:
    """(4, 2, 1, 1) / 8, exactly at the border; and a tie of the likeliest stays whole at min_p 1."""
    assert (warp(torch.tensor([0.0, -1.0, -2.0, -2.0]).double() * math.log(2), min_p=min_p * (1 - 1e-12)) > 0).sum() == stay
    assert warp(of([1.0, 1.0, 0.0]), min_p=1.0).tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_what_is_off_changes_no_bit(kind: torch.dtype) -> None:
    """Theory, C4: temperature 1, top_k 0 or at least V, top_p 1, min_p 0."""
    logits = torch.randn(50, 31, generator=torch.Generator().manual_seed(1)).to(kind)
    plain = logits.to(torch.promote_types(kind, torch.float32)).softmax(-1)
    for top_k in (0, 31, 1000):
        assert torch.equal(warp(logits, 1.0, top_k, 1.0, 0.0), plain)
    assert warp(logits).dtype == plain.dtype


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("temperature", [1e-30, 1e-300, 5e-324])
def test_tiny_temperatures_are_no_nan(temperature: float, kind: torch.dtype) -> None:
    """All mass on the largest, shared by ties; tokens that never come still never come."""
    found = warp(of([[1.0, 3.0, 3.0, -INF], [1e4, -1e4, 0.0, 1e-3]], kind), temperature)
    assert found.tolist() == [[0, 0.5, 0.5, 0], [1, 0, 0, 0]]


def test_large_logits_and_large_temperatures() -> None:
    assert warp(of([3e38, -3e38, 3e38], torch.float32)).tolist() == [0.5, 0, 0.5]
    assert warp(of([3e38, -3e38, 3e38], torch.float32), 0.5).tolist() == [0.5, 0, 0.5]
    assert warp(of([1.0, 2.0, -INF]), 1e300).tolist() == [0.5, 0.5, 0]


def test_rows_with_one_token_are_points() -> None:
    """Theory, C5."""
    for filters in ((0, 1.0, 0.0), (1, 0.1, 1.0), (2, 0.9, 0.5)):
        assert warp(of([[-INF, 2.0, -INF]] * 2), 0.7, *filters).tolist() == [[0, 1, 0]] * 2


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.3, 1.0]),
    st.integers(0, 50),
    st.floats(0.01, 1),
    st.floats(0, 1),
    st.sampled_from([torch.float32, torch.bfloat16]),
)
def test_rows_are_laws(seed: int, temperature: float, top_k: int, top_p: float, min_p: float, kind: torch.dtype) -> None:
    """Sums within 50 roundings, at least the likeliest token stays, the order of tokens does not turn, leading shapes stay, nothing is written."""
    logits = (4 * torch.randn(2, 3, 50, generator=torch.Generator().manual_seed(seed))).to(kind)
    before = logits.clone()
    found = warp(logits, temperature, top_k, top_p, min_p)
    assert torch.equal(before, logits)
    assert found.shape == logits.shape
    assert ((found.sum(-1) - 1).abs() <= 50 * torch.finfo(torch.float32).eps).all()
    assert (found.gather(-1, logits.float().argmax(-1, keepdim=True)) == found.amax(-1, keepdim=True)).all()
    single = torch.stack([torch.stack([warp(row, temperature, top_k, top_p, min_p) for row in rows]) for rows in logits])
    torch.testing.assert_close(single, found)


BAD = [
    ({"temperature": -1.0}, "temperature must be at least 0 and finite, not -1.0"),
    ({"temperature": NAN}, "temperature .* not nan"),
    ({"temperature": INF}, "temperature .* not inf"),
    ({"top_k": -1}, "top_k must .* not -1"),
    ({"top_p": 0.0}, r"top_p must lie in \(0, 1\], not 0.0"),
    ({"top_p": 1.5}, r"top_p .* not 1.5"),
    ({"top_p": NAN}, "top_p .* not nan"),
    ({"min_p": -0.1}, r"min_p must lie in \[0, 1\], not -0.1"),
    ({"min_p": 1.1}, "min_p .* not 1.1"),
    ({"min_p": NAN}, "min_p .* not nan"),
    ({"logits": torch.tensor([[0.0, 1.0], [0.0, NAN]])}, r"logits, row \(1,\), column 1: nan is no logit"),
    ({"logits": torch.tensor([[[0.0, INF]]])}, r"logits, row \(0, 0\), column 1: inf is no logit"),
    ({"logits": torch.tensor([[0.0, -INF], [-INF, -INF]])}, r"logits, row \(1,\): every token is masked"),
    ({"logits": torch.tensor([0, 1])}, r"logits must be a floating-point tensor of shape \(\.\.\., V\)"),
    ({"logits": torch.empty(3, 0)}, "logits must be"),
    ({"logits": torch.tensor(1.0)}, "logits must be"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[f"{name} {i}" for i, ((name,), _) in enumerate(BAD)])
def test_refusals_name_argument_row_and_column(arguments: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        warp(**{"logits": torch.zeros(2, 3)} | arguments)


# ---- wrong twins: the sort tells them from the right one


def cut(logits: torch.Tensor, top_k: int) -> torch.Tensor:
    """Top-k by sort-and-cut: exactly k stay."""
    return torch.zeros_like(logits).scatter(-1, logits.topk(top_k).indices, 1) > 0


def without_the_reaching_token(law: list[Fraction], top_p: Fraction) -> set[int]:
    """Top-p as the tokens whose inclusive sum is below it."""
    return nucleus(law, top_p)[0] - {max(nucleus(law, top_p)[0])}


def test_wrong_twins_differ_from_the_sort() -> None:
    assert set(cut(of([0.0, 5.0, 5.0, 5.0]), 2).nonzero()[:, 0].tolist()) != top_k_set([0.0, 5.0, 5.0, 5.0], 2)
    law = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    assert nucleus(law, Fraction(1, 2))[0] == {0} != without_the_reaching_token(law, Fraction(1, 2))
