"""Stand-alone: in transformers 4.57.6, prompt lookup raises on a model without an end token, which plain decoding takes. Needs torch and transformers, nothing of specverify."""

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1}


def main() -> None:
    """Three tokens greedily, plain and with drafts that are looked up."""
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    model = LlamaForCausalLM(LlamaConfig(**SIZES, bos_token_id=None, eos_token_id=None)).eval()
    prompt = torch.tensor([[1, 2, 1]])
    for more in ({}, {"prompt_lookup_num_tokens": 2}):
        try:
            told = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=3, do_sample=False, **more)[0].tolist()
        except TypeError as error:
            told = f"TypeError: {str(error).splitlines()[0]}"
        print(f"{more or 'plain'}: {told}")


if __name__ == "__main__":
    main()
