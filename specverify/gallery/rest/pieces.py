"""Two functions whose arguments are told otherwise: positions, and a filter of one row."""

from typing import Any

import torch
from rest.model import modeling_llama_kv, utils
from torch import Tensor


def rotary(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Any:
    """Its tables have two axes of one in front."""
    return modeling_llama_kv.apply_rotary_pos_emb(q, k, cos[None, None], sin[None, None], positions)


def top_p_filtering(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """It has no top-k, which is taken before, and works in place, on a copy of ours."""
    width = logits.shape[-1]
    border = logits.topk(min(top_k, width), -1).values[..., -1:]
    rows = logits.masked_fill(logits < border, -torch.inf).reshape(-1, width)
    filtered: Tensor = utils.top_p_filtering(rows, top_p)
    return filtered.reshape(logits.shape)
