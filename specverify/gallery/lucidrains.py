"""gallery:lucidrains: helper functions, the sampler and the loops of PyPI's `speculative-decoding`.

Written from signatures and by trial. The package rebinds its submodules' names to functions, so the modules are taken from `sys.modules`. Its own `Decoder` has weights, and no table can stand for
it: it is held to its own reading in one pass. With `early_exit_layer` it cannot be built at all (NameError, `reports/lucidrains/decoder.py`), so that the loop for early exits runs on tables alone.
"""

import sys
from functools import partial
from typing import Any

import speculative_decoding.speculative_decoding_with_prophet  # noqa: F401
import torch
from torch import Tensor, nn

import specverify as sv

package, prophets = (sys.modules[f"speculative_decoding.speculative_decoding{name}"] for name in ("", "_with_prophet"))


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
"""Keys and values (B, layers, 2, heads, n, d), here the ids that were read, and embeddings (B, n, d), here the texts that end there, which -1 fills up."""
Prompts = tuple[Tensor, Tensor]
"""Ids (B, S) and lengths (B,), all alike."""


class Net(nn.Module):
    """A model as its loops call it: it keeps what it has read in the cache that they cut, align to the right and hand back."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, seq_start_pos: Tensor | None = None, cache: Cache | None = None, return_cache: bool = False) -> Tensor | tuple[Tensor, Cache]:  # noqa: FBT001  its loops'
        """Logits of the positions that the cache does not hold; a row's text begins at its start."""
        ids = x if cache is None else torch.cat([cache[0][:, 0, 0, 0, :, 0].long(), x[:, cache[0].shape[-2] :]], 1)
        starts = [0] * len(x) if seq_start_pos is None else seq_start_pos.tolist()
        past = 0 if cache is None else cache[0].shape[-2]
        logits = turned(self.model(turned(ids, [-start for start in starts])), starts)[:, past:]
        kept = ids[:, None, None, None, :, None].float().repeat(1, 1, 2, 1, 1, 1)
        return (logits, (kept, texts(ids, starts)[:, past:])) if return_cache else logits


def turned(rows: Tensor, places: list[int]) -> Tensor:
    """Rows (B, T, …), each turned by so many places, so that what stands before a text follows it, and back again."""
    return torch.stack([row.roll(place, 0) for row, place in zip(rows, places, strict=True)])


def texts(ids: Tensor, starts: list[int]) -> Tensor:
    """The ids (B, T, T) from a row's start to each place, -1 for the others."""
    places = torch.arange(ids.shape[1])
    read = (places <= places[:, None]) & (places >= torch.tensor(starts)[:, None, None])
    return torch.where(read, ids[:, None], -1).float()


@sv.subject("generate", name="lucidrains.speculative_decoding", models="module", batch=True, supports=("temperature",))
def generate(
    prompt: Prompts, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """Its filter keeps a share of the vocabulary; a threshold of 0 keeps all. It returns new tokens only, and the mean accepted length."""
    ids, _ = prompt
    tokens, _ = package.speculative_decoding(
        Net(target), Net(draft), ids, ids.shape[1] + max_new_tokens, gamma=gamma, temperature=temperature, filter_thres=0.0
    )
    return torch.as_tensor(tokens)


@sv.subject("generate", name="lucidrains.base_decoding", models="module", batch=True, supports=("temperature",))
def plain(
    prompt: Prompts, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """The loop without a draft model, which the other must agree with."""
    ids, _ = prompt
    tokens: Tensor = package.base_decoding(Net(target), ids, ids.shape[1] + max_new_tokens, temperature=temperature, filter_thres=0.0)
    return tokens


class TwoStages(nn.Module):
    """A model that its same-model loop drafts with as far as the early exit, and then asks in full."""

    def __init__(self, model: nn.Module, exits: nn.Module) -> None:
        super().__init__()
        self.model, self.exits = Net(model), Net(exits)

    def forward(self, x: Tensor, seq_start_pos: Tensor | None = None, cache: Cache | None = None, return_early_exit_only: bool = False, **_rest: object) -> Any:  # noqa: FBT001  its loop's
        """Logits and cache of the part that is asked; the full one starts from what the draft has read, which a table does not need."""
        return (self.exits if return_early_exit_only else self.model)(x, seq_start_pos, cache, return_cache=True)


@sv.subject("generate", name="lucidrains.speculative_decoding_with_same_model", models="module", batch=True, supports=("temperature",))
def same_model(
    prompt: Prompts, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """The early exit is a table of its own."""
    ids, _ = prompt
    tokens, _ = package.speculative_decoding_with_same_model(
        TwoStages(target, draft), ids, ids.shape[1] + max_new_tokens, gamma=gamma, temperature=temperature, filter_thres=0.0
    )
    return torch.as_tensor(tokens)


class Prophet(nn.Module):
    """A drafter that starts from embeddings of the target: they are the text, and the first id repeats its last."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, start_tokens: Tensor, **_rest: object) -> tuple[Tensor, Cache]:
        """Logits (B, 1, V) behind the last id; it needs no cache, since all ids since the embeddings are handed over."""
        told = [torch.cat([start[start >= 0].long(), row[1:]]) for start, row in zip(start_tokens[:, -1], x, strict=True)]
        return torch.stack([self.model(ids[None])[0, -1:] for ids in told]), (x[:, None, None, None, :, None].float(), None)


class WithProphet(nn.Module):
    """A target and its drafter, as the package's wrapper of the two has them."""

    num_leading_start_tokens = 1

    def __init__(self, model: nn.Module, prophet: nn.Module) -> None:
        super().__init__()
        self.model, self.prophet, self.to_prophet_start_token = Net(model), Prophet(prophet), nn.Identity()


@sv.subject("generate", name="lucidrains.speculative_decoding_with_prophet_model", models="module", batch=True, supports=("temperature",))
def prophet_model(
    prompt: Prompts, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """The drafter is a table of its own."""
    ids, _ = prompt
    tokens, _ = prophets.speculative_decoding_with_prophet_model(
        WithProphet(target, draft), ids, ids.shape[1] + max_new_tokens, gamma=gamma, temperature=temperature, filter_thres=0.0
    )
    return torch.as_tensor(tokens)


@sv.subject("generate", name="lucidrains.speculative_decoding_with_prophet_model (two tokens or more)", models="module", batch=True, supports=("temperature",))
def longer_prophet_model(
    prompt: Prompts, target: nn.Module, draft: nn.Module, gamma: int, max_new_tokens: int, temperature: float, top_k: int, top_p: float, eos: None
) -> Tensor:
    """The same, never asked for one token alone, for which it divides by zero."""
    tokens = prophet_model(prompt, target, draft, gamma, max(2, max_new_tokens), temperature, top_k, top_p, eos)
    return tokens[:, :max_new_tokens]


IDS = 5
"""Vocabulary of a small decoder."""
TEXT = {"seed": sv.ints(0, 99), "ids": sv.lists(sv.ints(0, IDS - 1), min_size=1, max_size=8)}
"""A small decoder by its weights, and what it reads."""


def decoder(module: Any, seed: int) -> nn.Module:
    """With random weights, in float64, so that rounding is no question."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made: nn.Module = module.Decoder(num_tokens=IDS, dim=16, depth=2, heads=2, dim_head=8).double().eval()
    return made


@torch.no_grad()
def in_one_pass(module: Any, seed: int, ids: list[int], *_: int) -> Tensor:
    """Rows (T, V) of the ids alone, without a cache."""
    rows: Tensor = decoder(module, seed)(torch.tensor([ids]))[0]
    return rows


@torch.no_grad()
def in_pieces(module: Any, seed: int, ids: list[int], size: int) -> Tensor:
    """The same, so many ids a call, with the cache that the call before gave."""
    net, rows, cache = decoder(module, seed), list[Tensor](), None
    for end in range(size, len(ids) + size, size):
        found, cache = net(torch.tensor([ids[:end]]), cache=cache, return_cache=True)
        rows.append(found[0])
    return torch.cat(rows)


@torch.no_grad()
def right_aligned(module: Any, seed: int, ids: list[int], before: int) -> Tensor:
    """The same behind so many pads, which `seq_start_pos` tells of, as its loops align the rows of a batch."""
    rows: Tensor = decoder(module, seed)(torch.tensor([[0] * before + ids]), seq_start_pos=torch.tensor([before]))[0, before:]
    return rows


for suffix, module in (("", package), (" (of the prophet)", prophets)):
    right: Any = {"oracle": partial(in_one_pass, module)}
    sv.subject("helper", name=f"lucidrains.Decoder{suffix}", domain={**TEXT, "size": sv.ints(1, 4)}, **right)(partial(in_pieces, module))
    sv.subject("helper", name=f"lucidrains.Decoder{suffix}, right-aligned", domain={**TEXT, "before": sv.ints(0, 3)}, **right)(partial(right_aligned, module))
