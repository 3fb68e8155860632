"""What small models of transformers with random weights share: several layers and heads, which no table has, and their rows without any speculation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from specverify.contracts.weights import Weights

SPREAD = 2.0
"""Standard deviation of a matrix' rows applied to unit vectors. At 1 texts soon repeat themselves, at 3 a shaken model agrees too seldom; at 2 the median margin is about 1."""
ANOTHER = 2**32
"""Between the seeds of a model's own weights and of what shakes it."""
Reader = Callable[[Tensor], Tensor]
"""Ids (T,) to the rows (T, V) behind them; it goes on where the call before has ended."""


class Real:
    """A model that tells its own rows.

    Attributes:
        calls: how often it was called.
    """

    calls: int

    def begins(self, prompt: Sequence[int]) -> Tensor:
        """The ids that stand before a text."""
        raise NotImplementedError

    def exact(self, prompt: Sequence[int], ids: Tensor) -> Tensor:
        """The row behind each id in double precision, (T, V)."""
        raise NotImplementedError

    def reader(self, prompt: Sequence[int]) -> Reader:
        """The model with a cache of its own."""
        raise NotImplementedError

    def scored(self, prompt: Sequence[int], text: Sequence[int], width: int) -> list[Tensor]:
        """The rows behind a prompt and each id of a text but the last, three times (T, V) in float64, without any speculation.

        Args:
            prompt: ids, at least one.
            text: ids, at least one.
            width: ids of a block.

        Returns:
            Rows of the oracle; of this model, read id by id; of this model, read in blocks.
        """
        before, rest = self.begins(prompt), torch.tensor(text[:-1], dtype=torch.int64)
        exact = self.exact(prompt, torch.cat([before, rest]))[len(before) - 1 :]
        return [exact, *(_read(self.reader(prompt), [before, *torch.split(rest, ids)]).double() for ids in (1, width))]


@torch.no_grad()
def _read(reader: Reader, parts: Sequence[Tensor]) -> Tensor:
    """The rows behind the first part and behind each id of the others."""
    first, *rest = [reader(part) for part in parts if len(part)]
    return torch.cat([first[-1:], *rest])


@torch.no_grad()
def fill(model: Any, weights: Weights) -> None:
    """Every matrix of a model from a seed; counts its calls from here on."""
    own, other = (torch.Generator().manual_seed(weights.seed + far) for far in (0, ANOTHER))
    embedded = [one.weight for one in model.modules() if isinstance(one, nn.Embedding)]
    for parameter in model.parameters():
        if parameter.dim() > 1:
            drawn, mixed_in = (torch.randn(parameter.shape, generator=one) for one in (own, other))
            width = 1 if any(parameter is one for one in embedded) else parameter[0].numel()
            parameter.copy_((drawn + weights.shaken / 100 * mixed_in) * SPREAD * width**-0.5)
    model.to(getattr(torch, weights.dtype)).eval()
    model.calls = 0
    model.register_forward_pre_hook(_count)


def _count(model: Any, _arguments: Any) -> None:
    model.calls += 1
