"""Keys and values of a batch of texts that grow and shrink apart from each other, in a cache of Hugging Face transformers.

Such a cache has one width: every call appends as many columns to all rows. A row that read fewer tokens, or whose tokens were rejected, keeps *holes*, columns
that no query may see. Which columns are real is kept here, on the host; the model is told by mask and positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

COLUMNS_PER_TOKEN = 2
"""Columns for each token of the longest text, above which the cache is written anew without its holes. Attention reads every column, so that it never reads more
than twice of what it must; and since more columns came in since the last time than are left, a column is moved at most once on average."""


class CachedTexts:
    """The state of a batch: a cache and its holes. With one row there never is a hole.

    Args:
        rows: texts, none of which has been read yet.
        cache: an empty `DynamicCache`, or an `EncoderDecoderCache` of two.
        one_row: why the model gives right logits for a single row only; nothing if it does for any number.
        encoded: of an encoder-decoder, the named inputs that stay the same at every call, one row per text.
    """

    def __init__(self, rows: int, cache: Any, one_row: str = "", encoded: dict[str, Tensor] | None = None) -> None:
        self.cache, self.one_row, self.encoded = cache, one_row, encoded or {}
        self.real, self.nodes = torch.zeros((rows, 0), dtype=torch.bool), 0
        self._check_rows(rows)

    @property
    def counts(self) -> list[int]:
        """Tokens of each text so far."""
        return [int(count) for count in self.real.sum(1)]

    def with_new(self, lengths: Sequence[int]) -> Tensor:
        """Which columns are real once lengths[b] tokens more of each row are there, (B, columns + longest)."""
        new = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        return torch.cat([self.real, new], 1)

    def positions(self, lengths: Sequence[int]) -> Tensor:
        """Place of each new token in its text, (B, longest); behind the end of a row its last one's."""
        steps = torch.minimum(torch.arange(max(lengths)), torch.tensor(lengths)[:, None] - 1)
        return (self.real.sum(1)[:, None] + steps).clamp(min=0)

    def grow(self, real: Tensor) -> None:
        """Take over what a call of the model has appended.

        Raises:
            ValueError: the model did not append one column per token to each layer.
        """
        widths = {layer.keys.shape[-2] for layer in _filled(_own(self.cache))}
        if widths != {real.shape[1]}:
            raise ValueError(
                f"the model's layers hold {sorted(widths)} columns after {real.shape[1]} were read; only caches that keep every token are supported"
            )
        self.real = real

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        """Of the nodes that were read last, in the last `nodes` columns, keep these of each row; breadth first, a branch stands in the order of its text."""
        chosen = torch.zeros((len(paths), self.nodes), dtype=torch.bool)
        for row, path in zip(chosen, paths, strict=True):
            row[list(path)] = True
        self.real[:, self.real.shape[1] - self.nodes :] &= chosen
        self._drop_columns()

    def crop(self, lengths: Sequence[int]) -> None:
        """Forget all but the first lengths[b] tokens of row b."""
        self.real &= self.real.cumsum(1) <= torch.tensor(lengths)[:, None]
        self._drop_columns()

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        self._check_rows(len(rows))
        kept = list(rows)
        self.real = self.real[kept]
        self.encoded = {name: tensor[kept] for name, tensor in self.encoded.items()}
        _change([*_own(self.cache), *_cross(self.cache)], lambda one: one[kept])
        self._drop_columns()

    def _drop_columns(self) -> None:
        """Holes at the end of all rows always, the others when they have become too many."""
        longest, used = max(self.counts, default=0), self.real.any(0).nonzero()
        width = int(used[-1]) + 1 if len(used) else 0
        if width > (longest if len(self.real) == 1 else COLUMNS_PER_TOKEN * longest):
            self._close_holes(longest)
        elif width < self.real.shape[1]:
            self.real = self.real[:, :width]
            _change(_own(self.cache), lambda one: one[..., :width, :])

    def _close_holes(self, longest: int) -> None:
        order = self.real.to(torch.uint8).sort(dim=1, descending=True, stable=True).indices[:, :longest]
        self.real = self.real.gather(1, order)

        def moved(one: Tensor) -> Tensor:
            return one.gather(2, order.to(one.device)[:, None, :, None].expand(-1, one.shape[1], -1, one.shape[3]))

        _change(_own(self.cache), moved)

    def _check_rows(self, rows: int) -> None:
        if rows > 1 and self.one_row:
            raise ValueError(f"{rows} rows: {self.one_row}, so that rows of differing lengths would be wrong; give it one row at a time")


def _own(cache: Any) -> Iterable[Any]:
    """Layers of the texts themselves."""
    return getattr(cache, "self_attention_cache", cache).layers  # type: ignore[no-any-return]


def _cross(cache: Any) -> Iterable[Any]:
    """Layers of what the encoder read."""
    other = getattr(cache, "cross_attention_cache", None)
    return other.layers if other is not None else []


def _filled(layers: Iterable[Any]) -> list[Any]:
    return [layer for layer in layers if layer.keys is not None]


def _change(layers: Iterable[Any], function: Callable[[Tensor], Tensor]) -> None:
    for layer in _filled(layers):
        layer.keys, layer.values = function(layer.keys), function(layer.values)
