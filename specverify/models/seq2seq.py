"""A table as an encoder-decoder model of transformers: the encoder gives the ids it reads, and rows stand behind these and the decoder's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from specverify.contracts.table_models import Table
from specverify.models.cached import as_told, read
from specverify.models.seen import logits


class TableSeq2SeqConfig(PretrainedConfig):  # type: ignore[misc]  # the library may be absent
    """One layer, one head of width 1, on each side."""

    model_type = "specverify-table-seq2seq"

    def __init__(self, vocab_size: int = 2, **rest: Any) -> None:
        self.vocab_size = vocab_size
        self.num_hidden_layers = self.num_attention_heads = self.num_key_value_heads = self.hidden_size = self.head_dim = self.decoder_layers = 1
        self.max_position_embeddings = 4096
        super().__init__(is_encoder_decoder=True, **rest)


class Encoder(nn.Module):
    """Gives each id as a state of width 1."""

    main_input_name = "input_ids"

    def forward(self, input_ids: Tensor, **_rest: Any) -> BaseModelOutput:
        """States (B, S, 1)."""
        return BaseModelOutput(last_hidden_state=input_ids[..., None].float())


class TableForSeq2SeqLM(PreTrainedModel, GenerationMixin):  # type: ignore[misc]  # the library may be absent
    """A model whose logits are a table by what the encoder and the decoder have read.

    Args:
        table: the rows by prefix: the encoder's ids, then the decoder's with the one that it starts with.
        start: the id that the decoder starts with.
        eos: the id that ends a text, or none.
    """

    config_class = TableSeq2SeqConfig
    main_input_name = "input_ids"
    _supports_cache_class = True

    def __init__(self, table: Table, start: int, eos: int | None = None) -> None:
        config = TableSeq2SeqConfig(table.width, bos_token_id=None, eos_token_id=eos, pad_token_id=eos, decoder_start_token_id=start)
        super().__init__(config)
        self.table = table
        self.encoder: nn.Module = Encoder()
        self.calls = 0
        self.scale = nn.Parameter(torch.ones(()), requires_grad=False)  # so that the model has a device and a dtype

    def get_encoder(self, *_which: Any, **_more: Any) -> nn.Module:
        """The encoder."""
        return self.encoder

    def forward(  # noqa: PLR0913, PLR0917  the library's signature
        self,
        input_ids: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        decoder_position_ids: Tensor | None = None,
        encoder_outputs: Any = None,
        past_key_values: Any = None,
        cache: Any = None,
        use_cache: bool | None = None,  # noqa: FBT001
        cache_position: Tensor | None = None,
        **_rest: Any,
    ) -> Seq2SeqLMOutput:
        """Logits (B, T, V) behind each id of the decoder."""
        self.calls += 1
        assert decoder_input_ids is not None
        states = self.encoder(input_ids)[0] if encoder_outputs is None else encoder_outputs[0]
        cache = past_key_values if cache is None else cache  # by its old name, or by its new one
        if use_cache and cache is None:
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        _keep(cache, states)
        heard = _heard(states, attention_mask)
        seen = read(getattr(cache, "self_attention_cache", cache), decoder_input_ids, decoder_attention_mask, decoder_position_ids, cache_position)
        told = [[logits(self.table, (*text, *one)) for one in row] for text, row in zip(heard, seen, strict=True)]
        rows = torch.tensor(told, dtype=self.scale.dtype, device=self.scale.device)
        return Seq2SeqLMOutput(logits=rows, encoder_last_hidden_state=states, **as_told(Seq2SeqLMOutput, cache))


def _keep(cache: Any, states: Tensor) -> None:
    """The encoder's states as the keys and values of cross attention, as any model of the kind leaves them there; nothing reads these."""
    beside = getattr(cache, "cross_attention_cache", None)
    if beside is not None and not beside.get_seq_length():
        beside.update(states[:, None].float(), states[:, None].float(), 0)


def _heard(states: Tensor, mask: Tensor | None) -> list[list[int]]:
    """The encoder's ids, without padding."""
    ids = states[..., 0].long().tolist()
    shown = torch.ones(states.shape[:2]) if mask is None else mask
    return [[token for token, here in zip(row, seen, strict=True) if here] for row, seen in zip(ids, shown.tolist(), strict=True)]
