"""gallery:lucidrains: helper functions, the sampler and the loop of PyPI's `speculative-decoding`.

Written from signatures and by trial. The package rebinds its submodule's name to a function, so the module is taken from `sys.modules`.
"""

import sys
from typing import Any

import speculative_decoding  # noqa: F401
import torch
from torch import Tensor, nn

import specverify as sv

package = sys.modules["speculative_decoding.speculative_decoding"]


@sv.subject("first_rejection", name="lucidrains.find_first_true_index", batch=True)
def find_first_true_index(accepted: Tensor) -> Tensor:
    """It finds the first True, so it gets the rejections."""
    result: Tensor = package.find_first_true_index(~accepted)
    return result


@sv.subject("ratio", name="lucidrains.safe_div", dtypes=("float32", "float64"), conventions={"eps": 1e-10})
def safe_div(num: Tensor, den: Tensor) -> Tensor:
    """Its guard is an argument, 1e-10 by default."""
    result: Tensor = package.safe_div(num, den)
    return result


@sv.subject("keep_fraction", name="lucidrains.top_k", batch=True, dtypes=("float32", "float64"))
def top_k(logits: Tensor, thres: float) -> Tensor:
    """Takes the same parameters."""
    result: Tensor = package.top_k(logits, thres)
    return result


@sv.subject("sample", name="lucidrains.gumbel_sample", batch=True, dtypes=("float32", "float64"))
def gumbel_sample(probs: Tensor) -> Tensor:
    """It takes logits, so it gets the logarithms of the rows."""
    result: Tensor = package.gumbel_sample(probs.log())
    return result


Cache = tuple[Tensor, Tensor | None]
"""Keys and values (B, layers, 2, heads, n, d), here the ids that were read, and embeddings (B, n, d)."""


class Net(nn.Module):
    """A model as its loops call it: it keeps what it has read in the cache that they cut and hand back."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, seq_start_pos: Tensor | None = None, cache: Cache | None = None, return_cache: bool = False) -> Tensor | tuple[Tensor, Cache]:  # noqa: FBT001  its loops'
        """Logits of the positions that the cache does not hold."""
        ids = x if cache is None else torch.cat([cache[0][:, 0, 0, 0, :, 0].long(), x[:, cache[0].shape[-2] :]], 1)
        start = 0 if seq_start_pos is None else int(seq_start_pos[0])
        past = 0 if cache is None else cache[0].shape[-2]
        logits: Tensor = self.model(ids[:, start:])[:, max(0, past - start) :]
        kept = ids[:, None, None, None, :, None].float().repeat(1, 1, 2, 1, 1, 1)
        return (logits, (kept, ids[..., None].float())) if return_cache else logits


@sv.subject("generate", name="lucidrains.speculative_decoding", models="module", supports=("temperature",))
def generate(
    prompt: Tensor, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """Its filter keeps a share of the vocabulary; a threshold of 0 keeps all. It returns new tokens only, and the mean accepted length."""
    tokens, _ = package.speculative_decoding(
        Net(target), Net(draft), prompt[None], len(prompt) + max_new_tokens, gamma=gamma, temperature=temperature, filter_thres=0.0
    )
    return torch.as_tensor(tokens[0])


@sv.subject("generate", name="lucidrains.base_decoding", models="module", supports=("temperature",))
def plain(
    prompt: Tensor, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """The loop without a draft model, which the other must agree with."""
    tokens: Tensor = package.base_decoding(Net(target), prompt[None], len(prompt) + max_new_tokens, temperature=temperature, filter_thres=0.0)
    return tokens[0]


class TwoStages(nn.Module):
    """A model that its same-model loop drafts with as far as the early exit, and then asks in full."""

    def __init__(self, model: nn.Module, exits: nn.Module) -> None:
        super().__init__()
        self.model, self.exits = Net(model), Net(exits)

    def forward(self, x: Tensor, seq_start_pos: Tensor | None = None, cache: Cache | None = None, return_early_exit_only: bool = False, **_rest: object) -> Any:  # noqa: FBT001  its loop's
        """Logits and cache of the part that is asked; the full one starts from what the draft has read, which a table does not need."""
        return (self.exits if return_early_exit_only else self.model)(x, seq_start_pos, cache, return_cache=True)


@sv.subject("generate", name="lucidrains.speculative_decoding_with_same_model", models="module", supports=("temperature",))
def same_model(
    prompt: Tensor, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """The early exit is a table of its own."""
    tokens, _ = package.speculative_decoding_with_same_model(
        TwoStages(target, draft), prompt[None], len(prompt) + max_new_tokens, gamma=gamma, temperature=temperature, filter_thres=0.0
    )
    return torch.as_tensor(tokens[0])
