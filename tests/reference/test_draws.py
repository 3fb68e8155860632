"""The inverse CDF: its law over a grid of uniforms, its ends, its long rows; uniforms by row."""

from fractions import Fraction

import pytest
import torch

from specref.draws import BLOCK, SHORT, inverse_cdf, uniforms

TOP = 1 - 2**-53
"""The largest float64 uniform on [0, 1)."""

LENGTHS = [1, 2, 32, BLOCK, SHORT - 1, SHORT, SHORT + 1, SHORT + BLOCK, SHORT + BLOCK + 1, 1000, pytest.param(70_000, marks=pytest.mark.slow)]
"""Around the lengths at which the search changes, and at multiples of its blocks."""

WIDE = [torch.float64, torch.float32]
both = pytest.mark.parametrize("kind", WIDE)
lengths = pytest.mark.parametrize("v", LENGTHS)

GRID = 2**14
"""Uniforms of a grid, at the middles of equal cells."""


def grid(n: int = GRID) -> torch.Tensor:
    return (torch.arange(n).double() + 0.5) / n


def over(weights: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    return inverse_cdf(weights.expand(len(u), -1), u)


def sparse(v: int, kind: torch.dtype, seed: int) -> torch.Tensor:
    """Small integers at up to 40 places, the first and last of each block among the candidates."""
    g = torch.Generator().manual_seed(seed)
    edges = [x for x in (0, 1, 63, 64, 65, 254, 255, 256, 257, 511, 512, 513, v - 2, v - 1) if 0 <= x < v]
    places = torch.cat([torch.tensor(edges), torch.randint(0, v, (40,), generator=g)])
    weights = torch.zeros(v, dtype=kind)
    weights[places] = torch.randint(0, 8, (len(places),), generator=g).to(kind)
    weights[places[seed % len(places)]] = 3
    return weights


@both
@lengths
def test_first_token_whose_cumulative_weight_exceeds_u(v: int, kind: torch.dtype) -> None:
    """Against whole numbers: weights are integers, unnormalised, so every border is known exactly."""
    for seed in range(3):
        weights = sparse(v, kind, seed)
        u = torch.cat([grid(512), torch.tensor([0.0, TOP], dtype=torch.float64)])
        support = weights.nonzero()[:, 0].tolist()
        ends = torch.tensor([int(weights[x]) for x in support]).cumsum(0).tolist()
        right = [next(x for x, end in zip(support, ends, strict=True) if Fraction(a) * ends[-1] < end) for a in u.tolist()]
        assert over(weights, u).tolist() == right


@both
@lengths
def test_law_of_a_dense_row(v: int, kind: torch.dtype) -> None:
    """Each token comes out of as many cells of the grid as it has mass, but for the cell at each of its two borders."""
    weights = torch.rand(v, generator=torch.Generator().manual_seed(v), dtype=torch.float64).to(kind)
    weights[torch.rand(v, generator=torch.Generator().manual_seed(1)) < 0.3] = 0
    weights[-1] = 1
    cells = min(GRID, 2**26 // v)
    found = over(weights, grid(cells)).bincount(minlength=v)
    mass = weights.double() / weights.double().sum()
    assert found[weights == 0].sum() == 0
    assert ((found - cells * mass).abs() < 1 + cells * v * torch.finfo(kind).eps).all()
    assert ((found.cumsum(0) - cells * mass.cumsum(0)).abs() < 1 + cells * v * torch.finfo(kind).eps).all()


@both
@lengths
@pytest.mark.parametrize("u", [0.0, 2**-53, 0.5, TOP])
def test_no_token_of_weight_zero(v: int, u: float, kind: torch.dtype) -> None:
    """One token has all weight, at each end and around each border of a block; or it has next to none of it."""
    for at in {x for x in (0, 1, 63, 64, 65, 255, 256, 257, 511, 512, 513, v // 256 * 256, v - 1) if x < v}:
        weights = torch.zeros(2, v, dtype=kind)
        weights[:, at] = 0.1
        weights[1, v // 2] = 1e-30
        found = inverse_cdf(weights, torch.full((2,), u, dtype=torch.float64))
        assert found[0].item() == at
        assert weights[1, found[1]].item() > 0


@both
@lengths
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-7, 3e5])
def test_ends_of_rows_that_round(v: int, value: float, kind: torch.dtype) -> None:
    """Equal weights whose sums round: u = 0 is the first, the largest u the last that has weight (it may be short by as many as rounding spans)."""
    weights = torch.zeros(v, dtype=kind)
    size = v - v // 4
    weights[:size] = value
    first, last = over(weights, torch.tensor([0.0, TOP], dtype=torch.float64)).tolist()
    assert first == 0
    assert 0 <= size - 1 - last <= size * size * torch.finfo(kind).eps


def test_borders_of_blocks_are_where_they_are_in_short_rows() -> None:
    """The same row searched in one piece and, with zeros behind it, in blocks: dyadic weights, so that both are exact."""
    g = torch.Generator().manual_seed(4)
    weights = torch.randint(0, 4, (50, 512), generator=g).float()
    u = torch.rand(50, generator=g, dtype=torch.float64)
    longer = torch.nn.functional.pad(weights, (0, 300))
    assert torch.equal(inverse_cdf(weights, u), inverse_cdf(longer, u))
    assert torch.equal(inverse_cdf(longer, u), inverse_cdf(longer / 1024, u))


@pytest.mark.parametrize("v", [3, 600])
def test_any_leading_shape(v: int) -> None:
    """(…, V) with (…), row by row; views that are not contiguous; no rows."""
    weights = torch.rand(4, v, 3, generator=torch.Generator().manual_seed(2)).transpose(1, 2)
    u = torch.rand(3, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64).T
    found = inverse_cdf(weights, u)
    assert found.tolist() == [[inverse_cdf(weights[i, j], u[i, j]).item() for j in range(3)] for i in range(4)]
    assert inverse_cdf(weights[:0], u[:0]).shape == (0, 3)


def test_uniforms_by_row_take_what_the_row_needs() -> None:
    """Row b: counts[b] numbers of its own generator in front, zeros behind them."""
    counts = [1, 3, 4]
    drawn = uniforms(counts, [torch.Generator().manual_seed(b) for b in range(3)], torch.device("cpu"))
    for b, n in enumerate(counts):
        mine = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(b)).tolist()
        assert drawn[b].tolist() == [*mine, *[0.0] * (4 - n)]
