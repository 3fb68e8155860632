"""gallery:flashspec: the verification steps, the residual, the loop and the cached sessions of PyPI's `flashspec`, its PyTorch path.

Written from signatures, docstrings and by trial.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from flashspec import BanditConfig, FlashSpecConfig, SamplingConfig, SpeculativeEngine
from flashspec.engine.hf_drafter import HuggingFaceDrafter
from flashspec.engine.kv_cache import KvSession
from flashspec.engine.static_cache import StaticKvSession
from flashspec.engine.verifier import TargetModel
from flashspec.sampling.greedy import greedy_step
from flashspec.sampling.rejection import rejection_step, rejection_step_onehot, residual_distribution
from torch import Tensor

import specverify as sv

sv.subject("residual", name="flashspec.residual_distribution", batch=True, dtypes=("float32", "float64"), conventions={"eps": 1e-9})(residual_distribution)


def tokens(draft: Tensor, step: Tensor) -> list[int]:
    """Its steps return the accepted length and the next token, for a batch of one."""
    n, token = step.reshape(-1).tolist()
    return [*draft[:n].tolist(), token]


@sv.subject("verify_chain", name="flashspec.rejection_step", rule="standard", seed="generator")
def chain(p: Tensor, q: Tensor, draft: Tensor, generator: torch.Generator) -> list[int]:
    """It takes log-probabilities, a row more for the target."""
    return tokens(draft, rejection_step(draft[None], q.log()[None], p.log()[None], generator=generator))


@sv.subject("verify_chain", name="flashspec.rejection_step (batch)", rule="standard", seed="generator", batch=True)
def chains(p: Tensor, q: Tensor, draft: Tensor, generator: torch.Generator) -> list[int] | tuple[Tensor, Tensor]:
    """The same for a batch of chains of one length: the ids, and how many of each draft were accepted."""
    if draft.ndim == 1:
        return chain(p, q, draft, generator)
    n, token = rejection_step(draft, q.log(), p.log(), generator=generator).reshape(len(draft), 2).T
    ids = torch.nn.functional.pad(draft, (0, 1)).scatter(1, n[:, None], token[:, None])
    return ids, n


@sv.subject("verify_deterministic_draft", name="flashspec.rejection_step_onehot", rule="standard", seed="generator")
def onehot(p: Tensor, draft: Tensor, generator: torch.Generator) -> list[int]:
    """The same for a draft that was looked up."""
    return tokens(draft, rejection_step_onehot(draft[None], p.log()[None], generator=generator))


@sv.subject("verify_chain_greedy", name="flashspec.greedy_step", dtypes=("float32", "float64"))
def greedy(logits: Tensor, draft: Tensor) -> list[int]:
    """It takes the argmax of each row."""
    return tokens(draft, greedy_step(draft[None], logits.argmax(-1)[None]))


def written(
    strategy: str, prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_p: float, eos: int | None, seed: int
) -> Tensor:
    """The new ids that its engine writes with one draft model; at temperature 0 it is told so by name. What follows an end token is -1, as documented, and is cut."""
    sampling = SamplingConfig(gamma=gamma, temperature=temperature, top_p=top_p, seed=seed, variant="rejection" if temperature else "greedy")
    ends = () if eos is None else (eos,)
    config = FlashSpecConfig(
        device="cpu", dtype="float32", eos_token_ids=ends, drafter_strategy=strategy, compile=False, bandit=BanditConfig(n_arms=1), sampling=sampling
    )
    drafter = HuggingFaceDrafter("table", "cpu", temperature=temperature, model=draft)
    engine = SpeculativeEngine(config, [drafter], TargetModel("table", torch.device("cpu"), torch.float32, model=target))
    ids: Tensor = engine.generate(prompt[None], max_new_tokens=most).output_ids
    return ids[0][ids[0] >= 0]


HEEDS = ("greedy", "temperature", "top_p", "eos")


@sv.subject("generate", name="flashspec.SpeculativeEngine", models="transformers", seed="int", supports=HEEDS)
def loop(prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None, *, seed: int) -> Tensor:
    """Its draft model alone."""
    return written("bandit", prompt, target, draft, gamma, most, temperature, top_p, eos, seed)


@sv.subject("generate", name="flashspec.SpeculativeEngine (composite)", models="transformers", seed="int", supports=HEEDS)
def composite(
    prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None, *, seed: int
) -> Tensor:
    """With drafts that are looked up in the text as well, which is what it does by default."""
    return written("auto", prompt, target, draft, gamma, most, temperature, top_p, eos, seed)


ROOM = 16
"""Rows of a cache of fixed size: of the longest prompt, nine ids, and what is drafted behind it."""
REJECTED = 2
"""Drafts behind each chunk, which are cropped."""


def rows(made: Callable[[Any], Any], model: Any, ids: Tensor, chunks: list[int], parents: Tensor) -> Tensor:
    """A prompt in chunks through the session of a model, which it keeps for the next prompt; behind each chunk stand drafts that are all rejected."""
    session = model.session = getattr(model, "session", None) or made(model)
    session.start(ids[None, :1])  # reads nothing yet
    found, place = list[Tensor](), 0
    for size in chunks:
        new = ids[None, max(1, place) : place + size]
        found.append(session.advance(new if new.numel() else None, size))
        session.advance(ids[None, :1].repeat(1, REJECTED), 1)
        session.crop(REJECTED)
        place += size
    return torch.cat(found, 1)


CHUNKS: Any = {"models": "transformers", "supports": ("chunks",)}
sv.subject("prefill", name="flashspec.KvSession", **CHUNKS)(partial(rows, KvSession))
sv.subject("prefill", name="flashspec.StaticKvSession", **CHUNKS)(partial(rows, partial(StaticKvSession, max_cache_len=ROOM)))
