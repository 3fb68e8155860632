"""A table behind Whisper's own `generate()`: features that tell the prompt's ids, and what this method reads of a model."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

from specverify.contracts.table_models import Table
from specverify.models.seq2seq import TableForSeq2SeqLM, TableSeq2SeqConfig

LONGEST = 4096
"""Ids of a text, and frames of a prompt."""


class Ear(nn.Module):
    """Gives the id of each frame as a state of width 1; -1 where a frame tells none. Its strides, 1, are what `generate()` counts frames by."""

    main_input_name = "input_features"

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv1d(1, 1, 1, stride=1).requires_grad_(requires_grad=False) for _ in range(2))

    def forward(self, input_features: Tensor, **_rest: Any) -> BaseModelOutput:
        """States (B, frames, 1)."""
        loudest = input_features.max(1)
        return BaseModelOutput(last_hidden_state=loudest.indices.where(loudest.values > 0, -1)[..., None].float())


class TableForWhisper(WhisperGenerationMixin, TableForSeq2SeqLM):  # type: ignore[misc]  # the library may be absent
    """A model whose logits are a table by the ids that its encoder hears and those that its decoder has read.

    Args:
        table: the rows by prefix: the encoder's ids, then the decoder's with the one that it starts with.
        start: the id that the decoder starts with.
        eos: the id that ends a text, or none.
    """

    main_input_name = "input_features"

    def __init__(self, table: Table, start: int, eos: int | None = None) -> None:
        super().__init__(table, start, eos)
        self.encoder, self.model = Ear(), nn.Module()
        self.model.encoder = self.encoder
        self.config.max_source_positions, self.config.max_target_positions = LONGEST, LONGEST

    def forward(  # type: ignore[override]  # its arguments are Whisper's
        self,
        input_features: Tensor | None = None,
        encoder_outputs: Any = None,
        attention_mask: Tensor | None = None,  # noqa: ARG002  of frames, which tell it by themselves
        **more: Any,
    ) -> Seq2SeqLMOutput:
        """Logits (B, T, V) behind each id of the decoder."""
        states = (self.encoder(input_features) if encoder_outputs is None else encoder_outputs)[0]
        return super().forward(encoder_outputs=(states,), attention_mask=states[..., 0] >= 0, **more)

    def decoder_alone(self) -> TableDecoder:
        """The same for who has heard the prompt already."""
        return TableDecoder(self)


class TableDecoder(PreTrainedModel, GenerationMixin):  # type: ignore[misc]  # the library may be absent
    """A table's decoder as the library's class for one that drafts behind a target's encoder; it has no `generate()` of its own.

    Args:
        whole: the model that it is of.
    """

    config_class = TableSeq2SeqConfig
    main_input_name = "input_ids"
    _supports_cache_class = True

    def __init__(self, whole: TableForWhisper) -> None:
        super().__init__(deepcopy(whole.config))
        self.config.is_encoder_decoder = False
        self.whole = whole

    def forward(
        self, input_ids: Tensor, encoder_outputs: Any = None, attention_mask: Tensor | None = None, position_ids: Tensor | None = None, **more: Any
    ) -> Seq2SeqLMOutput:
        """Logits (B, T, V) behind each id."""
        return self.whole(
            encoder_outputs=encoder_outputs, decoder_input_ids=input_ids, decoder_attention_mask=attention_mask, decoder_position_ids=position_ids, **more
        )
