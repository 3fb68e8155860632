"""What was reported as a bug, or looks like one, and is exact: subjects that every property must pass. `not_bugs` says where each was seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

import specverify as sv


def _draw(weights: Tensor) -> int:
    return int(torch.multinomial(weights, 1))


def _residual(p: Tensor, q: Tensor) -> Tensor:
    left = (p - q).clamp(min=0)
    return left if left.sum() > 0 else p


def _without(row: Tensor, token: int) -> Tensor:
    rest = row * (torch.arange(len(row)) != token)
    return rest if rest.sum() > 0 else row


def _walk(p: Tensor, draft: Tensor, passes: Callable[[int, int], bool], replacement: Callable[[int, int], Tensor]) -> list[int]:
    """Tokens while they pass, then the replacement, or the bonus."""
    for i, x in enumerate(draft.tolist()):
        if not passes(i, x):
            return [*draft[:i].tolist(), _draw(replacement(i, x))]
    return [*draft.tolist(), _draw(p[-1])]


def _matched(p: Tensor, draft: Tensor) -> list[int]:
    """The target's own draws while they are the draft's, the one that is not included."""
    own = torch.multinomial(p, 1)[:, 0]
    n = next((i for i, x in enumerate(draft.tolist()) if own[i] != x), len(draft))
    return [*draft[:n].tolist(), int(own[n])]


@sv.subject("verify_chain", name="sample-and-match", rule="sample-and-match")
def sample_and_match(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:  # noqa: ARG001
    return _matched(p, draft)


@sv.subject("verify_chain", name="sampled-draft-taken-for-given")
def sampled_draft_taken_for_given(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:  # noqa: ARG001
    return _walk(p, draft, lambda i, x: bool(torch.rand(()) < p[i, x]), lambda i, x: _without(p[i], x))


@sv.subject("verify_chain", name="block-verification", rule="block")
def block_verification(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    p, q, w = p.double(), q.double(), [1.0]
    for i, x in enumerate(draft.tolist()):
        w.append(min(1.0, w[-1] * float(p[i, x]) / float(q[i, x])))
    m = [float((a * row - other).clamp(min=0).sum()) for a, row, other in zip(w, p, q, strict=False)]
    tests = [*(mass / (mass + 1 - a) if mass + 1 > a else 1.0 for mass, a in zip(m, w, strict=False)), w[-1]]
    n = max(i for i, test in enumerate(tests) if i == 0 or torch.rand((), dtype=torch.float64) < test)
    return [*draft[:n].tolist(), _draw(p[-1] if n == len(draft) else _residual(w[n] * p[n], q[n]))]


@sv.subject("verify_chain", name="p-where-nothing-is-left", rule="standard")
def p_where_nothing_is_left(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    rows = torch.stack([_residual(a, b) for a, b in zip(p, q, strict=False)])
    ready = torch.multinomial(rows, 1)[:, 0].tolist()
    n = next((i for i, x in enumerate(draft.tolist()) if torch.rand(()) >= p[i, x] / q[i, x]), len(draft))
    return [*draft[:n].tolist(), ready[n] if n < len(draft) else _draw(p[-1])]


@sv.subject("verify_chain", name="row-becomes-the-residual", rule="standard", mutates=("p",))
def row_becomes_the_residual(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def passes(i: int, x: int) -> bool:
        accepted = bool(torch.rand(()) < p[i, x] / q[i, x])
        if not accepted:
            p[i] = _residual(p[i], q[i])
        return accepted

    return _walk(p, draft, passes, lambda i, _: p[i])


@sv.subject("verify_chain", name="uniforms-above-zero", rule="standard")
def uniforms_above_zero(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _walk(
        p, draft, lambda i, x: bool(1 - torch.rand((), dtype=torch.float64) <= p[i, x].double() / q[i, x].double()), lambda i, _: _residual(p[i], q[i])
    )


@sv.subject("verify_chain", name="tested-in-logarithms", rule="standard")
def tested_in_logarithms(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _walk(p, draft, lambda i, x: bool(torch.rand(()).log() < p[i, x].log() - q[i, x].log()), lambda i, _: _residual(p[i], q[i]))


@sv.subject("verify_chain", name="all-coins-tossed-first", rule="standard")
def all_coins_tossed_first(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    coins, bonus = torch.rand(len(draft)), _draw(p[-1])
    n = next((i for i, x in enumerate(draft.tolist()) if coins[i] >= p[i, x] / q[i, x]), len(draft))
    return [*draft[:n].tolist(), bonus if n == len(draft) else _draw(_residual(p[n], q[n]))]


@sv.subject("verify_chain", name="bonus-left-to-the-next-step")
def bonus_left_to_the_next_step(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    tokens = _walk(p, draft, lambda i, x: bool(torch.rand(()) < p[i, x] / q[i, x]), lambda i, _: _residual(p[i], q[i]))
    return tokens[: len(draft)]


@sv.subject("verify_chain", name="fewer-drafts-verified")
def fewer_drafts_verified(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _walk(p[:2], draft[:1], lambda i, x: bool(torch.rand(()) < p[i, x] / q[i, x]), lambda i, _: _residual(p[i], q[i]))


@sv.subject("verify_chain", name="no-speculation")
def no_speculation(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:  # noqa: ARG001
    return [_draw(p[0])]


@sv.subject("verify_deterministic_draft", name="given-draft-with-q-one")
def given_draft_with_q_one(p: Tensor, draft: Tensor) -> list[int]:
    return _walk(p, draft, lambda i, x: bool(torch.rand(()) < p[i, x]), lambda i, x: _without(p[i], x))


@sv.subject("verify_deterministic_draft", name="given-draft-matched")
def given_draft_matched(p: Tensor, draft: Tensor) -> list[int]:
    return _matched(p, draft)


@sv.subject("verify_chain_greedy", name="the-same-for-every-seed")
def the_same_for_every_seed(logits: Tensor, draft: Tensor) -> list[int]:
    best = logits.argmax(-1).tolist()
    n = next((i for i, x in enumerate(draft.tolist()) if x != best[i]), len(draft))
    return best[: n + 1]


@sv.subject("verify_chain_greedy", name="any-of-the-tied")
def any_of_the_tied(logits: Tensor, draft: Tensor) -> list[int]:
    tied = logits == logits.amax(-1, keepdim=True)
    n = next((i for i, x in enumerate(draft.tolist()) if not tied[i, x]), len(draft))
    return [*draft[:n].tolist(), int(tied[n].nonzero()[-1])]


@sv.subject("filter_logits", name="ties-are-kept", batch=True)
def ties_are_kept(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    kept = logits.masked_fill(logits < logits.topk(min(top_k, logits.shape[-1]), -1).values[..., -1:], -math.inf)
    ordered, order = kept.sort(-1, descending=True)
    mass = ordered.double().softmax(-1)
    drop = mass.cumsum(-1) - mass >= top_p
    return kept if top_p == 1 else kept.masked_fill(drop.scatter(-1, order, drop), -math.inf)


@sv.subject("filter_logits", name="ties-are-cut", batch=True)
def ties_are_cut(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    ordered, order = logits.sort(stable=True, dim=-1, descending=True)
    ordered = ordered.masked_fill(torch.arange(logits.shape[-1]) >= top_k, -math.inf)
    mass = ordered.double().softmax(-1)
    drop = (mass.cumsum(-1) - mass >= top_p) & (top_p < 1) | ordered.isneginf()
    return logits.masked_fill(drop.scatter(-1, order, drop), -math.inf)


@sv.subject("warp", name="temperature-zero-is-the-argmax", batch=True, conventions={"zero_means": "argmax"})
def temperature_zero_is_the_argmax(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    return ties_are_kept(logits.double() / temperature, top_k, top_p).softmax(-1).float()


@sv.subject("residual", name="residual-in-logarithms", batch=True)
def residual_in_logarithms(p: Tensor, q: Tensor) -> Tensor:
    p, q = p.double(), q.double()
    left = torch.where(p > q, p.log() + torch.log1p(-(q / p.clamp(min=1e-300))), -math.inf)
    return left.softmax(-1)


@sv.subject("sample", name="race-without-a-normaliser", batch=True)
def race_without_a_normaliser(probs: Tensor) -> Tensor:
    return (probs / torch.empty_like(probs, dtype=torch.float64).exponential_()).argmax(-1)
