"""Which models of transformers an adapter with a cache can serve, told by their public arguments and configurations."""

from __future__ import annotations

import inspect
from typing import Any

CACHE_ARGUMENTS = "cache", "past_key_values"
"""Names that forward gives its cache, newest first."""
FORGETTING = {"full_attention", "sliding_attention"}
"""Kinds of layers that keep keys and values of every token when the cache is a plain one, so that tokens can be taken back."""
CHANGING_ROPES = {"dynamic", "longrope"}
"""Rotary positions whose frequencies depend on the length read so far: keys in the cache are of other frequencies than later ones."""


def cache_argument(model: Any) -> str:
    """What the model's forward calls its cache; nothing if it takes none."""
    taken = inspect.signature(model.forward).parameters
    return next((name for name in CACHE_ARGUMENTS if name in taken), "")


def check_model(model: Any, *, encoder_decoder: bool) -> None:
    """Refuse a model that the adapter cannot be right for.

    Raises:
        ValueError: one sentence that says why.
    """
    name, config = type(model).__name__, model.config.get_text_config(decoder=True)
    if model.config.is_encoder_decoder != encoder_decoder:
        other = "CausalModel" if encoder_decoder else "EncoderDecoderModel"
        raise ValueError(f"{name} is {'no' if encoder_decoder else 'an'} encoder-decoder; {other} is its adapter")
    if model.training:
        raise ValueError(f"{name} is in training mode, where dropout makes its rows random; call eval() first")
    strange = set(getattr(config, "layer_types", None) or ()) - FORGETTING
    if getattr(model, "_is_stateful", False) or not cache_argument(model) or strange:
        raise ValueError(
            f"{name} keeps more than keys and values of its tokens ({', '.join(sorted(strange)) or 'a state'}); rejected tokens cannot be taken back"
        )
    if changing := _ropes(config) & CHANGING_ROPES:
        raise ValueError(f"{name} has {changing.pop()} rotary positions, which change with the length: its rows would depend on how a text is split into calls")


def why_one_row(model: Any, positions: str) -> str:
    """Why the model can serve no more than one row at a time; nothing if it can."""
    name = type(model).__name__
    if positions not in inspect.signature(model.forward).parameters:
        return f"{name} takes no {positions}"
    return f"{name} attends to a window of columns" if _has_window(model.config.get_text_config(decoder=True)) else ""


def most_positions(model: Any) -> int | None:
    """The longest text that a model with a table of positions can read; nothing where positions are rotary, relative or linear biases."""
    config = model.config.get_text_config(decoder=True)
    if _ropes(config) or getattr(config, "alibi", False):
        return None
    return getattr(config, "max_target_positions", None) or getattr(config, "max_position_embeddings", None)


def _has_window(config: Any) -> bool:
    kinds = getattr(config, "layer_types", None)
    if kinds:
        return "sliding_attention" in kinds
    return getattr(config, "sliding_window", None) is not None or "local" in getattr(config, "attention_layers", ())


def _ropes(config: Any) -> set[str]:
    """Kinds of rotary positions; of transformers 4 under another name, of some models one for each kind of layer."""
    told = (
        getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or ({"rope_type": "default"} if hasattr(config, "rope_theta") else {})
    )
    parts = [told, *(one for one in told.values() if isinstance(one, dict))]
    return {str(kind) for one in parts if (kind := one.get("rope_type", one.get("type")))}
