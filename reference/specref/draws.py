"""Drawing tokens: one uniform on [0, 1) per decision, and the inverse CDF.

A function of its uniforms is a function: tests walk through all of its cases, and a row's tokens depend on nobody else's.
"""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

BLOCK = 256
"""Columns whose sum is taken in one piece: long rows are searched by block first, then inside of one block."""
SHORT = 2 * BLOCK
"""Longest row that is searched in one piece."""

Generators = Generator | Sequence[Generator]
"""One source for a whole batch, or one for each row."""


def uniforms(counts: Sequence[int], generators: Generators, device: torch.device) -> Tensor:
    """Uniforms on [0, 1) for the rows of a batch, (B, max counts) float64.

    With a generator per row, row b takes `counts[b]` numbers from its own, whatever the other rows take; zeros stand behind them. One generator for all
    draws the whole block at once.
    """
    width = max(counts, default=0)
    if isinstance(generators, Generator):
        return torch.rand((len(counts), width), dtype=torch.float64, device=device, generator=generators)
    drawn = torch.zeros((len(counts), width), dtype=torch.float64, device=device)
    for row, count, generator in zip(drawn, counts, generators, strict=True):
        row[:count] = torch.rand((count,), dtype=torch.float64, device=device, generator=generator)
    return drawn


def inverse_cdf(weights: Tensor, u: Tensor) -> Tensor:
    """The first token whose cumulative weight exceeds u times the whole.

    A token of weight zero never comes out: cumulative sums are compared strictly, and rounding at the upper end falls to
    the last token that has weight. Sums are accumulated in float64, of blocks first where rows are long.

    Args:
        weights: rows of nonnegative numbers, not all zero, (..., V), float32 or wider; they need not sum to 1.
        u: one uniform per row, (...) float64.

    Returns:
        Token ids, (...), int64.
    """
    if weights.shape[-1] <= SHORT:
        cdf = weights.cumsum(-1, dtype=torch.float64)
        return _at(cdf, weights, u * cdf[..., -1])
    sums = _block_sums(weights)
    cdf = sums.cumsum(-1, dtype=torch.float64)
    goal = u * cdf[..., -1]
    block = _at(cdf, sums, goal)
    before = torch.where(block > 0, cdf.gather(-1, (block - 1).clamp(min=0)[..., None])[..., 0], 0.0)
    columns = block[..., None] * BLOCK + torch.arange(BLOCK, device=weights.device)
    inside = torch.where(columns < weights.shape[-1], weights.gather(-1, columns.clamp(max=weights.shape[-1] - 1)), 0.0)
    return block * BLOCK + _at(inside.cumsum(-1, dtype=torch.float64), inside, goal - before)


def _at(cdf: Tensor, weights: Tensor, goal: Tensor) -> Tensor:
    found = torch.searchsorted(cdf, goal[..., None].contiguous(), right=True)[..., 0]
    return torch.minimum(found, last_of_support(weights))


def last_of_support(weights: Tensor) -> Tensor:
    """The last token that has weight, (..., V) to (...)."""
    tokens = torch.arange(weights.shape[-1], device=weights.device)
    return torch.where(weights > 0, tokens, 0).amax(-1)


def _block_sums(weights: Tensor) -> Tensor:
    whole = weights.shape[-1] // BLOCK * BLOCK
    sums = weights[..., :whole].reshape(*weights.shape[:-1], -1, BLOCK).sum(-1)
    return torch.cat([sums, weights[..., whole:].sum(-1, keepdim=True)], -1)
