"""Small Llamas of transformers with random weights: several layers and heads, and rotary positions, which no table has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from specverify.contracts.weights import VOCABULARY, Weights
from specverify.models import oracle

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
"""Two layers and shared heads, so that a fault in one of them alone shows; a token takes a few milliseconds."""
SPREAD = 2.0
"""Standard deviation of a matrix' rows applied to unit vectors. At 1 texts soon repeat themselves, at 3 a shaken model agrees too seldom; at 2 the median margin is about 1."""
ANOTHER = 2**32
"""Between the seeds of a model's own weights and of what shakes it."""


class RandomLlama(LlamaForCausalLM):  # type: ignore[misc]  # the library may be absent
    """A causal language model whose weights are a function of a seed.

    Args:
        weights: seed, how far they are shaken, dtype.
        eos: the id that ends a text, or none.

    Attributes:
        calls: how often it was called.
    """

    def __init__(self, weights: Weights, eos: int | None = None) -> None:
        with torch.random.fork_rng(devices=[]):  # the library draws weights of its own
            super().__init__(LlamaConfig(vocab_size=VOCABULARY, bos_token_id=None, eos_token_id=eos, pad_token_id=eos, **SIZES))
        self._fill(weights)
        self.to(getattr(torch, weights.dtype)).eval()
        self.calls = 0
        self.register_forward_pre_hook(_count)

    @torch.no_grad()
    def _fill(self, weights: Weights) -> None:
        own, other = (torch.Generator().manual_seed(weights.seed + far) for far in (0, ANOTHER))
        for parameter in self.parameters():
            if parameter.dim() > 1:
                drawn, mixed_in = (torch.randn(parameter.shape, generator=one) for one in (own, other))
                width = 1 if parameter is self.get_input_embeddings().weight else parameter.shape[1]
                parameter.copy_((drawn + weights.shaken / 100 * mixed_in) * SPREAD * width**-0.5)

    def scored(self, prompt: Sequence[int], text: Sequence[int], width: int) -> list[Tensor]:
        """The rows behind a prompt and each id of a text but the last, three times (T, V) in float64, without any speculation.

        Args:
            prompt: ids, at least one.
            text: ids, at least one.
            width: ids of a block.

        Returns:
            Rows of the oracle; of this model, read id by id; of this model, read in blocks.
        """
        before, rest = torch.tensor(prompt), torch.tensor(text[:-1], dtype=torch.int64)
        exact = oracle.logits(self, torch.cat([before, rest]))[len(prompt) - 1 :]
        return [exact, *(self._read([before, *torch.split(rest, ids)]).double() for ids in (1, width))]

    @torch.no_grad()
    def _read(self, parts: Sequence[Tensor]) -> Tensor:
        """The rows behind the first part and behind each id of the others, of one cache."""
        cache = DynamicCache()
        first, *rest = [self(input_ids=part[None], past_key_values=cache, use_cache=True).logits[0] for part in parts if len(part)]
        return torch.cat([first[-1:], *rest])


def _count(model: Any, _arguments: Any) -> None:
    model.calls += 1


def random_causal(seed: int, shaken: int = 0, dtype: str = "float32", eos: int | None = None) -> RandomLlama:
    """A model by its seed; `shaken` by how many percent of other weights."""
    return RandomLlama(Weights(seed, shaken, dtype), eos)
