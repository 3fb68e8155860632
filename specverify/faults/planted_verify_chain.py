"""Planted faults of `verify_chain`: one textbook step, and what each fault changes in it."""

from collections.abc import Callable

import torch
from torch import Tensor

import specverify as sv

Accept = Callable[[Tensor, Tensor, int], bool]
Replace = Callable[[Tensor, Tensor, int], Tensor]


def _ratio(p: Tensor, q: Tensor, x: int) -> bool:
    return bool(torch.rand(()) < p[x] / q[x])


def _own_residual(p: Tensor, q: Tensor, i: int) -> Tensor:
    return (p[i] - q[i]).clamp(min=0)


def _draw(weights: Tensor) -> int:
    return int(torch.multinomial(weights, 1))


def _step(p: Tensor, q: Tensor, draft: Tensor, accept: Accept = _ratio, replace: Replace = _own_residual, bonus: int = -1) -> list[int]:
    """The textbook step with its parts exchangeable; with the defaults it is right."""
    out: list[int] = []
    for i, x in enumerate(draft.tolist()):
        if not accept(p[i], q[i], x):
            return [*out, _draw(replace(p, q, i))]
        out.append(x)
    return [*out, _draw(p[bonus])]


@sv.subject("verify_chain", name="always-accept", rule="standard")
def always_accept(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, q, draft, accept=lambda *_: True)


@sv.subject("verify_chain", name="inverted-ratio", rule="standard")
def inverted_ratio(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def replace(p: Tensor, q: Tensor, i: int) -> Tensor:
        left = _own_residual(p, q, i)
        return left if left.sum() > 0 else p[i]

    return _step(p, q, draft, accept=lambda p, q, x: bool(torch.rand(()) < q[x] / p[x]), replace=replace)


@sv.subject("verify_chain", name="two-chances", rule="standard")
def two_chances(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, q, draft, accept=lambda p, q, x: _draw(p) == x or _ratio(p, q, x))


@sv.subject("verify_chain", name="residual-from-p", rule="standard")
def residual_from_p(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, q, draft, replace=lambda p, _, i: p[i])


@sv.subject("verify_chain", name="residual-row-zero", rule="standard")
def residual_row_zero(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def replace(p: Tensor, q: Tensor, i: int) -> Tensor:
        left = _own_residual(p, q, 0)
        return left if left.sum() > 0 else p[i]

    return _step(p, q, draft, replace=replace)


@sv.subject("verify_chain", name="residual-last-row", rule="standard")
def residual_last_row(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, q, draft, replace=lambda p, *_: p[-1])


@sv.subject("verify_chain", name="bonus-missing", rule="standard")
def bonus_missing(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    tokens = _step(p, q, draft)
    return tokens[:-1] if len(tokens) == len(draft) + 1 else tokens


@sv.subject("verify_chain", name="bonus-from-previous-row", rule="standard")
def bonus_from_previous_row(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, q, draft, bonus=-2)


@sv.subject("verify_chain", name="reused-uniform", rule="standard")
def reused_uniform(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    out: list[int] = []
    for i, x in enumerate(draft.tolist()):
        u = torch.rand(())
        if u >= p[i, x] / q[i, x]:
            cdf = _own_residual(p, q, i).cumsum(-1)
            return [*out, int((cdf <= u * cdf[-1]).sum())]
        out.append(x)
    return [*out, _draw(p[-1])]


@sv.subject("verify_chain", name="one-uniform-for-all", rule="standard")
def one_uniform_for_all(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    u = torch.rand(())
    return _step(p, q, draft, accept=lambda p, q, x: bool(u < p[x] / q[x]))


@sv.subject("verify_chain", name="reseeds-itself", rule="standard")
def reseeds_itself(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    torch.manual_seed(1234)
    return _step(p, q, draft)


@sv.subject("verify_chain", name="raises-on-rejection", rule="standard")
def raises_on_rejection(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    def replace(p: Tensor, q: Tensor, i: int) -> Tensor:
        left = _own_residual(p, q, i)
        if (left > 0).sum() == 1:
            raise ValueError("empty residual")
        return left

    return _step(p, q, draft, replace=replace)


@sv.subject("verify_chain", name="accepts-at-zero", rule="standard")
def accepts_at_zero(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    return _step(p, q, draft, accept=lambda p, q, x: bool(torch.rand(()) <= p[x] / q[x]))
