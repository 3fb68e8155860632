"""`python -m benchmarks.speculation`: wall clock of speculative decoding with a draft four times cheaper, on a model made here, beside plain decoding and theory.

Needs transformers. The target is a random Llama of more than ten million parameters whose later layers say little, so that its own first layers draft well.
"""

from __future__ import annotations

import argparse
import copy
from typing import Any

import torch
from torch import Generator, nn

from specref.efficiency import expected_tokens
from specref.generation import ModelDrafter, Trace, autoregressive, speculative
from specref.generation.transformers_models import CausalModel
from specref.warp import Sampling

LAYERS, DRAFTING, HIDDEN, VOCABULARY = 16, 4, 320, 512
FAINT = 0.06
"""Share of their own that the later layers add."""
PASSES = 5


def target() -> Any:
    """A random Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, intermediate_size=3 * HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=5, num_key_value_heads=5,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    model.lm_head.weight.data.mul_(8)  # so that rows are far from uniform
    for layer in model.model.layers[DRAFTING:]:
        layer.self_attn.o_proj.weight.data.mul_(FAINT)
        layer.mlp.down_proj.weight.data.mul_(FAINT)
    return model


def first_layers(model: Any, count: int) -> Any:
    """A draft out of a Llama's own first layers, its embeddings and its head."""
    config = copy.deepcopy(model.config)
    config.num_hidden_layers = count
    with torch.device("meta"):
        draft = type(model)(config)
    draft.model.embed_tokens, draft.model.norm, draft.lm_head = model.model.embed_tokens, model.model.norm, model.lm_head
    draft.model.layers, draft.model.rotary_emb = nn.ModuleList(model.model.layers[:count]), model.model.rotary_emb
    return draft.eval()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new", type=int, default=128, help="new tokens")
    new = parser.parse_args().new
    torch.set_num_threads(2)
    model = target()
    size = sum(one.numel() for one in model.parameters())
    wrapped, drafter = CausalModel(model), ModelDrafter(CausalModel(first_layers(model, DRAFTING)))
    print(f"{size / 1e6:.1f} M parameters, {LAYERS} layers; the draft is the first {DRAFTING}; temperature 1, {new} tokens, 2 threads, best of {PASSES}")
    plain = _best([autoregressive(wrapped, [1, 2, 3], Generator().manual_seed(1), max_new_tokens=new).trace for _ in range(PASSES)])
    print(f"{'gamma':>5} {'alpha':>6} {'cost c':>7} {'tokens/call':>11} {'by theory':>9} {'speed-up':>8} {'by theory':>9}")
    for gamma in (1, 2, 3, 4, 5):
        how = {"max_new_tokens": new, "gamma": gamma, "sampling": Sampling()}
        trace = _best([speculative(wrapped, drafter, [1, 2, 3], Generator().manual_seed(1), **how).trace for _ in range(PASSES)])  # type: ignore[arg-type]
        tokens = f"{trace.block_efficiency:>11.2f} {expected_tokens(trace.acceptance, gamma):>9.2f}"
        print(f"{gamma:>5} {trace.acceptance:>6.2f} {trace.cost:>7.2f} {tokens} {trace.measured_speedup(plain):>8.2f} {trace.predicted_speedup:>9.2f}")


def _best(traces: list[Trace]) -> Trace:
    return min(traces, key=lambda trace: trace.seconds)


if __name__ == "__main__":
    main()
