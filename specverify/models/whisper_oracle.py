"""The logits of a Whisper's weights in double precision: whole text, no cache, one row; written from the papers, so that it shares no code with what is judged.

Attention and its layers 1706.03762, normalised before each as in 2002.04745, GELU 1606.08415; convolutions before the encoder and the arrangement 2212.04356.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv1d, gelu

EPSILON = 1e-5
"""Of layer normalisation."""
Weights = Mapping[str, Tensor]


@torch.no_grad()
def logits(model: Any, features: Tensor, ids: Tensor) -> Tensor:
    """The row behind each id, (T, V) in float64.

    Args:
        model: of the library's class for Whisper; its weights are cast up.
        features: (mels, frames).
        ids: of the decoder, its start included, (T,).
    """
    weights = {name: value.double() for name, value in model.state_dict().items()}
    heads = model.config.decoder_attention_heads
    states = _encoded(_under("model.encoder", weights), features.double(), heads)
    mine = _under("model.decoder", weights)
    x = mine["embed_tokens.weight"][ids] + mine["embed_positions.weight"][: len(ids)]
    for layer in range(model.config.decoder_layers):
        x = _layer(_under(f"layers.{layer}", mine), x, heads, states)
    rows: Tensor = _norm(mine, "layer_norm", x) @ weights["proj_out.weight"].T
    return rows


def _encoded(weights: Weights, features: Tensor, heads: int) -> Tensor:
    """States (frames / 2, width)."""
    x = gelu(conv1d(features, weights["conv1.weight"], weights["conv1.bias"], padding=1))
    x = gelu(conv1d(x, weights["conv2.weight"], weights["conv2.bias"], stride=2, padding=1)).T + weights["embed_positions.weight"]
    for layer in range(len({name.split(".")[1] for name in weights if name.startswith("layers.")})):
        x = _layer(_under(f"layers.{layer}", weights), x, heads, None)
    return _norm(weights, "layer_norm", x)


def _layer(weights: Weights, x: Tensor, heads: int, states: Tensor | None) -> Tensor:
    """Of the decoder, which sees itself and those before it and then the encoder's states; of the encoder, where there are none."""
    mine = _norm(weights, "self_attn_layer_norm", x)
    x = x + _attention(_under("self_attn", weights), mine, mine, heads, causal=states is not None)
    if states is not None:
        x = x + _attention(_under("encoder_attn", weights), _norm(weights, "encoder_attn_layer_norm", x), states, heads, causal=False)
    wide = gelu(_linear(weights, "fc1", _norm(weights, "final_layer_norm", x)))
    return x + _linear(weights, "fc2", wide)


def _attention(weights: Weights, x: Tensor, seen: Tensor, heads: int, *, causal: bool) -> Tensor:
    q, k, v = (_linear(weights, f"{name}_proj", one).reshape(len(one), heads, -1).transpose(0, 1) for name, one in (("q", x), ("k", seen), ("v", seen)))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return _linear(weights, "out_proj", (scores.softmax(-1) @ v).transpose(0, 1).flatten(1))


def _under(name: str, weights: Weights) -> Weights:
    """Of a part of the model, by their names in it."""
    return {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}


def _norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return _affine(weights, name, centred * (centred.square().mean(-1, keepdim=True) + EPSILON).rsqrt())


def _affine(weights: Weights, name: str, x: Tensor) -> Tensor:
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """A bias is 0 where there is none: keys have none."""
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", torch.zeros((), dtype=x.dtype))
