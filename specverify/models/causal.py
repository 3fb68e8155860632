"""A table as a causal language model of transformers, with a real cache.

The cache holds ids and positions in the place of keys and values, and a query's text is what it sees there: a cache that is stale, shifted or not cut, a wrong position
or a wrong mask gives it another row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from specverify.contracts.table_models import Table
from specverify.models.cached import as_told, read
from specverify.models.seen import logits


class TableConfig(PretrainedConfig):  # type: ignore[misc]  # the library may be absent
    """One layer, one head of width 1: an id is a key, its position a value."""

    model_type = "specverify-table"

    def __init__(self, vocab_size: int = 2, **rest: Any) -> None:
        self.vocab_size = vocab_size
        self.num_hidden_layers = self.num_attention_heads = self.num_key_value_heads = self.hidden_size = self.head_dim = 1
        self.max_position_embeddings = 4096
        super().__init__(**rest)


class TableForCausalLM(PreTrainedModel, GenerationMixin):  # type: ignore[misc]  # the library may be absent
    """A model whose logits are a table by prefix.

    Args:
        table: the rows by prefix.
        eos: the id that ends a text, or none.
        pad: the id that pads, for batches.
    """

    config_class = TableConfig
    main_input_name = "input_ids"
    _supports_cache_class = True
    _supports_static_cache = True

    def __init__(self, table: Table, eos: int | None = None, pad: int | None = None) -> None:
        super().__init__(TableConfig(table.width, bos_token_id=None, eos_token_id=eos, pad_token_id=pad if pad is not None else eos))
        self.table = table
        self.calls = 0
        self.scale = nn.Parameter(torch.ones(()), requires_grad=False)  # so that the model has a device and a dtype

    def forward(  # noqa: PLR0917  the library's signature
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        cache: Any = None,
        use_cache: bool | None = None,  # noqa: FBT001
        cache_position: Tensor | None = None,
        logits_to_keep: int | Tensor = 0,
        **_rest: Any,
    ) -> CausalLMOutputWithPast:
        """Logits (B, T, V), of all positions or of the last ones."""
        self.calls += 1
        cache = past_key_values if cache is None else cache  # by its old name, or by its new one
        if use_cache and cache is None:
            cache = DynamicCache()
        seen = read(cache, input_ids, attention_mask, position_ids, cache_position)
        keep = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        rows = torch.tensor([[logits(self.table, one) for one in row] for row in seen], dtype=self.scale.dtype, device=self.scale.device)
        return CausalLMOutputWithPast(logits=rows[:, keep], **as_told(CausalLMOutputWithPast, cache))
