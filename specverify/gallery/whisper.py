"""gallery:whisper: speech recognition with a draft model, as distil-whisper's users have it: `generate()` of transformers' Whisper, which is not that of its other models.

Written from signatures and docstrings, and by trial. It draws only where a temperature is told. The text comes back without the decoder's start
and without its end.
"""

from typing import Any

import torch
from torch import Tensor

import specverify as sv


def new_ids(prompt: Tensor, target: Any, most: int, temperature: float, top_k: int, top_p: float, eos: int | None, **more: Any) -> Tensor:
    """What it writes behind features, (n,), and the end where it stopped before it had to."""
    how = {"do_sample": True, "temperature": temperature, "top_k": top_k, "top_p": top_p} if temperature else {"do_sample": False}
    (ids,) = target.generate(prompt.clone(), max_new_tokens=most, **how, **more)
    return torch.as_tensor(ids if eos is None or len(ids) == most else [*ids, eos])


@sv.subject("generate", name="whisper.assisted", models="whisper")
def assisted(prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> Tensor:
    """The draft model is a Whisper too, which always drafts as many tokens as it is told."""
    draft.generation_config.update(num_assistant_tokens=gamma, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
    return new_ids(prompt, target, most, temperature, top_k, top_p, eos, assistant_model=draft)


@sv.subject("generate", name="whisper.assisted_by_a_decoder", models="whisper")
def assisted_by_a_decoder(
    prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None
) -> Tensor:
    """The draft model is a decoder alone, WhisperForCausalLM, behind the target's encoder: what AutoModelForCausalLM loads."""
    return assisted(prompt, target, draft.decoder_alone(), gamma, most, temperature, top_k, top_p, eos)


@sv.subject("generate", name="whisper.prompt_lookup", models="whisper")
def prompt_lookup(prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> Tensor:
    """Drafts that are looked up in the text; it needs no draft model."""
    return new_ids(prompt, target, most, temperature, top_k, top_p, eos, prompt_lookup_num_tokens=gamma)


@sv.subject("generate", name="whisper.plain", models="whisper")
def plain(prompt: Tensor, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> Tensor:
    """The same without a draft model, which the other must agree with."""
    return new_ids(prompt, target, most, temperature, top_k, top_p, eos)
