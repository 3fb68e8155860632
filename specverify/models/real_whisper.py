"""Small Whispers of transformers with random weights: an encoder that hears the prompt, cross attention, learned positions."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, WhisperConfig, WhisperForCausalLM, WhisperForConditionalGeneration

from specverify.contracts.heard import FRAMES, MELS, heard
from specverify.contracts.weights import VOCABULARY, Weights
from specverify.models import whisper_oracle
from specverify.models.cached import as_given
from specverify.models.real import Reader, Real, fill

START = 0
"""The id that the decoder starts with, one of the vocabulary."""
LONGEST = 256
"""Ids of a text."""
SIZES = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "max_source_positions": FRAMES // 2, "max_target_positions": LONGEST, "num_mel_bins": MELS,
}  # fmt: skip
"""Two layers of the decoder, so that a fault in one of them alone shows."""
NOTHING = {"bos_token_id": None, "suppress_tokens": None, "begin_suppress_tokens": None, "tie_word_embeddings": False}


class RandomWhisper(Real, WhisperForConditionalGeneration):  # type: ignore[misc]  # the library may be absent
    """An encoder-decoder whose weights are a function of a seed.

    Args:
        weights: seed, how far they are shaken, dtype.
        eos: the id that ends a text, or none.
    """

    def __init__(self, weights: Weights, eos: int | None = None) -> None:
        config = WhisperConfig(vocab_size=VOCABULARY, decoder_start_token_id=START, eos_token_id=eos, pad_token_id=eos, **SIZES, **NOTHING)
        with torch.random.fork_rng(devices=[]):  # the library draws weights of its own
            super().__init__(config)
        fill(self, weights)

    def decoder_alone(self) -> WhisperForCausalLM:
        """The same for who has heard the prompt already; it shares its weights."""
        with torch.random.fork_rng(devices=[]):
            alone = WhisperForCausalLM(deepcopy(self.config)).eval()
        alone.model.decoder, alone.proj_out = self.model.decoder, self.proj_out
        return alone

    def begins(self, prompt: Sequence[int]) -> Tensor:  # noqa: ARG002  the encoder hears it
        """The decoder's start."""
        return torch.tensor([START])

    def exact(self, prompt: Sequence[int], ids: Tensor) -> Tensor:
        """Rows of the oracle."""
        return whisper_oracle.logits(self, features(prompt, torch.float64)[0], ids)

    def reader(self, prompt: Sequence[int]) -> Reader:
        """Behind what its cache holds."""
        cache, hears = EncoderDecoderCache(DynamicCache(), DynamicCache()), features(prompt, self.dtype)
        return lambda ids: self(input_features=hears, decoder_input_ids=ids[None], use_cache=True, **as_given(self, cache)).logits[0]


def features(prompt: Sequence[int], dtype: torch.dtype) -> Tensor:
    """(1, mels, frames)."""
    told = heard(tuple(prompt))
    return torch.tensor(told.values, dtype=dtype).reshape(told.shape)


def random_whisper(seed: int, shaken: int = 0, dtype: str = "float32", eos: int | None = None) -> RandomWhisper:
    """A model by its seed; `shaken` by how many percent of other weights."""
    return RandomWhisper(Weights(seed, shaken, dtype), eos)
