"""Drawing tokens: one uniform on [0, 1) per decision, and the inverse CDF.

A function of its uniforms is a function: tests walk through all of its cases, and a row's tokens depend on nobody else's.
"""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

BLOCK = 64
"""Columns whose sum is taken in one piece: long rows are searched by block first, then inside of one block."""
SHORT = 4 * BLOCK
"""Longest row that is searched in one piece."""

Generators = Generator | Sequence[Generator]
"""One source for a whole batch, or one for each row."""


def uniforms(counts: Sequence[int], generators: Generators, device: torch.device, width: int = 0) -> Tensor:
    """Uniforms on [0, 1) for the rows of a batch, (B, max counts or `width`) float64.

    With a generator per row, row b takes `counts[b]` numbers from its own, whatever the other rows take; zeros stand behind them. One generator for all
    draws the whole block at once.
    """
    width = max(width, *counts, 0)
    if isinstance(generators, Generator):
        return torch.rand((len(counts), width), dtype=torch.float64, device=device, generator=generators)
    drawn = torch.zeros((len(counts), width), dtype=torch.float64, device=device)
    for row, count, generator in zip(drawn, counts, generators, strict=True):
        row[:count] = torch.rand((count,), dtype=torch.float64, device=device, generator=generator)
    return drawn


def coins_and_last(lengths: Tensor, width: int, generators: Generators) -> tuple[Tensor, Tensor]:
    """The uniforms of one verification: one for each drafted token, (B, width), and the one that draws the emitted token, (B,).

    Args:
        lengths: drafted tokens of each row, (B,) int64.
        width: the most drafted tokens of a row.
        generators: where they come from; a row's own generator gives as many numbers as it needs, which waits for the device.
    """
    if isinstance(generators, Generator):
        drawn = torch.rand((len(lengths), width + 1), dtype=torch.float64, device=lengths.device, generator=generators)
        return drawn[:, :width], drawn[:, width]
    drawn = uniforms([length + 1 for length in lengths.tolist()], generators, lengths.device, width + 1)
    return drawn[:, :width], drawn.gather(1, lengths[:, None])[:, 0]


def check_generators(generators: Generators, rows: int) -> None:
    """Refuse a number of generators that fits no batch of so many rows."""
    if not isinstance(generators, Generator) and len(generators) != rows:
        raise ValueError(f"{rows} rows need one generator for all or one each, not {len(generators)}")


def inverse_cdf(weights: Tensor, u: Tensor) -> Tensor:
    """The first token whose cumulative weight exceeds u times the whole.

    A token of weight zero never comes out: cumulative sums are compared strictly, and what rounding would put at the upper end, or beyond it, falls to
    the last token that has weight. Sums are accumulated in float64; where rows are long, those of blocks of columns.

    Args:
        weights: rows of nonnegative numbers, not all zero, (..., V); they need not sum to 1.
        u: one uniform per row, (...) float64.

    Returns:
        Token ids, (...), int64.
    """
    if weights.shape[-1] <= SHORT or not u.numel():
        cdf = _cumulative(weights)
        return _first_above(cdf, u * cdf[..., -1])
    cdf = _cumulative(_block_sums(weights))
    goal = u * cdf[..., -1]
    block = _first_above(cdf, goal)
    return _inside_of_block(weights, block, goal - _before(cdf, block))


def _cumulative(weights: Tensor) -> Tensor:
    return weights.to(torch.float64, copy=True, memory_format=torch.contiguous_format).cumsum_(-1)


def _first_above(cdf: Tensor, goal: Tensor) -> Tensor:
    """The first place whose cumulative weight is above the goal; the last one with weight, if rounding has put the goal beyond it."""
    below_the_end = torch.minimum(goal, torch.nextafter(cdf[..., -1], torch.zeros_like(goal)))
    return torch.searchsorted(cdf, below_the_end[..., None].contiguous(), right=True)[..., 0]


def _before(cdf: Tensor, place: Tensor) -> Tensor:
    """What the weights before a place sum to, 0 before the first."""
    return cdf.gather(-1, (place - 1).clamp(min=0)[..., None])[..., 0] * (place > 0)


def _inside_of_block(weights: Tensor, block: Tensor, goal: Tensor) -> Tensor:
    """The first token of a block whose cumulative weight, counted from the block's start, is above the goal; BLOCK columns are read, for the last block those at the row's end."""
    vocabulary = weights.shape[-1]
    first = (block * BLOCK).clamp(max=vocabulary - BLOCK)
    rows = torch.arange(block.numel(), device=block.device) * vocabulary + first.flatten()
    read = weights.reshape(-1).unfold(0, BLOCK, 1).index_select(0, rows).reshape(*block.shape, BLOCK)
    cdf = _cumulative(read)
    return first + _first_above(cdf, goal + _before(cdf, block * BLOCK - first))


def _block_sums(weights: Tensor) -> Tensor:
    """Sums of blocks of columns, in the weights' own dtype; a sum of so few is off by some roundings, as the weights themselves are."""
    whole, rows = weights.shape[-1] // BLOCK, weights.shape[:-1]
    sums = weights[..., : whole * BLOCK].reshape(*rows, whole, BLOCK).sum(-1)
    return torch.cat([sums, weights[..., whole * BLOCK :].sum(-1, keepdim=True)], -1)
