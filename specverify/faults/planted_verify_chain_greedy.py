"""Planted faults of `verify_chain_greedy`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


@sv.subject("verify_chain_greedy", name="first-draft-token-unverified")
def first_draft_token_unverified(logits: Tensor, draft: Tensor) -> list[int]:
    best = logits.argmax(-1).tolist()
    n = 1
    while n < len(draft) and draft[n] == best[n]:
        n += 1
    return [*draft[:n].tolist(), best[n]]


@sv.subject("verify_chain_greedy", name="greedy-row-late")
def greedy_row_late(logits: Tensor, draft: Tensor) -> list[int]:
    best = logits.argmax(-1).tolist()
    n = int((draft == logits[:-1].argmax(-1)).long().cumprod(0).sum())
    return [*draft[:n].tolist(), best[min(n + 1, len(draft))]]


@sv.subject("verify_chain_greedy", name="greedy-by-chance")
def greedy_by_chance(logits: Tensor, draft: Tensor) -> list[int]:
    best = torch.multinomial(logits.softmax(-1), 1)[:, 0].tolist()
    n = 0
    while n < len(draft) and draft[n] == best[n]:
        n += 1
    return [*draft[:n].tolist(), best[n]]
