"""gallery:pearl: the pieces, the cache, the seeding and both loops of smart-lty/ParallelSpeculativeDecoding, on a checkout. Run only; the repository has no licence.

Written from signatures, shapes and what they return alone. The parallel loop is played by two ranks in one process, of which the
first is the main one; it is no round that can be called alone.
"""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from src import engine, kvcache, util
from torch import Tensor

import specverify as sv
from specverify.models.ranks import Accelerator, Ranks
from specverify.models.rows import VOCABULARY, ModelCache
from specverify.models.tuples import TupleModel

BOTH = ("float32", "float64")
Model = Any
"""Prefix -> (V,), as `draft_and_verify` hands it over."""

sv.subject("positive_part", name="pearl.max_fn", batch=True, dtypes=BOTH)(util.max_fn)
sv.subject("warp", name="pearl.norm_logits", batch=True, dtypes=BOTH, conventions={"zero_means": "argmax"})(util.norm_logits)
sv.subject("filter_logits", name="pearl.top_k_top_p_filter", batch=True, dtypes=BOTH)(util.top_k_top_p_filter)
sv.subject("sample", name="pearl.sample", dtypes=BOTH)(util.sample)


@sv.subject("seeding", name="pearl.seed_everything")
def seed_everything(seed: int, draw: Any) -> Any:
    """It seeds, and returns nothing."""
    util.seed_everything(seed)
    return draw()


def cut(keys: Tensor, probs: Tensor, keep: int) -> list[Tensor]:
    """What a cache that was rolled back must hold: the first rows of each."""
    return [part[: min(keep, len(part))] for part in (keys, keys, probs)]


@sv.subject(
    "helper",
    name="pearl.KVCacheModel.rollback",
    domain={"keys": sv.tensors(("n", 2), sv.floats(-4, 4)), "probs": sv.tensors(("n", 3), sv.floats(0, 1)), "keep": sv.ints(0, 8)},
    oracle=cut,
)
def rollback(keys: Tensor, probs: Tensor, keep: int) -> list[Tensor]:
    """Keys that are values too, and the rows of probabilities beside them; cut to what is there at most."""
    cache = kvcache.KVCacheModel(None, 1.0, 0, 0.0)
    cache.vocab_size = probs.shape[1]
    cache._past_key_values, cache._prob_history = ((keys[None, None], keys[None, None]),), probs[None]  # noqa: SLF001
    cache.rollback(min(keep, len(keys)))
    ((k, v),) = cache._past_key_values  # noqa: SLF001
    return [k[0, 0], v[0, 0], cache._prob_history[0]]  # noqa: SLF001


def with_vocabulary(model: Any) -> Any:
    """A cache of a model that knows the width of its logits."""
    cache = kvcache.KVCacheModel(model, 1.0, 0, 0.0)
    cache.vocab_size = VOCABULARY
    return cache


@sv.subject("kv_cache", name="pearl.KVCacheModel", conventions={"full": "grows"})
def model_cache(capacity: int) -> ModelCache:
    """Its rows, as its model's rounds append and cut them."""
    return ModelCache(with_vocabulary)


def decoding(target: Model, draft: Model, gamma: int, seed: int, **more: Any) -> Any:
    """A decoder that was not set up: no accelerator, no seeding; what is abstract in it stays unused."""
    made = type("Decoding", (engine.Decoding,), dict.fromkeys(getattr(engine.Decoding, "__abstractmethods__", ())))
    decoder = made.__new__(made)  # type: ignore[call-overload]
    decoder.args = SimpleNamespace(**{"gamma": gamma, "max_tokens": 1, "temp": 1.0, "top_k": 0, "top_p": 0.0, "seed": seed, **more})
    decoder.seed, decoder.vocab_size = seed, target.width
    decoder.draft_model, decoder.target_model = TupleModel(draft), TupleModel(target)
    decoder.accelerator = SimpleNamespace(is_main_process=True, is_local_main_process=True, device=torch.device("cpu"), print=lambda *_: None)
    return decoder


def rows_asked(draft: Model, prefix: tuple[int, ...], gamma: int) -> Tensor:
    """The rows that the drafts were drawn from: those that the draft model was asked for behind the text, in order."""
    asked = sorted({one for one in draft.asked if len(one) >= len(prefix)}, key=len)[:gamma]
    return torch.stack([draft[one] for one in asked]) if asked else torch.empty(0, draft.width)


@sv.subject("draft_and_verify", name="pearl.Decoding.speculative_decoding", rule="standard", seed="int", conventions={"drafting": "rows"})
def speculative_decoding(target: Model, draft: Model, prefix: tuple[int, ...], gamma: int, seed: int) -> tuple[Tensor, Tensor]:
    """One round, asked for one token more; it reseeds from its own seed."""
    ids = decoding(target, draft, gamma, seed).speculative_decoding(torch.tensor([prefix]))
    return ids[0, len(prefix) :], rows_asked(draft, prefix, gamma)


def asked(target: Model, most: int, temperature: float, top_k: int, top_p: float) -> dict[str, Any]:
    """What its loops read of their arguments; each filter is off by 0 where it would keep all."""
    return {"max_tokens": most, "temp": temperature, "top_k": top_k if top_k < target.width else 0, "top_p": top_p if top_p < 1 else 0.0}


HEEDS = ("greedy", "temperature", "top_k", "top_p")


@sv.subject("generate", name="pearl.Decoding.speculative_decoding (text)", models="callable", seed="int", supports=HEEDS)
def plain(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: None, *, seed: int) -> Tensor:
    """Over several rounds; it knows no end token and returns as many as it was asked for, or more."""
    decoder = decoding(target, draft, gamma, seed, **asked(target, most, temperature, top_k, top_p))
    ids: Tensor = decoder.speculative_decoding(prompt[None])
    return ids[0, len(prompt) :][:most]


MOVE = Tensor.to


def here(tensor: Tensor, *where: Any, **more: Any) -> Tensor:
    """As `Tensor.to`, but for a device that is named in the loops: all is on one."""
    if more.get("device") is not None:
        more["device"] = "cpu"
    named = ["cpu" if isinstance(one, (str, torch.device)) or type(one) is int else one for one in where]
    moved: Tensor = MOVE(tensor, *named, **more)  # type: ignore[arg-type]
    return moved


@sv.subject("generate", name="pearl.Decoding.parallel_speculative_decoding", models="callable", seed="int", supports=HEEDS)
def parallel(
    prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: None, *, seed: int
) -> Tensor:
    """Both ranks start with one seed, as they do where they are set up; what the main one returns is the text."""

    def play(accelerator: Accelerator) -> Tensor:
        decoder = decoding(target, draft, gamma, seed, **asked(target, most, temperature, top_k, top_p))
        decoder.accelerator = accelerator
        util.seed_everything(seed)
        ids: Tensor = decoder.parallel_speculative_decoding(prompt[None])
        return ids

    with mock.patch.object(Tensor, "to", here):
        text: Tensor = Ranks(play).run()
    return text[0, len(prompt) :][:most]
