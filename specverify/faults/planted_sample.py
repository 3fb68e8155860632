"""Planted faults of `sample`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


@sv.subject("sample", name="token-zero-raises")
def token_zero_raises(probs: Tensor) -> Tensor:
    token = torch.multinomial(probs, 1)
    if token == 0:
        raise RuntimeError("sampled token 0")
    return token


@sv.subject("sample", name="shared-row-uniform", batch=True)
def shared_row_uniform(probs: Tensor) -> Tensor:
    cdf = probs.double().cumsum(-1)
    u = torch.rand((), dtype=torch.float64) * cdf[..., -1:]
    return (cdf <= u).sum(-1)


@sv.subject("sample", name="reseeded-every-call")
def reseeded_every_call(probs: Tensor) -> Tensor:
    torch.manual_seed(123)
    return torch.multinomial(probs, 1)


@sv.subject("sample", name="greedy-sampling", batch=True)
def greedy_sampling(probs: Tensor) -> Tensor:
    return probs.argmax(-1)


@sv.subject("sample", name="cdf-starts-at-zero")
def cdf_starts_at_zero(probs: Tensor) -> Tensor:
    cdf = probs.cumsum(-1)
    return torch.searchsorted(cdf, torch.rand(1) * cdf[-1], right=False).clamp(max=int(probs.nonzero()[-1]))


@sv.subject("sample", name="cdf-ends-on-the-last-id")
def cdf_ends_on_the_last_id(probs: Tensor) -> Tensor:
    cdf = probs.cumsum(-1)
    cdf = cdf * (1 - 2**-23)  # a sum that rounding left an ulp short of 1
    return torch.searchsorted(cdf, torch.rand(1), right=True).clamp(max=probs.shape[-1] - 1)


@sv.subject("sample", name="ids-of-the-sorted-row", batch=True)
def ids_of_the_sorted_row(probs: Tensor) -> Tensor:
    ordered, _ = probs.sort(-1, descending=True)
    return torch.multinomial(ordered, 1)


@sv.subject("sample", name="probabilities-through-softmax", batch=True)
def probabilities_through_softmax(probs: Tensor) -> Tensor:
    return torch.multinomial(probs.softmax(-1), 1)


@sv.subject("sample", name="sampled-at-another-temperature", batch=True)
def sampled_at_another_temperature(probs: Tensor) -> Tensor:
    return torch.multinomial(probs ** (1 / 0.7), 1)


@sv.subject("sample", name="tail-lifted", batch=True)
def tail_lifted(probs: Tensor) -> Tensor:
    return torch.multinomial(probs + 0.01, 1)
