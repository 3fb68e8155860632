"""flashspec 0.3.1: the engine takes `SamplingConfig.top_p` and samples as if it were 1. Needs flashspec and transformers; nothing of specverify.

A Llama of 5 ids with random weights, top_p = 0.5. Plain sampling from the model's own nucleus never leaves it; the engine does.
"""

import logging

import torch
from flashspec import BanditConfig, FlashSpecConfig, SamplingConfig, SpeculativeEngine
from flashspec.engine.hf_drafter import HuggingFaceDrafter
from flashspec.engine.verifier import TargetModel
from transformers import LlamaConfig, LlamaForCausalLM

logging.disable(logging.WARNING)
TOP_P, DRAWS, PROMPT, V = 0.5, 2_000, torch.tensor([[1, 2]]), 5


def tiny(seed: int) -> LlamaForCausalLM:
    """A Llama with large random weights, so that its rows are far from uniform."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=V, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=32
    )
    model = LlamaForCausalLM(config).eval()
    for weights in model.parameters():
        weights.data.mul_(5)
    return model


target, draft = tiny(1), tiny(2)
with torch.no_grad():
    p = target(input_ids=PROMPT).logits[0, -1].double().softmax(-1)
values, order = p.sort(descending=True)
nucleus = sorted(order[: int((values.cumsum(0) < TOP_P).sum()) + 1].tolist())
right = torch.zeros(V, dtype=torch.double)
right[nucleus] = p[nucleus] / p[nucleus].sum()


def engine(seed: int) -> SpeculativeEngine:
    """The engine on the two models."""
    sampling = SamplingConfig(gamma=2, temperature=1.0, top_p=TOP_P, seed=seed)
    config = FlashSpecConfig(
        device="cpu", dtype="float32", max_new_tokens=1, drafter_strategy="bandit", compile=False, bandit=BanditConfig(n_arms=1), sampling=sampling
    )
    return SpeculativeEngine(config, [HuggingFaceDrafter("tiny", "cpu", model=draft)], TargetModel("tiny", torch.device("cpu"), torch.float32, model=target))


found = torch.bincount(torch.tensor([int(engine(seed).generate(PROMPT).output_ids[0, 0]) for seed in range(DRAWS)]), minlength=V).double() / DRAWS
plain = torch.bincount(torch.multinomial(right, DRAWS, replacement=True), minlength=V).double() / DRAWS
print(f"first token, {DRAWS} draws each, top_p {TOP_P}; the nucleus is {nucleus}")
print("token   target   nucleus   plain sampling   flashspec")
for token in range(V):
    print(f"{token:>5} {p[token]:>8.4f} {right[token]:>9.4f} {plain[token]:>16.4f} {found[token]:>11.4f}")
outside = sum(float(found[token]) for token in range(V) if token not in nucleus)
print(f"outside the nucleus: {outside:.4f} of the engine's tokens, 0 is right")
raise SystemExit(outside > 0)
