"""Planted faults of `verify_deterministic_draft`. Each is a subject; the catalogue says what is wrong with it."""

import torch
from torch import Tensor

import specverify as sv


def _draw(weights: Tensor) -> int:
    return int(torch.multinomial(weights, 1))


def _without(row: Tensor, token: int) -> Tensor:
    rest = row.clone()
    rest[token] = 0
    return rest if rest.sum() > 0 else row


@sv.subject("verify_deterministic_draft", name="mismatch-drawn-again", rule="sample-and-match")
def mismatch_drawn_again(p: Tensor, draft: Tensor) -> list[int]:
    for n, x in enumerate(draft.tolist()):
        if _draw(p[n]) != x:
            return [*draft[:n].tolist(), _draw(p[n])]
    return [*draft.tolist(), _draw(p[-1])]


@sv.subject("verify_deterministic_draft", name="one-hot-always-accepted")
def one_hot_always_accepted(p: Tensor, draft: Tensor) -> list[int]:
    return [*draft.tolist(), _draw(p[-1])]


@sv.subject("verify_deterministic_draft", name="softmax-q-for-a-given-draft")
def softmax_q_for_a_given_draft(p: Tensor, draft: Tensor) -> list[int]:
    for n, x in enumerate(draft.tolist()):
        if torch.rand(()) >= p[n, x] / 0.6:
            return [*draft[:n].tolist(), _draw(_without(p[n], x))]
    return [*draft.tolist(), _draw(p[-1])]
