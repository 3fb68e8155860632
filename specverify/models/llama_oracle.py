"""The logits of a Llama's weights in double precision: whole text, no cache, one row; written from the papers, so that it shares no code with what is judged.

RMSNorm 1910.07467, rotary positions 2104.09864, grouped queries 2305.13245, SwiGLU 2002.05202, their arrangement 2302.13971.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

BASE = 10_000.0
"""Of the rotary angles."""
Weights = Mapping[str, Tensor]


@torch.no_grad()
def logits(model: Any, ids: Tensor) -> Tensor:
    """The row behind each id, (T, V) in float64.

    Args:
        model: of the library's class for Llama; its weights are cast up.
        ids: (T,).
    """
    weights = {name: value.double() for name, value in model.state_dict().items()}
    x = weights["model.embed_tokens.weight"][ids]
    for layer in range(model.config.num_hidden_layers):
        mine = {name.removeprefix(f"model.layers.{layer}."): value for name, value in weights.items() if name.startswith(f"model.layers.{layer}.")}
        x = x + _attention(mine, _norm(x, mine["input_layernorm.weight"], model.config), model.config)
        x = x + _gated(mine, _norm(x, mine["post_attention_layernorm.weight"], model.config))
    rows: Tensor = _norm(x, weights["model.norm.weight"], model.config) @ weights["lm_head.weight"].T
    return rows


def _norm(x: Tensor, weight: Tensor, config: Any) -> Tensor:
    scale: Tensor = (x.square().mean(-1, keepdim=True) + config.rms_norm_eps).rsqrt()
    return weight * x * scale


def _attention(weights: Weights, x: Tensor, config: Any) -> Tensor:
    """Each position sees itself and those before it."""
    q, k, v = (_heads(x @ weights[f"self_attn.{name}_proj.weight"].T, config.head_dim) for name in "qkv")
    q, k = _turned(q), _turned(k)
    k, v = (one.repeat_interleave(len(q) // len(one), 0) for one in (k, v))
    scores = q @ k.mT / config.head_dim**0.5
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
    told: Tensor = mixed.transpose(0, 1).flatten(1) @ weights["self_attn.o_proj.weight"].T
    return told


def _heads(x: Tensor, width: int) -> Tensor:
    """(T, H D) to (H, T, D)."""
    return x.reshape(len(x), -1, width).transpose(0, 1)


def _turned(x: Tensor) -> Tensor:
    """Entry i of the first half and i of the second are a pair."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[1])[:, None].double() * BASE ** -(torch.arange(half).double() / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def _gated(weights: Weights, x: Tensor) -> Tensor:
    gate = torch.nn.functional.silu(x @ weights["mlp.gate_proj.weight"].T)
    told: Tensor = (gate * (x @ weights["mlp.up_proj.weight"].T)) @ weights["mlp.down_proj.weight"].T
    return told
