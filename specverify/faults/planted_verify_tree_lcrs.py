"""Planted faults of `verify_tree_lcrs`: one right walk along first children and next siblings, and what each fault changes in how it reads the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import specverify as sv

END = -1
Rows = list[list[int]]


@dataclass(frozen=True)
class _Tree:
    """One request as a kernel has read it: links and tokens by slot, rows (S, V), how many nodes, and the uniform number of a slot."""

    tokens: list[int]
    first: list[int]
    sibling: list[int]
    target: Tensor
    q: Tensor
    size: int
    uniform: Callable[[int], Tensor] = lambda _: torch.rand(())


Refused = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""What is left of p and of q when a sibling is refused."""
Read = Callable[[Any], list[_Tree]]
Step = Callable[[_Tree], list[int]]


def _normalised(left: Tensor, otherwise: Tensor) -> Tensor:
    return left / left.sum() if left.sum() > 0 else otherwise


def _replaced(left: Tensor, drawn: Tensor, _x: int) -> tuple[Tensor, Tensor]:
    """Right, of children drawn with replacement (2305.09781)."""
    return _normalised((left - drawn).clamp(min=0), left), drawn


def _walk(one: _Tree, refused: Refused = _replaced, last: Callable[[_Tree, int, Tensor], Tensor] = lambda _one, _slot, left: left) -> list[int]:
    """Right, with `_replaced`; `last` are the weights of the token behind a path that ends in a slot."""
    row, slot, child = list[int](), 0, one.first[0]
    left, drawn = one.target[0], one.q[0]
    while child != END:
        x = one.tokens[child]
        if one.uniform(child) * drawn[x] < left[x]:
            row, slot, child, left, drawn = [*row, x], child, one.first[child], one.target[child], one.q[child]
        else:
            (left, drawn), child = refused(left, drawn, x), one.sibling[child]
    sums = last(one, slot, left).cumsum(-1)
    return [*row, int((sums <= one.uniform(0) * sums[-1]).sum())]


def _read(batch: Any) -> list[_Tree]:
    """Right."""
    links = batch.lcrs(end=END)
    lists = (part.tolist() for part in links[:3])
    return [_Tree(*one) for one in zip(*lists, links.target, links.q, batch.sizes.tolist(), strict=True)]


def _plant(name: str, step: Step = _walk, read: Read = _read, siblings: str = "with-replacement", **options: Any) -> None:
    @sv.subject("verify_tree_lcrs", name=name, siblings=siblings, rule="standard", **options)
    def trees(batch: Any) -> Rows:
        return [step(one) for one in read(batch)]


# Links -----------------------------------------------------------------------------------------------------------------------


def _behind_the_end(batch: Any) -> list[_Tree]:
    """The end of a list of siblings is looked up like a slot, from behind, once."""
    return [replace(one, sibling=[len(one.sibling) + link if link == END else link for link in one.sibling[:-1]] + [END]) for one in _read(batch)]


def _children_of_the_request_before(batch: Any) -> list[_Tree]:
    some = _read(batch)
    return [replace(one, first=other.first) for one, other in zip(some, some[:1] + some[:-1], strict=True)]


def _one_slot_more(batch: Any) -> list[_Tree]:
    """The slot behind the last node is tried after the children of the context, where there is one."""
    return [_hung(one) if one.size + 1 < len(one.tokens) else one for one in _read(batch)]


def _hung(one: _Tree) -> _Tree:
    if one.first[0] == END:
        return replace(one, first=[one.size + 1, *one.first[1:]])
    sibling, child = list(one.sibling), one.first[0]
    while sibling[child] != END:
        child = sibling[child]
    sibling[child] = one.size + 1
    return replace(one, sibling=sibling)


def _place_41(batch: Any) -> list[_Tree]:
    """Its tree and rows are those of the next."""
    some = _read(batch)
    return [some[b + 1] if b == 41 and b + 1 < len(some) else one for b, one in enumerate(some)]


_plant("list-of-siblings-read-on-from-behind", read=_behind_the_end)
_plant("first-children-of-the-request-before", read=_children_of_the_request_before)
_plant("slot-behind-the-last-node-tried", read=_one_slot_more)
_plant("place-41-takes-its-neighbours-tree", read=_place_41)


# The rule --------------------------------------------------------------------------------------------------------------------


def _not_renormalised(left: Tensor, drawn: Tensor, x: int) -> tuple[Tensor, Tensor]:
    """Of children drawn without replacement, q without the refused one keeps its old total."""
    rest = drawn.clone()
    rest[x] = 0
    return _replaced(left, drawn, x)[0], rest


def _equal_skipped(one: _Tree) -> list[int]:
    """A sibling whose token was tried before is passed over."""
    found = list(one.sibling)
    for slot in range(1, one.size + 1):
        while found[slot] != END and one.tokens[found[slot]] == one.tokens[slot]:
            found[slot] = found[found[slot]]
    return _walk(replace(one, sibling=found))


def _above(one: _Tree, slot: int, left: Tensor) -> Tensor:
    """Behind a leaf the row of the place above it."""
    parents = _parents(one)
    return one.target[parents[slot]] if slot and one.first[slot] == END else left


def _parents(one: _Tree) -> dict[int, int]:
    """The slot above each."""
    found, held = dict[int, int](), range(one.size + 1)
    for slot in held:
        child = one.first[slot]
        while child != END:
            found[child], child = slot, one.sibling[child]
    return found


def _empty_from_the_request_before(batch: Any) -> list[_Tree]:
    some = _read(batch)
    return [one if one.size else replace(one, target=other.target) for one, other in zip(some, some[-1:] + some[:-1], strict=True)]


_plant("residual-kept-behind-a-refused-sibling", lambda one: _walk(one, lambda left, drawn, _x: (left, drawn)))
_plant("q-without-siblings-not-renormalised", lambda one: _walk(one, _not_renormalised), siblings="without-replacement")
_plant("equal-sibling-passed-over", _equal_skipped)
_plant("bonus-of-the-place-above-a-leaf", lambda one: _walk(one, last=_above))
_plant("no-tree-takes-the-row-of-the-request-before", read=_empty_from_the_request_before)


# Random numbers --------------------------------------------------------------------------------------------------------------


def _reading(numbers: Tensor) -> Callable[[int], Tensor]:
    return lambda slot: numbers[slot]


def _coins(batch: Any) -> list[_Tree]:
    """Right: each node has the coin of its slot, the token behind the path that of slot 0."""
    return [replace(one, uniform=_reading(coins)) for one, coins in zip(_read(batch), batch.coins, strict=True)]


def _of_the_place_above(one: _Tree) -> list[int]:
    """All siblings are tried with the coin of the place above them."""
    parents, uniform = _parents(one), one.uniform
    return _walk(replace(one, uniform=lambda slot: uniform(parents.get(slot, 0))))


def _in_line(batch: Any) -> list[_Tree]:
    """Coins are read as if a request had one for each of its nodes and one more, not one for each slot."""
    some, coins, start = _read(batch), batch.coins.reshape(-1), 0
    found = []
    for one in some:
        found.append(replace(one, uniform=_reading(coins[start:])))
        start += one.size + 1
    return found


def _drawing(seed: int) -> Callable[[int], Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return lambda _: torch.rand((), generator=generator)


def _seeded(batch: Any, place: int = 0) -> list[_Tree]:
    """Right, unless its place in the batch counts in a request's seed."""
    return [replace(one, uniform=_drawing(int(seed) + place * b)) for b, (one, seed) in enumerate(zip(_read(batch), batch.seeds, strict=True))]


_plant("one-coin-for-all-siblings", _of_the_place_above, _coins, rng="coins")
_plant("coins-read-by-nodes", read=_in_line, rng="coins")
_plant("place-of-a-tree-in-its-seed", read=lambda batch: _seeded(batch, place=1), supports=("seeds",))


# Output, other requests, ids -------------------------------------------------------------------------------------------------


@sv.subject("verify_tree_lcrs", name="path-left-as-it-was", siblings="with-replacement", rule="standard", sentinel=END, scratch=("out",))
def path_left_as_it_was(batch: Any) -> Tensor:
    """Tokens are written, and nothing behind them."""
    out: Tensor = batch.scratch("out")
    for b, row in enumerate(map(_walk, _read(batch))):
        out[b, : len(row)] = torch.tensor(row)
    return out


def _all_greedy(batch: Any) -> list[_Tree]:
    """Where one request is greedy, every row of the target is its argmax."""
    some = _read(batch)
    return [replace(one, target=torch.eye(batch.vocabulary)[one.target.argmax(-1)]) for one in some] if bool(batch.greedy.any()) else some


def _narrow_as_wide(batch: Any) -> list[_Tree]:
    """Tokens of 32 bits are read two at a time, then cut to the vocabulary."""
    tokens = batch.lcrs(end=END).tokens
    wide = tokens if tokens.dtype == torch.int64 else torch.cat([tokens, tokens], 1).contiguous().view(torch.int64) % batch.vocabulary
    return [replace(one, tokens=ids) for one, ids in zip(_seeded(batch), wide.tolist(), strict=True)]


_plant("all-trees-greedy-where-one-is", read=_all_greedy, supports=("temperature",))
_plant("narrow-tokens-of-trees-read-as-wide", read=_narrow_as_wide, supports=("int32", "seeds"))
