"""Planted faults of `verify_packed`: kernels in the shapes in which engines call them, and what each fault changes in how they read the batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import specverify as sv

Uniform = Callable[[], Tensor]


@dataclass(frozen=True)
class _Request:
    """One request as a kernel has read it: rows of the target with the bonus row (n + 1, V), of the draft in the target's columns (n, V), the draft, its numbers."""

    target: Tensor
    q: Tensor
    draft: list[int]
    uniform: Uniform = lambda: torch.rand(())


def _inverse(weights: Tensor, u: Tensor) -> int:
    sums = weights.cumsum(-1)
    return int((sums <= u * sums[-1]).sum())


def _step(one: _Request) -> list[int]:
    """The textbook step, by inverse CDF; right, if the request is."""
    for i, x in enumerate(one.draft):
        if one.uniform() * one.q[i, x] >= one.target[i, x]:
            left = (one.target[i] - one.q[i]).clamp(min=0)
            return [*one.draft[:i], _inverse(left if left.sum() > 0 else one.target[i], one.uniform())]
    return [*one.draft, _inverse(one.target[len(one.draft)], one.uniform())]


Rows = list[list[int]]
Read = Callable[[Any], list[_Request]]


# Flat, lengths inclusive, tails of -1 ----------------------------------------------------------------------------------------


def _tails(batch: Any, rows: Rows) -> Tensor:
    out: Tensor = batch.scratch("out").fill_(-1)
    for b, row in enumerate(rows):
        out[b, : len(row)] = torch.tensor(row)
    return out


def _inclusive(batch: Any) -> list[_Request]:
    """Right."""
    target, bonus, q, draft, ends = batch.flat_inclusive()
    here = [slice(a, b) for a, b in itertools.pairwise([0, *ends.tolist()])]
    return [_Request(torch.cat([target[mine], bonus[b : b + 1]]), q[mine], draft[mine].tolist()) for b, mine in enumerate(here)]


def _plant_inclusive(name: str, read: Read, write: Callable[[Any, Rows], Tensor] = _tails) -> None:
    @sv.subject("verify_packed", name=name, rule="standard", sentinel=-1, scratch=("out",))
    def step(batch: Any) -> Tensor:
        return write(batch, [_step(one) for one in read(batch)])


def _behind(one: _Request, bonus: Tensor) -> _Request:
    """With another bonus row."""
    return replace(one, target=torch.cat([one.target[:-1], bonus[None]]))


def _moved_by_the_first_length(batch: Any) -> list[_Request]:
    """Each request's rows begin where those of the next do, for all but the last."""
    some = _inclusive(batch)
    return [replace(one, target=torch.cat([two.target, one.target])[: len(one.draft) + 1]) for one, two in zip(some, [*some[1:], some[-1]], strict=True)]


def _unfilled(batch: Any, rows: Rows) -> Tensor:
    out: Tensor = batch.scratch("out")
    for b, row in enumerate(rows):
        out[b, : len(row)] = torch.tensor(row)
    return out


def _place_37(batch: Any) -> list[_Request]:
    """Its rows are those behind it, as far as there are so many."""
    some = _inclusive(batch)
    return [replace(one, target=torch.cat([some[b + 1].target, one.target])) if b == 37 else one for b, one in enumerate(some)]


_plant_inclusive("ends-taken-for-starts", _moved_by_the_first_length)
_plant_inclusive("bonus-of-the-first-for-all", lambda batch: [_behind(one, batch.flat_inclusive().bonus[0]) for one in _inclusive(batch)])
_plant_inclusive("tails-left-as-they-were", _inclusive, _unfilled)
_plant_inclusive("place-37-takes-its-neighbour", _place_37)


# Flat, lengths exclusive, bonus rows in line, tails as they were -------------------------------------------------------------


def _exclusive(batch: Any) -> list[_Request]:
    """Right."""
    target, q, draft, starts = batch.flat_exclusive()
    spans = list(itertools.pairwise(starts.tolist()))
    return [_Request(target[a:b], q[a : b - 1], draft[a : b - 1].tolist()) for a, b in spans]


def _in_line(batch: Any, rows: Rows) -> tuple[Tensor, Tensor]:
    slots, accepted = batch.scratch("flat"), batch.scratch("accepted")
    starts = batch.flat_exclusive().starts.tolist()
    for b, row in enumerate(rows):
        slots[starts[b] : starts[b] + len(row)], accepted[b] = torch.tensor(row), len(row) - 1
    return slots, accepted


def _plant_exclusive(name: str, read: Read, write: Callable[[Any, Rows], tuple[Tensor, Tensor]] = _in_line) -> None:
    @sv.subject("verify_packed", name=name, rule="standard", scratch=("flat", "accepted"), conventions={"output": "in line and accepted"})
    def step(batch: Any) -> tuple[Tensor, Tensor]:
        return write(batch, [_step(one) for one in read(batch)])


def _without_bonus_rows(batch: Any) -> list[_Request]:
    """Starts are corrected for bonus rows that stand in line all the same."""
    target, q, draft, starts = batch.flat_exclusive()
    found = []
    for b, (a, n) in enumerate(zip(starts.tolist(), batch.lengths.tolist(), strict=False)):
        found.append(_Request(target[a - b : a - b + n + 1], q[a : a + n], draft[a : a + n].tolist()))
    return found


def _slot_of_the_bonus_verified(batch: Any) -> list[_Request]:
    """The id in the bonus slot is read as a draft; the token behind it comes from the next request's first row."""
    target, q, draft, starts = batch.flat_exclusive()
    spans = list(itertools.pairwise(starts.tolist()))
    longer = torch.cat([target, target[-1:]])
    return [_Request(longer[a : b + 1], q[a:b], draft[a:b].tolist()) for a, b in spans]


def _cut_to_slots(batch: Any, rows: Rows) -> tuple[Tensor, Tensor]:
    return _in_line(batch, [row[: n + 1] for row, n in zip(rows, batch.lengths.tolist(), strict=True)])


_plant_exclusive("starts-without-the-bonus-rows", _without_bonus_rows)
_plant_exclusive("slot-of-the-bonus-verified", _slot_of_the_bonus_verified, _cut_to_slots)


@sv.subject("verify_packed", name="counters-not-cleared", rule="standard", scratch=("accepted",), conventions={"output": "in line and accepted"})
def counters_not_cleared(batch: Any) -> tuple[Tensor, Tensor]:
    """Accepted lengths are added to what the buffer holds."""
    before = batch.scratch("accepted").clone()
    slots, accepted = _in_line(batch, [_step(one) for one in _exclusive(batch)])
    return slots, accepted + before


# Dense, with counters that grow place by place; the parameters of each request are the kernel's ------------------------------


@dataclass(frozen=True)
class _Parameters:
    """Of each request, (B, 1, 1): what a kernel takes them for."""

    temperature: Tensor
    top_k: Tensor
    top_p: Tensor


def _own(batch: Any) -> _Parameters:
    """Right."""
    return _Parameters(*(one[:, None, None] for one in (batch.temperature, batch.top_k, batch.top_p)))


def _probabilities(logits: Tensor, told: _Parameters) -> Tensor:
    """Rows of all requests under their parameters, (B, K + 1, V); a greedy one is its argmax."""
    cold = told.temperature == 0
    ranked, order = (logits / torch.where(cold, 1.0, told.temperature)).sort(-1, descending=True)
    ranks = torch.arange(logits.shape[-1])
    p = torch.where(ranks < torch.where(cold, 1, told.top_k), ranked, -torch.inf).softmax(-1)
    p = torch.where(p.cumsum(-1) - p < torch.where(cold, 1.0, told.top_p), p, 0.0)
    return torch.zeros_like(p).scatter(-1, order, p / p.sum(-1, keepdim=True))


def _dense(target: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, *, every: bool = False) -> tuple[Tensor, Tensor]:
    """Tokens (B, K + 1) and accepted lengths; right, unless `every` acceptance counts."""
    rows, going, accepted = torch.arange(len(draft)), torch.ones(len(draft), dtype=torch.bool), torch.zeros(len(draft), dtype=torch.int64)
    for i in range(draft.shape[1]):
        x = draft[:, i]
        taken = (i < lengths) & (torch.rand(len(draft)) * q[rows, i, x] < target[rows, i, x])
        going = taken if every else going & taken
        accepted = accepted + going
    last, theirs = target[rows, accepted], torch.cat([q, torch.zeros_like(target[:, :1])], 1)[rows, accepted]
    left = (last - theirs).clamp(min=0)
    weights = torch.where(((accepted < lengths) & (left.sum(-1) > 0))[:, None], left, last)
    tokens = torch.cat([draft, draft.new_zeros(len(draft), 1)], 1)
    tokens[rows, accepted] = torch.multinomial(weights, 1)[:, 0]
    return tokens, accepted


def _plant_dense(name: str, parameters: Callable[[Any], _Parameters] = _own, spoil: Callable[[Any, Tensor], Tensor] = lambda _batch, p: p) -> None:
    supports = ("temperature", "top_k", "top_p")

    @sv.subject("verify_packed", name=name, rule="standard", conventions={"target": "logits"}, supports=supports)
    def step(batch: Any) -> tuple[Tensor, Tensor]:
        logits, q, draft = batch.dense(fill=0)
        return _dense(spoil(batch, _probabilities(logits, parameters(batch))), q, draft, batch.lengths)


def _bonus_unfiltered(batch: Any, p: Tensor) -> Tensor:
    """The row behind the drafts has the temperature alone."""
    told, rows = _own(batch), torch.arange(len(p))
    warm = replace(told, top_k=torch.full_like(told.top_k, p.shape[-1]), top_p=torch.ones_like(told.top_p))
    p[rows, batch.lengths] = _probabilities(batch.dense(fill=0).target, warm)[rows, batch.lengths]
    return p


def _all_greedy(batch: Any) -> _Parameters:
    told = _own(batch)
    return replace(told, temperature=told.temperature * (told.temperature > 0).all())


_plant_dense("temperature-of-the-first-for-all", lambda batch: replace(_own(batch), temperature=_own(batch).temperature[:1]))
_plant_dense("largest-top-k-for-all", lambda batch: replace(_own(batch), top_k=_own(batch).top_k.max()))
_plant_dense("top-p-of-the-request-before", lambda batch: replace(_own(batch), top_p=_own(batch).top_p.roll(1, 0)))
_plant_dense("bonus-row-not-filtered", spoil=_bonus_unfiltered)
_plant_dense("all-greedy-where-one-is", _all_greedy)


@sv.subject("verify_packed", name="acceptances-counted-behind-a-stop", rule="standard")
def acceptances_counted_behind_a_stop(batch: Any) -> tuple[Tensor, Tensor]:
    target, q, draft = batch.dense(fill=0)
    return _dense(target, q, draft, batch.lengths, every=True)


@sv.subject("verify_packed", name="fill-of-zero-verified", rule="standard")
def fill_of_zero_verified(batch: Any) -> tuple[Tensor, Tensor]:
    target, q, draft = batch.dense(fill=0)
    tokens, accepted = _dense(target, q, draft, torch.full_like(batch.lengths, batch.places))
    return tokens, accepted.minimum(batch.lengths)


# Vectors of ids and a bonus, random numbers of each request ------------------------------------------------------------------


def _vectors(rows: Rows) -> tuple[Tensor, Tensor]:
    return torch.tensor([len(row) - 1 for row in rows]), torch.tensor([row[-1] for row in rows])


def _plant_vectors(name: str, drawing: Callable[[Any], list[Uniform]], **options: Any) -> None:
    @sv.subject("verify_packed", name=name, rule="standard", conventions={"output": "accepted and bonus"}, **options)
    def step(batch: Any) -> tuple[Tensor, Tensor]:
        some = zip(_exclusive(batch), drawing(batch), strict=True)
        return _vectors([_step(replace(one, uniform=uniform)) for one, uniform in some])


def _seeded(seed: int) -> Uniform:
    generator = torch.Generator().manual_seed(seed)
    return lambda: torch.rand((), generator=generator)


def _reading(numbers: Tensor) -> Uniform:
    left = iter(numbers)
    return lambda: next(left)


def _dense_stride(batch: Any) -> list[Uniform]:
    """Coins in line, read as if each request had K + 1."""
    wide = torch.cat([batch.coins] * (batch.places + 1))
    return [_reading(wide[b * (batch.places + 1) :]) for b in range(len(batch))]


def _one_coin(batch: Any) -> list[Uniform]:
    """The first coin of a request for everything."""
    coins: Tensor = batch.coins
    return [_always(coins[start]) for start in batch.flat_exclusive().starts.tolist()[:-1]]


def _always(coin: Tensor) -> Uniform:
    return lambda: coin


def _passed_on(batch: Any) -> list[Uniform]:
    """One request draws on where the one before stopped."""
    uniform = _seeded(int(batch.seeds[0]))
    return [uniform] * len(batch)


_plant_vectors("coins-read-with-the-stride-of-k", _dense_stride, rng="coins")
_plant_vectors("one-coin-for-a-whole-request", _one_coin, rng="coins")
_plant_vectors("seed-and-place", lambda batch: [_seeded(int(seed) + b) for b, seed in enumerate(batch.seeds)], supports=("seeds",))
_plant_vectors("generator-passed-on", _passed_on, supports=("seeds",))


# A vocabulary of the draft's own, and drafts without q -----------------------------------------------------------------------


def _plant_mapped(name: str, read: Callable[[Tensor, Tensor, list[int], Tensor], _Request]) -> None:
    """Requests read from target rows, rows of q in the draft's columns, draft ids, and the map."""

    @sv.subject("verify_packed", name=name, rule="standard", supports=("id map",))
    def step(batch: Any) -> Rows:
        ids = torch.arange(batch.vocabulary) if batch.id_map is None else batch.id_map
        return [_step(read(one.target, one.q, one.draft, ids)) for one in _exclusive(batch)]


def _lifted(q: Tensor, ids: Tensor, width: int) -> Tensor:
    return q.new_zeros(len(q), width).index_copy(1, ids, q)


def _first_columns(q: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(q, (0, width - q.shape[1]))


def _columns_unmapped(target: Tensor, q: Tensor, draft: list[int], ids: Tensor) -> _Request:
    return _Request(target, _first_columns(q, target.shape[1]), [int(ids[x]) for x in draft])


def _order_lost(target: Tensor, q: Tensor, draft: list[int], ids: Tensor) -> _Request:
    return _Request(target, _lifted(q, ids.sort().values, target.shape[1]), [int(ids[x]) for x in draft])


def _ids_unmapped(target: Tensor, q: Tensor, draft: list[int], ids: Tensor) -> _Request:
    return _Request(target, _lifted(q, ids, target.shape[1]), draft)


_plant_mapped("columns-of-q-not-mapped", _columns_unmapped)
_plant_mapped("columns-of-q-in-order-of-ids", _order_lost)
_plant_mapped("draft-ids-not-mapped", _ids_unmapped)


@sv.subject("verify_packed", name="absent-q-taken-for-uniform", rule="standard", supports=("no q",))
def absent_q_taken_for_uniform(batch: Any) -> Rows:
    target, q, draft, starts = batch.flat_exclusive()
    q = torch.full_like(target, 1 / target.shape[1]) if q is None else q
    spans = list(itertools.pairwise(starts.tolist()))
    return [_step(_Request(target[a:b], q[a : b - 1], draft[a : b - 1].tolist())) for a, b in spans]


@sv.subject("verify_packed", name="narrow-ids-read-as-wide", rule="standard", supports=("int32", "seeds"))
def narrow_ids_read_as_wide(batch: Any) -> Rows:
    """Ids of 32 bits are read two at a time, the last one alone."""
    lengths, draft = batch.lengths.tolist(), batch.dense().draft
    wide = draft if draft.dtype == torch.int64 else draft.flatten().repeat_interleave(2)[: draft.numel()].view(draft.shape)
    some = zip(_exclusive(batch), wide.tolist(), lengths, batch.seeds.tolist(), strict=True)
    return [_step(replace(one, draft=row[:n], uniform=_seeded(seed))) for one, row, n, seed in some]
