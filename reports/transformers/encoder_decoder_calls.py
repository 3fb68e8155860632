"""Stand-alone: in transformers 5.24.0, an encoder-decoder that is its own draft model rejects drafts, in 4.57.6 none. No law is off: it costs calls of the target.

Needs torch and transformers, nothing of specverify. With p = q every draft is accepted, so that 24 tokens take 6 calls at three drafts a round.
"""

import copy
import functools
from typing import Any

import torch
import transformers
from transformers import T5Config, T5ForConditionalGeneration

SIZES = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
TOKENS, DRAFTS, SEEDS = 24, 3, 5


def counted(model: Any, calls: list[int]) -> None:
    """Count the calls of a model."""
    forward = model.forward

    @functools.wraps(forward)
    def counting(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        return forward(*given, **named)

    model.forward = counting


def main() -> None:
    """A random T5 drafts for its copy; the calls of the latter."""
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model = T5ForConditionalGeneration(T5Config(**SIZES, decoder_start_token_id=0, pad_token_id=0, eos_token_id=None)).eval()
        draft, calls = copy.deepcopy(model), [0]
        counted(model, calls)
        draft.generation_config.update(num_assistant_tokens=DRAFTS, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
        model.generate(torch.randint(1, 64, (1, 6)), max_new_tokens=TOKENS, do_sample=True, top_k=0, assistant_model=draft)
        print(f"seed {seed}: {calls[0]} calls of the target for {TOKENS} tokens, {TOKENS // (DRAFTS + 1)} if no draft is rejected")


if __name__ == "__main__":
    main()
