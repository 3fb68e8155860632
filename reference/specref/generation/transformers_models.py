"""Models of Hugging Face transformers, with a cache that forgets: a rejected token is cropped, nothing is read twice.

Needs the extra `transformers`, which is imported at first use. What cannot be right is refused when the adapter is made, or at a batch's start.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specref.generation.transformers_cache import CachedTexts
from specref.generation.transformers_checks import cache_argument, check_model, most_positions, why_one_row
from specref.trees import Tree, Trees, pack


class CausalModel:
    """A decoder-only model of transformers, such as Llama, GPT-2, Qwen or Mistral.

    Args:
        model: in eval mode; its dtype and device are the adapter's. Models that attend to a window of columns, or that take no positions, serve one row at a time.

    Raises:
        ValueError: a model whose state cannot forget tokens, or whose rows depend on how a text was split into calls.
    """

    prefix = ""
    """Of the decoder's argument names."""

    def __init__(self, model: Any) -> None:
        check_model(model, encoder_decoder=bool(self.prefix))
        self.model, self.device = model, model.device
        self.vocabulary: int = model.config.get_text_config(decoder=True).vocab_size
        self._arguments = frozenset(inspect.signature(model.forward).parameters)
        self._cache_argument = cache_argument(model)
        self._longest, self._one_row = most_positions(model), why_one_row(model, f"{self.prefix}position_ids")

    def start(self, rows: int) -> CachedTexts:
        """A state that has read nothing.

        Raises:
            ValueError: several rows, of a model that serves one.
        """
        from transformers import DynamicCache

        return CachedTexts(rows, DynamicCache(), self._one_row)

    @torch.no_grad()
    def logits(self, tokens: Tensor, lengths: Sequence[int], state: CachedTexts, wanted: Sequence[int]) -> Tensor:
        """Read on in one call of the model, (B, max wanted, V).

        Raises:
            ValueError: a text longer than the model has positions for.
        """
        self._check_lengths([old + new for old, new in zip(state.counts, lengths, strict=True)])
        real, columns = state.with_new(lengths), wanted_columns(lengths, wanted)
        logits = self.model(**self._inputs(tokens[:, : max(lengths)], lengths, state, real, columns)).logits
        state.grow(real)
        if "logits_to_keep" not in self._arguments:
            columns = list(range(max(lengths)))
        return rows_of_columns(logits, columns, lengths, wanted)

    @torch.no_grad()
    def tree_logits(self, tokens: Tensor, lengths: Sequence[int], state: CachedTexts, trees: Sequence[Tree]) -> Tensor:
        """Read on, and a tree behind that, in one call of the model (2311.08252, section 3.3), (B, largest tree + 1, V).

        Raises:
            ValueError: a model that attends by columns; a text longer than the model has positions for.
        """
        if self._one_row or self.prefix:
            raise ValueError(f"{type(self.model).__name__} cannot read trees: {self._one_row or 'its decoder has an encoder beside it'}")
        packed, width = pack(trees), max(lengths)
        counts = torch.tensor(state.counts) + torch.tensor(lengths)
        self._check_lengths([count + len(tree.widths) for count, tree in zip(counts.tolist(), trees, strict=True)])
        real, state.nodes = torch.cat([state.with_new(lengths), packed.drafted], 1), packed.tokens.shape[1]
        columns = [*sorted({length - 1 for length in lengths}), *range(width, width + state.nodes)]
        inputs = self._inputs(torch.cat([tokens[:, :width], packed.tokens.clamp(min=0).to(self.device)], 1), lengths, state, real, columns)
        inputs["position_ids"] = torch.cat([state.positions(lengths), packed.positions(counts)], 1).to(self.device)
        inputs["attention_mask"] = self._additive(seen(state.real, real, packed))
        logits: Tensor = self.model(**inputs).logits
        state.grow(real)
        places = [[columns.index(length - 1), *range(len(columns) - state.nodes, len(columns))] for length in lengths]
        return logits.gather(1, torch.tensor(places, device=logits.device)[..., None].expand(-1, -1, logits.shape[-1]))

    def _additive(self, mask: Tensor) -> Tensor:
        """0 where a column is seen and the dtype's smallest number where not, (B, 1, queries, columns)."""
        numbers = torch.zeros(mask.shape, dtype=self.model.dtype).masked_fill_(~mask, torch.finfo(self.model.dtype).min)
        return numbers.to(self.device)[:, None]

    def _inputs(self, tokens: Tensor, lengths: Sequence[int], state: CachedTexts, real: Tensor, columns: Sequence[int]) -> dict[str, Any]:
        offered = {
            f"{self.prefix}input_ids": tokens,
            f"{self.prefix}attention_mask": None if real.all() else real.long().to(self.device),
            f"{self.prefix}position_ids": state.positions(lengths).to(self.device),
            "logits_to_keep": torch.tensor(columns, device=self.device),
        }
        return {name: one for name, one in offered.items() if name in self._arguments} | {self._cache_argument: state.cache, "use_cache": True}

    def _check_lengths(self, lengths: Sequence[int]) -> None:
        for row, length in enumerate(lengths):
            if self._longest is not None and length > self._longest:
                raise ValueError(f"row {row} would be {length} tokens long, and {type(self.model).__name__} has {self._longest} positions")


class EncoderDecoderModel(CausalModel):
    """An encoder-decoder of transformers, such as T5 or Whisper, on inputs that its encoder reads once. Prompts are the decoder's start tokens.

    Args:
        model: in eval mode.
        inputs: the encoder's, by name (input_ids, attention_mask, input_features, …): one row for each text, or one for all.

    Raises:
        ValueError: as for a causal model; no inputs.
    """

    prefix = "decoder_"

    def __init__(self, model: Any, **inputs: Tensor) -> None:
        super().__init__(model)
        if not inputs:
            raise ValueError("an encoder-decoder needs what its encoder reads, such as input_ids=…")
        with torch.no_grad():
            self._encoded = {"encoder_outputs": model.get_encoder()(**inputs)[0]}
        if "attention_mask" in inputs:
            self._encoded["attention_mask"] = inputs["attention_mask"]

    def start(self, rows: int) -> CachedTexts:
        """A state that has read nothing but the encoder's inputs.

        Raises:
            ValueError: another number of rows than the encoder read; several rows, of a model that serves one.
        """
        from transformers import DynamicCache, EncoderDecoderCache

        given = len(self._encoded["encoder_outputs"])
        if given not in {1, rows}:
            raise ValueError(f"{rows} texts, and the encoder has read {given} inputs; one for each is needed, or one for all")
        encoded = {name: one.expand(rows, *one.shape[1:]) for name, one in self._encoded.items()}
        return CachedTexts(rows, EncoderDecoderCache(DynamicCache(), DynamicCache()), self._one_row, encoded)

    def _inputs(self, tokens: Tensor, lengths: Sequence[int], state: CachedTexts, real: Tensor, columns: Sequence[int]) -> dict[str, Any]:
        from transformers.modeling_outputs import BaseModelOutput

        hidden = BaseModelOutput(last_hidden_state=state.encoded["encoder_outputs"])
        return super()._inputs(tokens, lengths, state, real, columns) | state.encoded | {"encoder_outputs": hidden}


def seen(old: Tensor, real: Tensor, trees: Trees) -> Tensor:
    """Which columns each new token attends to: real ones before it, of the nodes its ancestors alone, and itself; (B, new columns, columns) bool.

    Args:
        old: real columns before this call, (B, old columns).
        real: real columns with this call's, the trees' nodes last, (B, columns).
        trees: of this call.
    """
    nodes, columns, start = trees.tokens.shape[1], real.shape[1], old.shape[1]
    order = torch.arange(columns)
    before = real[:, None] & (order <= torch.arange(start, columns)[:, None])
    before[:, :, columns - nodes :] = False
    before[:, columns - nodes - start :, columns - nodes :] = trees.mask()
    return before | torch.eye(columns, dtype=torch.bool)[start:]


def wanted_columns(lengths: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Columns of which some row wants logits, in order; at least one."""
    return sorted({length - 1 - i for length, count in zip(lengths, wanted, strict=True) for i in range(count)}) or [0]


def rows_of_columns(logits: Tensor, columns: Sequence[int], lengths: Sequence[int], wanted: Sequence[int]) -> Tensor:
    """Of each row the last wanted[b] places before lengths[b], (B, columns, V) to (B, max wanted, V)."""
    at = {column: i for i, column in enumerate(columns)}
    places = [[at.get(min(length - count + i, length - 1), 0) for i in range(max(wanted))] for length, count in zip(lengths, wanted, strict=True)]
    index = torch.tensor(places, dtype=torch.int64, device=logits.device)
    return logits[torch.arange(len(lengths), device=logits.device)[:, None], index]
