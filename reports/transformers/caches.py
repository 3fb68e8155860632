"""Stand-alone: what a reset leaves of a DynamicCache, and a refused row of a full StaticCache. Needs torch and transformers, nothing of specverify."""

import torch
import transformers
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, StaticCache

SIZES = {"vocab_size": 16, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}


@torch.no_grad()
def behind(model: LlamaForCausalLM, ids: list[int], cache: DynamicCache) -> torch.Tensor:
    """The logits behind ids that are read into a cache."""
    return model(input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=True).logits[0, -1]


def main() -> None:
    """A text, a reset, and another text, beside that text in a new cache; then a third row into a cache of two."""
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    torch.manual_seed(0)
    model, used = LlamaForCausalLM(LlamaConfig(**SIZES)).eval(), DynamicCache()
    behind(model, [1, 2, 3], used)
    used.reset()
    print(f"DynamicCache, 3 tokens, then reset(): get_seq_length() is {used.get_seq_length()}")
    print(f"logits behind the next text are off a new cache's by {(behind(model, [4, 5], used) - behind(model, [4, 5], DynamicCache())).abs().max():.2g}")
    full, row = StaticCache(config=model.config, max_cache_len=2), torch.ones(1, 2, 1, 8)
    try:
        for place in range(3):
            full.update(row, row, 0, {"cache_position": torch.tensor([place])})
    except IndexError:
        print(f"StaticCache of 2 rows, a third: IndexError, and get_seq_length() is {int(full.get_seq_length())}")


if __name__ == "__main__":
    main()
