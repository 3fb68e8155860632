"""Planted faults of `verify_deterministic_draft`. Each is a subject; the catalogue says what is wrong with it."""

from collections.abc import Callable

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


def _walk(p: Tensor, draft: Tensor, chance: Callable[[Tensor, int, int], Tensor], last: int = -1) -> list[int]:
    """The step of a draft that was looked up, with the chance of a token and the row of the bonus exchangeable."""
    for n, x in enumerate(draft.tolist()):
        if torch.rand(()) >= chance(p, n, x):
            return [*draft[:n].tolist(), _draw(_without(p[n], x))]
    return [*draft.tolist(), _draw(p[last])]


@sv.subject("verify_deterministic_draft", name="two-chances-for-a-given-draft")
def two_chances_for_a_given_draft(p: Tensor, draft: Tensor) -> list[int]:
    return _walk(p, draft, lambda p, n, x: 1 - (1 - p[n, x]) ** 2)


@sv.subject("verify_deterministic_draft", name="given-draft-over-the-maximum")
def given_draft_over_the_maximum(p: Tensor, draft: Tensor) -> list[int]:
    return _walk(p, draft, lambda p, n, x: p[n, x] / p[n].max())


@sv.subject("verify_deterministic_draft", name="given-draft-row-late")
def given_draft_row_late(p: Tensor, draft: Tensor) -> list[int]:
    return _walk(p, draft, lambda p, n, x: p[n + 1, x])


@sv.subject("verify_deterministic_draft", name="bonus-of-a-given-draft-early")
def bonus_of_a_given_draft_early(p: Tensor, draft: Tensor) -> list[int]:
    return _walk(p, draft, lambda p, n, x: p[n, x], last=-2)


@sv.subject("verify_deterministic_draft", name="target-zeroed-in-place", mutates=("p",))
def target_zeroed_in_place(p: Tensor, draft: Tensor) -> list[int]:
    for n, x in enumerate(draft.tolist()):
        left = p[n]
        left[x] = 0 if left.sum() > left[x] else 1
    return _walk(p, draft, lambda p, n, x: p[n, x])


@sv.subject("verify_deterministic_draft", name="given-draft-verified-greedily")
def given_draft_verified_greedily(p: Tensor, draft: Tensor) -> list[int]:
    best = p.argmax(-1).tolist()
    n = next((i for i, x in enumerate(draft.tolist()) if x != best[i]), len(draft))
    return [*draft[:n].tolist(), best[n]]
