"""Planted faults of `verify_chain`: one textbook step, and what each fault changes in it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

import specverify as sv

Chance = Callable[[Tensor, Tensor, int, int], "Tensor | float"]
Replace = Callable[[Tensor, Tensor, int, int], Tensor]
Last = Callable[[Tensor, Tensor], Tensor]


def _ratio(p: Tensor, q: Tensor, i: int, x: int) -> Tensor:
    return p[i, x] / q[i, x]


def _residual(p: Tensor, q: Tensor, i: int, _x: int = 0) -> Tensor:
    return (p[i] - q[i]).clamp(min=0)


def _draw(weights: Tensor, otherwise: Tensor | None = None) -> int:
    return int(torch.multinomial(weights if otherwise is None or weights.sum() > 0 else otherwise, 1))


def _last(p: Tensor, _q: Tensor) -> Tensor:
    return p[-1]


def _step(p: Tensor, q: Tensor, draft: Tensor, chance: Chance = _ratio, replace: Replace = _residual, last: Last = _last) -> list[int]:
    """The textbook step with its parts exchangeable; with the defaults it is right."""
    out: list[int] = []
    for i, x in enumerate(draft.tolist()):
        if torch.rand(()) >= chance(p, q, i, x):
            return [*out, _draw(replace(p, q, i, x), p[i])]
        out.append(x)
    return [*out, _draw(last(p, q))]


def _over_sum(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True)


def _next_rows(rows: Tensor) -> Tensor:
    return torch.cat([rows[1:], rows[-1:]])


def _largest(row: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(row.argmax(-1), row.shape[-1]).to(row.dtype)


def _of_the_largest(row: Tensor, least: float) -> Tensor:
    return row * (row >= least * row.amax(-1, keepdim=True))


def _plant(name: str, chance: Chance = _ratio, replace: Replace = _residual, last: Last = _last) -> None:
    """The textbook step with one of its parts wrong."""

    @sv.subject("verify_chain", name=name, rule="standard")
    def step(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
        return _step(p, q, draft, chance, replace, last)


_plant("always-accept", chance=lambda *_: 1.0)
_plant("inverted-ratio", chance=lambda p, q, i, x: q[i, x] / p[i, x])
_plant("ratio-over-the-maximum", chance=lambda p, q, i, x: p[i, x] / p[i].max())
_plant("accept-row-late", chance=lambda p, q, i, x: p[i + 1, x] / q[i, x])
_plant("first-draft-token-accepted", chance=lambda p, q, i, x: _ratio(p, q, i, x) if i else 1.0)
_plant("last-draft-token-accepted", chance=lambda p, q, i, x: 1.0 if i == len(q) - 1 else _ratio(p, q, i, x))
_plant("acceptance-floor-of-a-step", chance=lambda p, q, i, x: _ratio(p, q, i, x).clamp(min=0.05))
_plant("ratio-softened", chance=lambda p, q, i, x: _ratio(p, q, i, x).sqrt())
_plant("lenience", lambda p, q, i, x: p[i, x] / (0.8 * q[i, x]), lambda p, q, i, _: (p[i] - 0.8 * q[i]).clamp(min=0))
_plant("lenient-acceptance", chance=lambda p, q, i, x: p[i, x] / (0.8 * q[i, x]))
_plant("residual-from-p", replace=lambda p, q, i, x: p[i])
_plant("residual-from-q", replace=lambda p, q, i, x: q[i])
_plant("residual-reversed-in-a-step", replace=lambda p, q, i, x: (q[i] - p[i]).clamp(min=0))
_plant("residual-absolute", replace=lambda p, q, i, x: (p[i] - q[i]).abs())
_plant("residual-through-softmax", replace=lambda p, q, i, x: _over_sum(_residual(p, q, i)).softmax(-1))
_plant("residual-argmax", replace=lambda p, q, i, x: _largest(_residual(p, q, i)))
_plant("residual-without-the-draft", replace=lambda p, q, i, x: p[i] * (torch.arange(p.shape[1]) != x))
_plant("residual-lifted-in-a-step", replace=lambda p, q, i, x: _residual(p, q, i) + 0.01)
_plant("residual-at-another-temperature", replace=lambda p, q, i, x: _residual(p, q, i) ** (1 / 0.9))
_plant("residual-row-zero", replace=lambda p, q, i, x: _residual(p, q, 0))
_plant("residual-row-late", replace=lambda p, q, i, x: (p[i + 1] - q[min(i + 1, len(q) - 1)]).clamp(min=0))
_plant("residual-last-row", replace=lambda p, q, i, x: p[-1])
_plant("replacement-row-late", replace=lambda p, q, i, x: p[i + 1])
_plant("bonus-from-previous-row", last=lambda p, q: p[-2])
_plant("bonus-from-q", last=lambda p, q: q[-1])
_plant("bonus-greedy", last=lambda p, q: _largest(p[-1]))
_plant("bonus-row-filtered-alone", last=lambda p, q: _of_the_largest(p[-1], 0.7))


@sv.subject("verify_chain", name="two-chances", rule="standard")
def two_chances(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def chance(p: Tensor, q: Tensor, i: int, x: int) -> Tensor | float:
        return 1.0 if _draw(p[i]) == x else _ratio(p, q, i, x)

    return _step(p, q, draft, chance)


@sv.subject("verify_chain", name="acceptances-counted", rule="standard")
def acceptances_counted(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    places = torch.arange(len(draft))
    n = int((torch.rand(len(draft)) < p[places, draft] / q[places, draft]).sum())
    return [*draft[:n].tolist(), _draw(_residual(p, q, n), p[n]) if n < len(draft) else _draw(p[-1])]


@sv.subject("verify_chain", name="residual-not-normalised", rule="standard")
def residual_not_normalised(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def replace(p: Tensor, q: Tensor, i: int, _x: int) -> Tensor:
        cdf = _residual(p, q, i).cumsum(-1)
        cdf[-1] = 1.0
        return cdf.diff(prepend=torch.zeros(1, dtype=cdf.dtype))

    return _step(p, q, draft, replace=replace)


@sv.subject("verify_chain", name="mismatch-thrown-away", rule="standard")
def mismatch_thrown_away(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:  # noqa: ARG001  that is the fault
    for n, x in enumerate(draft.tolist()):
        if _draw(p[n]) != x:
            return [*draft[:n].tolist(), _draw(p[n])]
    return [*draft.tolist(), _draw(p[-1])]


@sv.subject("verify_chain", name="q-row-late", rule="standard")
def q_row_late(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, _next_rows(q), draft)


@sv.subject("verify_chain", name="q-row-early", rule="standard")
def q_row_early(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, torch.cat([q[:1], q[:-1]]), draft)


@sv.subject("verify_chain", name="p-row-late", rule="standard")
def p_row_late(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(_next_rows(p), q, draft)


@sv.subject("verify_chain", name="bonus-missing", rule="standard")
def bonus_missing(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    tokens = _step(p, q, draft)
    return tokens[:-1] if len(tokens) == len(draft) + 1 else tokens


@sv.subject("verify_chain", name="reused-uniform", rule="standard")
def reused_uniform(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    out: list[int] = []
    for i, x in enumerate(draft.tolist()):
        u = torch.rand(())
        if u >= p[i, x] / q[i, x]:
            cdf = _residual(p, q, i).cumsum(-1)
            return [*out, int((cdf <= u * cdf[-1]).sum())]
        out.append(x)
    return [*out, _draw(p[-1])]


@sv.subject("verify_chain", name="one-uniform-for-all", rule="standard")
def one_uniform_for_all(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    u, out = torch.rand(()), list[int]()
    for i, x in enumerate(draft.tolist()):
        if u >= _ratio(p, q, i, x):
            return [*out, _draw(_residual(p, q, i), p[i])]
        out.append(x)
    return [*out, _draw(p[-1])]


@sv.subject("verify_chain", name="draft-scored-at-another-temperature", rule="standard")
def draft_scored_at_another_temperature(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, _over_sum(q**0.8), draft)


@sv.subject("verify_chain", name="draft-scored-with-a-flatter-row", rule="standard")
def draft_scored_with_a_flatter_row(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, 0.9 * q + 0.1 / q.shape[1], draft)


@sv.subject("verify_chain", name="target-at-another-temperature", rule="standard")
def target_at_another_temperature(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(_over_sum(p ** (1 / 0.7)), q, draft)


@sv.subject("verify_chain", name="verified-rows-at-another-temperature", rule="standard")
def verified_rows_at_another_temperature(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(torch.cat([_over_sum(p[:-1] ** (1 / 0.7)), p[-1:]]), q, draft)


@sv.subject("verify_chain", name="target-filtered", rule="standard")
def target_filtered(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(_over_sum(_of_the_largest(p, 0.7)), q, draft)


@sv.subject("verify_chain", name="greedy-step", rule="standard")
def greedy_step(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:  # noqa: ARG001  that is the fault
    best = p.argmax(-1).tolist()
    n = next((i for i, x in enumerate(draft.tolist()) if x != best[i]), len(draft))
    return best[: n + 1]


@sv.subject("verify_chain", name="typical-acceptance", rule="standard")
def typical_acceptance(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:  # noqa: ARG001  that is the fault
    threshold = (0.09 * torch.exp(-torch.special.entr(p.double()).sum(-1))).clamp(max=0.3)
    n = next((i for i, x in enumerate(draft.tolist()) if p[i, x] <= threshold[i]), len(draft))
    return [*draft[:n].tolist(), int(p[n].argmax())]


@sv.subject("verify_chain", name="reseeds-itself", rule="standard")
def reseeds_itself(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    torch.manual_seed(1234)
    return _step(p, q, draft)


@sv.subject("verify_chain", name="raises-on-rejection", rule="standard")
def raises_on_rejection(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def replace(p: Tensor, q: Tensor, i: int, _x: int) -> Tensor:
        if (_residual(p, q, i) > 0).sum() == 1:
            raise ValueError("empty residual")
        return _residual(p, q, i)

    return _step(p, q, draft, replace=replace)


@sv.subject("verify_chain", name="equal-rows-raise", rule="standard")
def equal_rows_raise(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    residuals = torch.multinomial(_over_sum((p[:-1] - q).clamp(min=0)), 1)[:, 0]
    return _step(p, q, draft, replace=lambda p, q, i, x: torch.nn.functional.one_hot(residuals[i], p.shape[1]).double())


@sv.subject("verify_chain", name="token-zero-ends-the-block", rule="standard")
def token_zero_ends_the_block(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    tokens = _step(p, q, draft)
    return tokens[: tokens.index(0) + 1] if 0 in tokens else tokens


@sv.subject("verify_chain", name="accepts-at-zero", rule="standard")
def accepts_at_zero(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    for i, x in enumerate(draft.tolist()):
        if torch.rand(()) > _ratio(p, q, i, x):
            return [*draft[:i].tolist(), _draw(_residual(p, q, i))]
    return [*draft.tolist(), _draw(p[-1])]


@sv.subject("verify_chain", name="block-residual-of-the-token", rule="block")
def block_residual_of_the_token(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    weights = [1.0]
    for i, x in enumerate(draft.tolist()):
        weights.append(min(1.0, float(weights[-1] * p[i, x] / q[i, x])))
    excess = [float((w * a - b).clamp(min=0).sum()) for w, a, b in zip(weights, p, q, strict=False)]
    tests = [*(m / (m + 1 - w) if m + 1 - w > 0 else 1.0 for m, w in zip(excess, weights, strict=False)), weights[-1]]
    n = max(i for i, test in enumerate(tests) if i == 0 or torch.rand(()) < test)
    return [*draft[:n].tolist(), _draw(_residual(p, q, n), p[n]) if n < len(draft) else _draw(p[-1])]
