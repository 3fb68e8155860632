"""Planted faults of `verify_batch`: a textbook step for each request, and what each fault changes in how requests, rows and random numbers meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

import specverify as sv


@dataclass(frozen=True)
class _Request:
    """One request as a fault may have mistaken it: p (n + 1, V) or longer, q (n, V), the draft, who draws, and the row of the bonus."""

    p: Tensor
    q: Tensor
    draft: list[int]
    generator: Generator | None = None
    bonus: Tensor | None = None


def _draw(weights: Tensor, otherwise: Tensor, generator: Generator | None) -> int:
    return int(torch.multinomial(weights if weights.sum() > 0 else otherwise, 1, generator=generator))


def _residual(request: _Request, i: int) -> Tensor:
    return (request.p[i] - request.q[i]).clamp(min=0)


def _step(request: _Request, residual: Callable[[_Request, int], Tensor] = _residual) -> list[int]:
    """The textbook step; right, if the request is."""
    for i, x in enumerate(request.draft):
        if torch.rand((), generator=request.generator) * request.q[i, x] >= request.p[i, x]:
            return [*request.draft[:i], _draw(residual(request, i), request.p[i], request.generator)]
    last = request.p[len(request.draft)] if request.bonus is None else request.bonus
    return [*request.draft, _draw(last, last, request.generator)]


def _requests(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[_Request]:
    return [_Request(a, b, x[:n]) for a, b, x, n in zip(p, q, draft.tolist(), lengths.tolist(), strict=True)]


def _own(seed: int) -> Generator:
    return torch.Generator().manual_seed(seed)


Wrong = Callable[[list[_Request]], list[_Request]]


def _plant(name: str, wrong: Wrong) -> None:
    """The textbook step for requests that are read wrongly."""

    @sv.subject("verify_batch", name=name, rule="standard")
    def step(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[list[int]]:
        return [_step(request) for request in wrong(_requests(p, q, draft, lengths))]


def _plant_seeded(name: str, generators: Callable[[list[int], list[int]], list[Generator | None]]) -> None:
    """The textbook step with the wrong generators, from seeds and lengths."""

    @sv.subject("verify_batch", name=name, rule="standard", supports=("seeds",))
    def step(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, *, seeds: Tensor) -> list[list[int]]:
        drawing = generators(seeds.tolist(), lengths.tolist())
        return [_step(replace(one, generator=own)) for one, own in zip(_requests(p, q, draft, lengths), drawing, strict=True)]


def _turned(some: list[_Request]) -> list[_Request]:
    return [*some[1:], some[0]]


def _live_first(some: list[_Request]) -> list[_Request]:
    """Requests with drafts move up, those without keep to what is left."""
    return [one for one in some if one.draft] + [one for one in some if not one.draft]


_plant("rows-of-the-next-request", lambda some: [replace(one, p=other.p) for one, other in zip(some, _turned(some), strict=True)])
_plant("draft-rows-of-the-first-request", lambda some: [replace(one, q=some[0].q) for one in some])
_plant("bonus-of-the-next-request", lambda some: [replace(one, bonus=other.p[0]) for one, other in zip(some, [*some[1:], some[-1]], strict=True)])
_plant("bonus-behind-the-padding", lambda some: [replace(one, bonus=one.p[-1]) for one in some])
_plant(
    "empty-request-shifts-the-others",
    lambda some: [replace(one, p=other.p, q=other.q) if one.draft else one for one, other in zip(some, _live_first(some), strict=True)],
)
_plant("bonus-row-at-k-one-beside-k-eight", lambda some: [replace(one, bonus=one.p[2]) if len(one.draft) == 1 and len(one.q) == 8 else one for one in some])
_plant_seeded("seeds-by-place", lambda seeds, _: [_own(seeds[0] + b) for b in range(len(seeds))])
_plant_seeded("one-generator-for-all", lambda seeds, _: [_own(sum(seeds))] * len(seeds))
_plant_seeded("seeds-ignored", lambda seeds, _: [None] * len(seeds))
_plant_seeded("seeds-skip-empty-requests", lambda seeds, lengths: [_own(seeds[b - sum(n == 0 for n in lengths[:b])]) for b in range(len(seeds))])
_plant_seeded("one-seed-for-all", lambda seeds, _: [_own(seeds[0]) for _ in seeds])


@sv.subject("verify_batch", name="padding-read-as-draft", rule="standard")
def padding_read_as_draft(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows = [_step(_Request(a, b, x)) for a, b, x in zip(p, q, draft.tolist(), strict=True)]
    accepted = torch.tensor([min(len(row) - 1, n) for row, n in zip(rows, lengths.tolist(), strict=True)])
    return torch.tensor([row + [-1] * (p.shape[1] - len(row)) for row in rows]), accepted


@sv.subject("verify_batch", name="residual-of-the-first-request", rule="standard")
def residual_of_the_first_request(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[list[int]]:
    some = _requests(p, q, draft, lengths)
    return [_step(one, lambda one, i: (some[0].p[i] - one.q[i]).clamp(min=0)) for one in some]


@sv.subject("verify_batch", name="uniforms-shared-by-requests", rule="standard")
def uniforms_shared_by_requests(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[list[int]]:
    seed = int(torch.randint(0, 4096, ()))
    return [_step(replace(one, generator=_own(seed))) for one in _requests(p, q, draft, lengths)]


@sv.subject("verify_batch", name="reseeded-for-each-batch", rule="standard")
def reseeded_for_each_batch(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[list[int]]:
    torch.manual_seed(1234)
    return [_step(one) for one in _requests(p, q, draft, lengths)]


@sv.subject("verify_batch", name="uniforms-drawn-for-the-padding", rule="standard", supports=("seeds",))
def uniforms_drawn_for_the_padding(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, *, seeds: Tensor) -> list[list[int]]:
    rows = []
    for one, seed in zip(_requests(p, q, draft, lengths), seeds.tolist(), strict=True):
        generator = _own(seed)
        torch.rand((q.shape[1],), generator=generator)
        rows.append(_step(replace(one, generator=generator)))
    return rows


@sv.subject("verify_batch", name="temperature-of-the-first-request", rule="standard", supports=("temperature",))
def temperature_of_the_first_request(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, *, temperature: Tensor) -> list[list[int]]:
    some = _requests(p, q, draft, lengths)
    return [_step(replace(one, p=_point_masses(one.p)) if temperature[0] == 0 else one) for one in some]


@sv.subject("verify_batch", name="bonus-greedy-beside-a-greedy-request", rule="standard", supports=("temperature",))
def bonus_greedy_beside_a_greedy_request(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, *, temperature: Tensor) -> list[list[int]]:
    some = _requests(p, q, draft, lengths)
    return [_step(replace(one, bonus=_point_masses(one.p)[len(one.draft)]) if (temperature == 0).any() else one) for one in some]


@sv.subject("verify_batch", name="greedy-draft-accepted-by-ratio-of-ranks", rule="standard", supports=("temperature",))
def greedy_draft_accepted(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, *, temperature: Tensor) -> list[list[int]]:
    some = zip(_requests(p, q, draft, lengths), temperature.tolist(), strict=True)
    return [_step(one) if t or not one.draft else [*one.draft, int(one.p[len(one.draft)].argmax())] for one, t in some]


def _point_masses(p: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]).to(p.dtype)


@sv.subject("verify_batch", name="slots-written-with-the-stride-of-the-drafts", rule="standard")
def slots_written_with_the_stride_of_the_drafts(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows = [_step(one) for one in _requests(p, q, draft, lengths)]
    out = torch.full(p.shape[:2], -1)
    for b, row in enumerate(rows):
        out[b, : len(row)] = torch.tensor(row)
    for b, row in enumerate(rows):
        out.view(-1)[b * draft.shape[1] + len(row) - 1] = row[-1]
    return out, torch.tensor([len(row) - 1 for row in rows])


@sv.subject("verify_batch", name="one-request-of-64-accepts-all", rule="standard")
def one_request_of_64_accepts_all(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[list[int]]:
    rows = []
    for b, one in enumerate(_requests(p, q, draft, lengths)):
        last = one.p[len(one.draft)]
        rows.append([*one.draft, _draw(last, last, None)] if b == 37 else _step(one))
    return rows


@sv.subject("verify_batch", name="replacement-from-the-first-1024-tokens", rule="standard")
def replacement_from_the_first_1024_tokens(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor) -> list[list[int]]:
    return [_step(one, lambda one, i: _residual(one, i)[:1024] + 1e-9) for one in _requests(p, q, draft, lengths)]
