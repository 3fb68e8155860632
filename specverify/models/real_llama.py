"""Small Llamas of transformers with random weights: layers, shared heads and rotary positions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from specverify.contracts.weights import VOCABULARY, Weights
from specverify.models import llama_oracle
from specverify.models.cached import as_given
from specverify.models.real import Reader, Real, fill

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
"""Two layers and shared heads, so that a fault in one of them alone shows; a token takes a few milliseconds."""


class RandomLlama(Real, LlamaForCausalLM):  # type: ignore[misc]  # the library may be absent
    """A causal language model whose weights are a function of a seed.

    Args:
        weights: seed, how far they are shaken, dtype.
        eos: the id that ends a text, or none.
    """

    def __init__(self, weights: Weights, eos: int | None = None) -> None:
        with torch.random.fork_rng(devices=[]):  # the library draws weights of its own
            super().__init__(LlamaConfig(vocab_size=VOCABULARY, bos_token_id=None, eos_token_id=eos, pad_token_id=eos, **SIZES))
        fill(self, weights)

    def begins(self, prompt: Sequence[int]) -> Tensor:
        """The prompt."""
        return torch.tensor(prompt)

    def exact(self, prompt: Sequence[int], ids: Tensor) -> Tensor:  # noqa: ARG002  which the ids begin with
        """Rows of the oracle."""
        return llama_oracle.logits(self, ids)

    def reader(self, prompt: Sequence[int]) -> Reader:  # noqa: ARG002  it is read as the first ids
        """Behind what its cache holds."""
        cache = DynamicCache()
        return lambda ids: self(input_ids=ids[None], use_cache=True, **as_given(self, cache)).logits[0]


def random_causal(seed: int, shaken: int = 0, dtype: str = "float32", eos: int | None = None) -> RandomLlama:
    """A model by its seed; `shaken` by how many percent of other weights."""
    return RandomLlama(Weights(seed, shaken, dtype), eos)
