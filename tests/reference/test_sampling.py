"""The reference step against the paper's closed forms, computed in rational arithmetic."""

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product

import pytest
import torch

from specref import residual, sample, verify_chain
from specref.rules import Round, Standard

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
ROWS = [
    (Fraction(1, 4), Fraction(3, 4)),
    (HALF, HALF),
    (Fraction(1), Fraction(0)),
    (HALF, Fraction(1, 4), Fraction(1, 4)),
    (Fraction(0), HALF, HALF),
    (Fraction(5, 8), Fraction(3, 8), Fraction(0)),
]


def _verify(p: torch.Tensor, q: torch.Tensor, draft: torch.Tensor, coins: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """The step as a function of its uniforms."""
    tokens, n = Standard()(Round(p[None], q[None], draft[None], torch.tensor([len(draft)]), coins[None], last[None]))
    return tokens[0, : int(n) + 1]


def tensor(rows: list) -> torch.Tensor:
    return torch.tensor([[float(x) for x in row] for row in rows], dtype=torch.float64)


def pieces(thresholds: set[Fraction]) -> list[tuple[float, Fraction]]:
    """Midpoints and lengths of the pieces into which thresholds cut [0, 1): the step is constant on each."""
    cuts = sorted({Fraction(0), Fraction(1)} | {t for t in thresholds if 0 < t < 1})
    return [(float((a + b) / 2), b - a) for a, b in pairwise(cuts)]


def cumulative(row: tuple) -> set[Fraction]:
    return {sum(row[: i + 1], Fraction(0)) for i in range(len(row))}


def excess(p: tuple, q: tuple) -> tuple:
    left = tuple(max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True))
    return tuple(x / sum(left) for x in left) if sum(left) else p


def law(p: list, q: list, draft: tuple) -> dict[tuple, Fraction]:
    """The exact law of the reference's step given the draft, by cutting each uniform at its thresholds."""
    coins = [pieces({p[i][x] / q[i][x]} if q[i][x] else set()) for i, x in enumerate(draft)]
    stops = [excess(p[i], q[i]) for i in range(len(draft))] + [p[len(draft)]]
    last = pieces(set().union(*map(cumulative, stops)))
    result: dict[tuple, Fraction] = defaultdict(Fraction)
    arguments = tensor(p), tensor(q), torch.tensor(draft)
    for *us, (u, weight) in product(*coins, last):
        tokens = _verify(*arguments, torch.tensor([a for a, _ in us], dtype=torch.float64), torch.tensor(u, dtype=torch.float64))
        mass = weight
        for _, length in us:
            mass *= length
        result[tuple(tokens.tolist())] += mass
    return result


@pytest.mark.parametrize("v", [2, 3])
@pytest.mark.parametrize("gamma", [1, 2])
def test_block_law_is_the_product_of_the_target_rows(v: int, gamma: int) -> None:
    """S3: the emitted tokens, completed by the target, follow p's product exactly, position-dependent rows included."""
    rows = [row for row in ROWS if len(row) == v]
    for shift in range(len(rows)):
        p = [rows[(i + shift) % len(rows)] for i in range(gamma + 1)]
        q = [rows[(2 * i + shift + 1) % len(rows)] for i in range(gamma)]
        found: dict[tuple, Fraction] = defaultdict(Fraction)
        for draft in product(range(v), repeat=gamma):
            weight = Fraction(1)
            for i, x in enumerate(draft):
                weight *= q[i][x]
            for tokens, mass in law(p, q, draft).items() if weight else ():
                for rest in product(range(v), repeat=gamma + 1 - len(tokens)):
                    tail = Fraction(1)
                    for i, x in enumerate(rest, len(tokens)):
                        tail *= p[i][x]
                    found[tokens + rest] += weight * mass * tail
        for tokens in product(range(v), repeat=gamma + 1):
            right = Fraction(1)
            for i, x in enumerate(tokens):
                right *= p[i][x]
            assert found[tokens] == right


def test_law_given_the_draft() -> None:
    """Accept with min(1, p/q); a rejection emits the residual of its own row; the bonus comes from the last row."""
    p, q = [(HALF, Fraction(1, 4), Fraction(1, 4)), (Fraction(0), HALF, HALF)], [(Fraction(5, 8), Fraction(3, 8), Fraction(0))]
    right = {(0, 1): Fraction(2, 5), (0, 2): Fraction(2, 5), (2,): Fraction(1, 5)}
    assert {tokens: mass for tokens, mass in law(p, q, (0,)).items() if mass} == right


def test_zero_target_probability_is_never_accepted_even_at_u_zero() -> None:
    tokens = _verify(tensor([(0.0, 1.0), (1.0, 0.0)]), tensor([(1.0, 0.0)]), torch.tensor([0]), torch.zeros(1).double(), torch.tensor(0.0).double())
    assert tokens.tolist() == [1]


def test_a_drafted_token_with_q_zero_is_accepted_where_p_is_positive() -> None:
    top = torch.tensor(1 - 2**-53, dtype=torch.float64)
    tokens = _verify(tensor([(0.5, 0.5), (1.0, 0.0)]), tensor([(1.0, 0.0)]), torch.tensor([1]), top.reshape(1), top)
    assert tokens.tolist() == [1, 0]


def test_the_uppermost_uniform_falls_to_the_last_token_of_the_support() -> None:
    """Thirds sum to less than 1 in float64 at some orders; the last support point absorbs it, never a zero behind it."""
    row = torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0], dtype=torch.float64)
    top = torch.tensor(1 - 2**-53, dtype=torch.float64)
    assert _verify(row[None], torch.empty(0, 4).double(), torch.empty(0).long(), torch.empty(0).double(), top).tolist() == [2]


def test_residual_of_equal_rows_is_the_target_row() -> None:
    p = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    assert torch.equal(residual(p, p), p.double())


def test_residual_has_the_papers_value() -> None:
    """faults.md B024: (p - q)+ = (0, .3, .1), so (0, 3/4, 1/4)."""
    r = residual(torch.tensor([0.2, 0.5, 0.3]).double(), torch.tensor([0.6, 0.2, 0.2]).double())
    torch.testing.assert_close(r, torch.tensor([0, 0.75, 0.25]).double())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_dtype_is_taken_and_seeds_repeat(dtype: torch.dtype) -> None:
    rows = torch.full((5, 3), 1 / 3).to(dtype)
    first, second = (sample(rows, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)
    assert first.shape == (5,)
    assert first.dtype == torch.int64


def test_draws_come_from_the_generator_alone() -> None:
    before = torch.get_rng_state()
    verify_chain(torch.full((2, 2), 0.5), torch.full((1, 2), 0.5), torch.tensor([1]), torch.Generator().manual_seed(1))
    assert torch.equal(before, torch.get_rng_state())


def test_large_vocabulary_keeps_to_its_support() -> None:
    row = torch.zeros(32_000)
    row[[5, 31_998]] = 0.5
    drawn = sample(row.expand(2_000, -1), torch.Generator().manual_seed(3))
    assert sorted(set(drawn.tolist())) == [5, 31_998]


BAD = [
    (lambda p, q, d: (p * 2, q, d), r"p, row \(0,\): the probabilities sum to 2"),
    (lambda p, q, d: (p, q - 1, d), r"q, row \(0,\), column 0: -0.5 is not a probability"),
    (lambda p, q, d: (p * float("nan"), q, d), r"p, row \(0,\), column 0: nan"),
    (lambda p, q, d: (p[:1], q, d), r"1 draft tokens need p of shape \(2, V\)"),
    (lambda p, q, d: (p, q, d + 5), r"draft, column 0: token 5 is outside 0 … 1"),
    (lambda p, q, d: (p, q, d.float()), "draft must hold integer token ids"),
    (lambda p, q, d: (p[0], q, d), r"p must have shape \(gamma \+ 1, V\)"),
    (lambda p, q, d: (p.long(), q, d), "p must be a floating-point tensor"),
]


@pytest.mark.parametrize(("spoil", "sentence"), BAD)
def test_bad_input_is_refused_with_its_place(spoil, sentence: str) -> None:
    arguments = torch.full((2, 2), 0.5), torch.full((1, 2), 0.5), torch.tensor([0])
    with pytest.raises(ValueError, match=sentence):
        verify_chain(*spoil(*arguments), torch.Generator())


def test_rows_that_differ_in_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"p has shape \(2,\) and q has shape \(1,\)"):
        residual(torch.tensor([0.5, 0.5]), torch.tensor([1.0]))
