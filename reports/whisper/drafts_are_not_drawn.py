"""Stand-alone: in transformers, a Whisper that drafts for a Whisper gives its likeliest tokens, and the step weighs them as draws. Needs torch and transformers, nothing of specverify."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import WhisperConfig, WhisperForCausalLM, WhisperForConditionalGeneration

V, START, DRAWS = 4, 0, 1_000
SIZES = {
    "vocab_size": V, "num_mel_bins": 8, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_source_positions": 8, "max_target_positions": 64,
}  # fmt: skip
NOTHING = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id", "suppress_tokens", "begin_suppress_tokens"))


def whisper(seed: int, kind: type[Any] = WhisperForConditionalGeneration) -> Any:
    """A small model with random weights."""
    torch.manual_seed(seed)
    model = kind(WhisperConfig(**SIZES, **NOTHING, decoder_start_token_id=START)).eval()
    for matrix in (one for one in model.parameters() if one.dim() > 1):
        torch.nn.init.normal_(matrix, std=matrix.shape[-1] ** -0.5)
    return model


@torch.no_grad()
def main() -> None:
    """The law of the first token, by the model itself, by a plain loop, and with a draft model of each kind."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}; the first token of {DRAWS:,} texts at temperature 1")
    target, hears = whisper(0), torch.randn(1, 8, 16, generator=torch.Generator().manual_seed(0))
    p = row(target, hears)
    show("the target's row", p)
    show("a plain loop", frequencies(int(torch.multinomial(p, 1)) for _ in range(DRAWS)))
    for name, more in (
        ("generate(), no draft model", {}),
        ("drafts of WhisperForCausalLM", {"assistant_model": whisper(3, WhisperForCausalLM)}),
        ("drafts of WhisperForConditionalGeneration", {"assistant_model": whisper(3)}),
    ):
        written = (target.generate(hears, do_sample=True, temperature=1.0, max_new_tokens=2, **more)[0, 0] for _ in range(DRAWS))
        show(name, frequencies(map(int, written)))
    q = row(whisper(3), hears)
    show("  its row q", q)
    show("  the law if it drafts argmax q and that is accepted with p/q", as_if_drawn(p, q))


def row(model: Any, hears: Tensor) -> Tensor:
    """The law of its first token."""
    return model(input_features=hears, decoder_input_ids=torch.tensor([[START]])).logits[0, -1].double().softmax(-1)


def as_if_drawn(p: Tensor, q: Tensor) -> Tensor:
    """Of the token that comes out."""
    drafted, residual = int(q.argmax()), (p - q).clamp(min=0)
    accepted = min(1.0, float(p[drafted] / q[drafted]))
    law = (1 - accepted) * residual / residual.sum()
    law[drafted] += accepted
    return law


def frequencies(tokens: Iterable[int]) -> Tensor:
    """Of each token."""
    counts = Counter(tokens)
    return torch.tensor([counts[token] / DRAWS for token in range(V)])


def show(name: str, law: Tensor) -> None:
    """A line."""
    print(f"{name:62}", " ".join(f"{mass:.3f}" for mass in law.tolist()))


if __name__ == "__main__":
    main()
