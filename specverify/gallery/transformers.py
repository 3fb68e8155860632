"""gallery:transformers: the speculative sampling step of Hugging Face transformers, `generation.utils._speculative_sampling`, its logits warpers, loops, caches and positions.

Written from signatures and docstrings, and by trial. The step's arguments are bound by name, since they differ between versions. The warpers are called
in the order in which `generate` lists them: temperature, top-k, top-p.
"""

import inspect
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, LlamaConfig, LogitsProcessorList, StaticCache, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.generation.utils import _speculative_sampling
from transformers.models.cohere import modeling_cohere as cohere
from transformers.models.llama import modeling_llama as llama

import specverify as sv

TAKES = inspect.signature(_speculative_sampling).parameters
CROPS_TO_A_LENGTH = "max_length" in inspect.signature(DynamicCache.crop).parameters
"""As version 4 does; later ones take the negative number of tokens to remove."""
LAYERS, HEADS = 2, 2
"""Of a cache: two, so that one that is forgotten differs from the other."""
FLOATS = ("float32", "float64", "float16", "bfloat16")


@sv.subject("verify_chain", name="transformers._speculative_sampling", rule="standard", dtypes=("float32", "float64"))
def speculative_sampling(p: Tensor, q: Tensor, draft: Tensor) -> Tensor:
    """It takes logits, so it gets the logarithms of the rows; a batch of one, the drafts as the tail of the ids."""
    arguments = {
        "candidate_input_ids": draft[None],
        "candidate_logits": q.log()[None],
        "candidate_length": len(draft),
        "new_logits": p.log()[None],
        "is_done_candidate": False,
    }
    tokens, _ = _speculative_sampling(**{name: value for name, value in arguments.items() if name in TAKES})
    return torch.as_tensor(tokens[0])


@sv.subject("filter_logits", name="transformers.TopK_TopP", batch=True, dtypes=FLOATS)
def top_k_top_p(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """They take rows, and ids that they do not look at; top-p is a filter below 1 only, and `generate` leaves it out at 1."""
    warpers = LogitsProcessorList([TopKLogitsWarper(top_k)])
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    rows = logits.reshape(-1, logits.shape[-1])
    filtered: Tensor = warpers(torch.zeros(len(rows), 0, dtype=torch.long), rows)
    return filtered.reshape(logits.shape)


@sv.subject("warp", name="transformers.warpers", batch=True, dtypes=("float32", "float64"), conventions={"order": "temperature"})
def warp(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """Temperature, the filters, softmax."""
    scaled: Tensor = TemperatureLogitsWarper(temperature)(torch.zeros(1, 0, dtype=torch.long), logits)
    return top_k_top_p(scaled, top_k, top_p).softmax(-1)


def new_ids(prompt: Tensor, target: Any, most: int, temperature: float, top_k: int, top_p: float, **more: Any) -> Tensor:
    """What `generate` writes behind a prompt, or behind a decoder's start, (1, n); its end token is that of the model's configuration."""
    how = {"do_sample": True, "temperature": temperature, "top_k": top_k, "top_p": top_p} if temperature else {"do_sample": False}
    ids: Tensor = target.generate(prompt[None].clone(), attention_mask=torch.ones_like(prompt)[None], max_new_tokens=most, **how, **more)
    return ids[:, 1 if target.config.is_encoder_decoder else len(prompt) :]


@sv.subject("generate", name="transformers.assisted", models="transformers")
def assisted(prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> Tensor:
    """Assisted generation with a draft model, which always drafts as many tokens as it is told."""
    draft.generation_config.update(num_assistant_tokens=gamma, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
    return new_ids(prompt, target, most, temperature, top_k, top_p, assistant_model=draft)


@sv.subject("generate", name="transformers.assisted_as_it_comes", models="transformers")
def assisted_as_it_comes(
    prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None
) -> Tensor:
    """The same with the schedule and the confidence threshold that it has by default."""
    draft.generation_config.update(num_assistant_tokens=gamma)
    return new_ids(prompt, target, most, temperature, top_k, top_p, assistant_model=draft)


@sv.subject("generate", name="transformers.prompt_lookup", models="transformers")
def prompt_lookup(prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> Tensor:
    """Drafts that are looked up in the text; it needs no draft model."""
    return new_ids(prompt, target, most, temperature, top_k, top_p, prompt_lookup_num_tokens=gamma)


@sv.subject("generate", name="transformers.assisted_encoder_decoder", models="seq2seq")
def assisted_encoder_decoder(
    prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None
) -> Tensor:
    """Assisted generation of an encoder-decoder, whose encoder reads the prompt; the text begins behind the decoder's start."""
    draft.generation_config.update(num_assistant_tokens=gamma, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
    return new_ids(prompt, target, most, temperature, top_k, top_p, assistant_model=draft)


class Cache:
    """A cache of several layers and heads that all hold the same rows."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    def length(self) -> int:
        """Of the text that it holds."""
        return int(self.cache.get_seq_length())

    def append(self, k: Tensor, v: Tensor) -> None:
        """Rows (T, D) into every head of every layer, at the places behind those that are there."""
        keys, values = (rows.expand(1, HEADS, *rows.shape) for rows in (k, v))
        places = torch.arange(self.length(), self.length() + len(k))
        for layer in range(LAYERS):
            self.cache.update(keys, values, layer, {"cache_position": places})

    def rollback(self, to_length: int) -> None:
        """By its own way."""
        self.cache.crop(to_length if CROPS_TO_A_LENGTH else to_length - self.length())

    def reset(self) -> None:
        """By its own way."""
        self.cache.reset()

    def rows(self) -> tuple[Tensor | None, Tensor | None]:
        """Keys and values of the text, which every head of every layer must hold alike."""
        return self._rows("keys"), self._rows("values")

    def _rows(self, name: str) -> Tensor | None:
        layers = [getattr(layer, name) for layer in self.cache.layers if layer.is_initialized]
        if not layers:
            return None
        heads = torch.cat([layer[0, :, : self.length()] for layer in layers])
        if len(heads) != LAYERS * HEADS or not torch.equal(heads, heads[:1].expand_as(heads)):
            raise AssertionError("layers or heads that were given the same rows differ")
        return heads[0]


@sv.subject("kv_cache", name="transformers.DynamicCache", supports=("reset",), dtypes=FLOATS, conventions={"full": "grows"})
def dynamic_cache(capacity: int) -> Cache:
    """It is empty until its first rows."""
    return Cache(DynamicCache())


def static_cache(capacity: int) -> Cache:
    """Its room is fixed; what `rows` gives are views of it."""
    return Cache(StaticCache(config=LlamaConfig(num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=HEADS), max_cache_len=capacity))


if not CROPS_TO_A_LENGTH:  # version 4's cannot be cropped
    sv.subject("kv_cache", name="transformers.StaticCache", supports=("reset",), dtypes=FLOATS, conventions={"full": "refuses", "rows": "views"})(static_cache)

PAIRED = {"llama": (llama, "split"), "cohere": (cohere, "interleaved")}
"""Two families, and which entries of a row each turns as a pair."""


def rotary_of(modeling: Any, pairing: str, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines (B, T, D) as the family's own embedding gives them: both halves alike, or neighbours."""
    tables = [table[..., : table.shape[-1] // 2].repeat_interleave(2, -1) if pairing == "interleaved" else table for table in (cos, sin)]
    rotated: tuple[Tensor, Tensor] = modeling.apply_rotary_pos_emb(q, k, *(table[positions] for table in tables))
    return rotated


for family, (modeling, pairing) in PAIRED.items():
    how: Any = {"dtypes": FLOATS, "conventions": {"pairing": pairing}}
    sv.subject("rotate_half", name=f"transformers.{family}.rotate_half", **how)(modeling.rotate_half)
    sv.subject("rotary", name=f"transformers.{family}.apply_rotary_pos_emb", **how)(partial(rotary_of, modeling, pairing))
    sv.subject("repeat_kv", name=f"transformers.{family}.repeat_kv", dtypes=FLOATS)(modeling.repeat_kv)
