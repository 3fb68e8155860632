"""gallery:transformers: the speculative sampling step of Hugging Face transformers, `generation.utils._speculative_sampling`, and its logits warpers.

Written from signatures and docstrings, and by trial. The step's arguments are bound by name, since they differ between versions. The warpers are called
in the order in which `generate` lists them: temperature, top-k, top-p.
"""

import inspect
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.generation.utils import _speculative_sampling

import specverify as sv

TAKES = inspect.signature(_speculative_sampling).parameters


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


@sv.subject("filter_logits", name="transformers.TopK_TopP", batch=True, dtypes=("float32", "float64", "float16", "bfloat16"))
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
