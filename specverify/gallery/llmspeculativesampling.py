"""gallery:llmspeculativesampling: the pieces, the cache and the loops of feifeibear/LLMSpeculativeSampling, on a checkout.

Written from signatures, shapes and what they return alone. `sampling` rebinds the names of its submodules to functions, so modules are taken from `sys.modules`. A loop that
is asked for one token more plays one round and emits what that gives.
"""

import sys
from typing import Any

import globals as shared
import sampling  # noqa: F401
import torch
from torch import Tensor

import specverify as sv
from specverify.models.rows import ModelCache
from specverify.models.tuples import TupleModel

BOTH = ("float32", "float64")
pieces, caches, loops = (sys.modules[f"sampling.{name}"] for name in ("utils", "kvcache_model", "speculative_sampling"))
plain = sys.modules["sampling.autoregressive_sampling"].autoregressive_sampling
Model = Any
"""Prefix -> (V,), as `draft_and_verify` hands it over."""

sv.subject("positive_part", name="llmss.max_fn", batch=True, dtypes=BOTH)(pieces.max_fn)
sv.subject("warp", name="llmss.norm_logits", batch=True, dtypes=BOTH)(pieces.norm_logits)
sv.subject("filter_logits", name="llmss.top_k_top_p_filter", batch=True, dtypes=BOTH)(pieces.top_k_top_p_filter)
sv.subject("sample", name="llmss.sample", dtypes=BOTH)(pieces.sample)


def cut(keys: Tensor, values: Tensor, probs: Tensor, keep: int) -> list[Tensor]:
    """What a cache that was rolled back must hold: the first rows of each."""
    return [part[: min(keep, len(part))] for part in (keys, values, probs)]


@sv.subject(
    "helper",
    name="llmss.KVCacheModel.rollback",
    domain={**{name: sv.tensors(("n", 2), sv.floats(-4, 4)) for name in ("keys", "values", "probs")}, "keep": sv.ints(0, 8)},
    oracle=cut,
)
def rollback(keys: Tensor, values: Tensor, probs: Tensor, keep: int) -> list[Tensor]:
    """Two layers that hold the same, and the rows of probabilities beside them; cut to what is there at most."""
    cache = caches.KVCacheModel(None, 1.0, 0, 0.0)
    cache._past_key_values, cache._prob_history = tuple((keys[None, None], values[None, None]) for _ in range(2)), probs[None]  # noqa: SLF001
    cache.rollback(min(keep, len(keys)))
    first, second = cache._past_key_values  # noqa: SLF001
    if not all(torch.equal(a, b) for a, b in zip(first, second, strict=True)):
        raise AssertionError("layers that held the same differ")
    return [first[0][0, 0], first[1][0, 0], cache._prob_history[0]]  # noqa: SLF001


@sv.subject("kv_cache", name="llmss.KVCacheModel", conventions={"full": "grows"})
def model_cache(capacity: int) -> ModelCache:
    """Its rows, as its model's rounds append and cut them."""
    return ModelCache(caches.KVCacheModel)


def rows_asked(draft: Model, prefix: tuple[int, ...], gamma: int) -> Tensor:
    """The rows that the drafts were drawn from: those that the draft model was asked for behind the text, in order."""
    asked = sorted({one for one in draft.asked if len(one) >= len(prefix)}, key=len)[:gamma]
    return torch.stack([draft[one] for one in asked]) if asked else torch.empty(0, draft.width)


def one_round(loop: Any, target: Model, draft: Model, prefix: tuple[int, ...], gamma: int) -> tuple[Tensor, Tensor]:
    """Asked for one token more than the text; it knows no seed, and draws from the global generators."""
    emitted = loop(torch.tensor([prefix]), TupleModel(draft), TupleModel(target), 1, gamma=gamma)[0, len(prefix) :]
    return emitted, rows_asked(draft, prefix, gamma)


@sv.subject("draft_and_verify", name="llmss.speculative_sampling", rule="standard", conventions={"drafting": "rows"})
def speculative_sampling(target: Model, draft: Model, prefix: tuple[int, ...], gamma: int) -> tuple[Tensor, Tensor]:
    """With caches for both models."""
    return one_round(loops.speculative_sampling, target, draft, prefix, gamma)


@sv.subject("draft_and_verify", name="llmss.speculative_sampling_v2", rule="standard", conventions={"drafting": "rows"})
def speculative_sampling_v2(target: Model, draft: Model, prefix: tuple[int, ...], gamma: int) -> tuple[Tensor, Tensor]:
    """Without caches."""
    return one_round(loops.speculative_sampling_v2, target, draft, prefix, gamma)


@sv.subject("sample", name="llmss.autoregressive_sampling", dtypes=BOTH)
def autoregressive_sampling(probs: Tensor) -> int:
    """The first token behind a text of one id, of a model that gives one row everywhere; 2 is enough, whether N counts that id or not."""
    row = TupleModel(lambda _: probs)
    return int(plain(torch.zeros(1, 1, dtype=torch.long), row, 2)[0, 1])


def filters(model: Model, top_k: int, top_p: float) -> dict[str, Any]:
    """Its filters, each off by 0 where it would keep all."""
    return {"top_k": top_k if top_k < model.width else 0, "top_p": top_p if top_p < 1 else 0.0}


def text(loop: Any, prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float) -> Tensor:
    """The first new ids of a loop that returns at least as many as it is asked for, behind the prompt."""
    ids: Tensor = loop(prompt[None], TupleModel(draft), TupleModel(target), most, gamma=gamma, temperature=temperature, **filters(target, top_k, top_p))
    return ids[0, len(prompt) :][:most]


HEEDS = ("temperature", "top_k", "top_p")


@sv.subject("generate", name="llmss.speculative_sampling (text)", models="callable", supports=HEEDS)
def with_caches(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: None) -> Tensor:
    """Over several rounds, with caches; it knows no end token."""
    return text(loops.speculative_sampling, prompt, target, draft, gamma, most, temperature, top_k, top_p)


@sv.subject("generate", name="llmss.speculative_sampling_v2 (text)", models="callable", supports=HEEDS)
def without_caches(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: None) -> Tensor:
    """Over several rounds, without."""
    return text(loops.speculative_sampling_v2, prompt, target, draft, gamma, most, temperature, top_k, top_p)


class Registry(metaclass=shared.Singleton):  # type: ignore[metaclass]
    """A class of our own under its metaclass."""

    def __init__(self) -> None:
        self.made = object()


@sv.subject("helper", name="llmss.Singleton", domain={"times": sv.ints(1, 4)}, oracle=lambda times: [True] * times)
def singleton(times: int) -> list[bool]:
    """Every call gives the one instance of the process."""
    first = Registry()
    return [Registry() is first for _ in range(times)]


class Words:
    """A tokenizer whose tokens are numbers written out."""

    def encode(self, text: str, **_rest: Any) -> Tensor:
        """Ids (1, S)."""
        return torch.tensor([[int(word) for word in text.split()]])

    def decode(self, ids: Any, **_rest: Any) -> str:
        """A flat or (1, S) tensor or list of ids, in words."""
        return " ".join(str(int(one)) for one in torch.as_tensor(ids).reshape(-1))


@sv.subject("helper", name="llmss.Decoder", domain={"ids": sv.lists(sv.ints(0, 40), min_size=1)}, oracle=lambda ids: " ".join(map(str, ids)))
def decoder(ids: list[int]) -> str:
    """Decodes by the tokenizer that it was given, whichever instance is asked."""
    shared.Decoder().set_tokenizer(Words())
    decoded = shared.Decoder().decode(torch.tensor(ids))
    return str(decoded)
