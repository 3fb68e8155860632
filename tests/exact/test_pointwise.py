"""Steps with a counter-based generator, point by point: the right ones are not accused, and a planted fault is shown by a seed."""

import functools
import math
import re
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from specverify.exact.decisions import Decision, chain, deterministic, token
from specverify.exact.pointwise import Pointwise, pointwise
from specverify.law import Law

MASK = 2**64 - 1
POOL = 4_000
"""Seeds: a border is bracketed to 1/4000, and what is closer to the right one is not told."""
SECONDS = 5.0
"""Of a core: the bar for one law at V 8, gamma 3."""


@functools.cache
def peek(seed: int, position: int) -> float:
    """24 bits of a hash of both (splitmix's finalizer)."""
    z = (seed * 0x9E3779B97F4A7C15 + (position + 1) * 0xD1342543DE82EF95) & MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> shift)) * factor & MASK
    return ((z ^ (z >> 31)) >> 40) * 2.0**-24


def table(n: int, width: int, seed: int) -> np.ndarray:
    found = np.random.default_rng(seed).random((n, width)) + 0.05
    return found / found.sum(-1, keepdims=True)


class Step:
    """A verify step; `order` is that of the tokens in its cumulative sums, `fault` what it does wrong."""

    def __init__(self, p: np.ndarray, q: np.ndarray, draft: Sequence[int], fault: str = "", *, downwards: bool = False, counter: Callable = peek) -> None:
        self.p, self.q, self.draft, self.fault, self.downwards, self.counter = p, q, draft, fault, downwards, counter

    def u(self, seed: int, position: int) -> float:
        return self.counter(5 if self.fault == "seed ignored" else seed, position + (self.fault == "positions from 1"))

    def __call__(self, seed: int) -> tuple[int, ...]:
        for i, x in enumerate(self.draft):
            row = min(i + 1, len(self.q) - 1) if self.fault == "row off by one" else i
            border = self.p[row, x] / self.q[row, x]
            if self.fault == "bfloat16":
                border = float((np.float32(border).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))
            u = self.u(seed, 0 if self.fault == "one coin" else i)
            if u > border if self.fault == "<=" else u >= border:
                return (
                    *self.draft[:i],
                    self.token(np.maximum(self.p[i] - self.q[i], 0), self.u(seed, i if self.fault == "coin of the rejection" else len(self.draft))),
                )
        return (*self.draft, self.token(self.q[-1] if self.fault == "bonus from q" else self.p[-1], self.u(seed, len(self.draft))))

    def token(self, row: np.ndarray, u: float) -> int:
        order = np.arange(len(row))[:: -1 if self.downwards else 1]
        sums = (row[order] / row.sum()).cumsum()
        return int(order[min(np.searchsorted(sums, u, side="right"), np.flatnonzero(row[order])[-1])])


def seen(step: Step, told: Callable = peek, positions: int = 5, pool: int = POOL) -> Pointwise:
    return pointwise(step, told, chain(step.p.tolist(), step.q.tolist(), step.draft), positions=positions, pool=pool)


def right(step: Step) -> Law:
    masses: dict = {}

    def walk(decision: Decision, before: tuple, mass: float) -> None:
        for label, chance in decision.right.items():
            if label in decision.then:
                walk(decision.then[label], (*before, step.draft[len(before)]) if label == "accepted" else before, mass * chance)
            elif mass * chance:
                masses[(*before, label)] = mass * chance

    walk(chain(step.p.tolist(), step.q.tolist(), step.draft), (), 1.0)
    return Law(masses)


P, Q = table(4, 8, 1), table(3, 8, 2)
DRAFT = [int(x) for x in np.abs(P[:-1] / Q - 0.7).argmin(-1)]


@pytest.mark.parametrize("width", [2, 8])
@pytest.mark.parametrize("downwards", [False, True])
@pytest.mark.parametrize("fault", ["", "positions from 1"])
def test_a_right_step_is_not_accused_and_its_law_is_bracketed(width: int, fault: str, *, downwards: bool) -> None:
    p, q = table(4, width, 1), table(3, width, 2)
    step = Step(p, q, [int(x) for x in np.abs(p[:-1] / q - 0.7).argmin(-1)], fault, downwards=downwards)
    start = time.process_time()
    found = seen(step)
    assert time.process_time() - start < SECONDS
    assert (found.findings, found.notes, found.unread) == ((), (), "")
    assert found.law.open_mass < 0.05
    comparison = found.law.compare(right(step))
    assert comparison.tv == pytest.approx(0, abs=1e-6)
    assert comparison.verdict == "open"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_right_steps_are_not_accused_with_the_whole_pool(seed: int) -> None:
    p, q = table(4, 8, 10 + seed), table(3, 8, 20 + seed)
    step = Step(p, q, [int(x) for x in np.random.default_rng(seed).integers(0, 8, 3)], downwards=bool(seed % 2))
    start = time.process_time()
    found = seen(step, pool=20_000)
    assert time.process_time() - start < SECONDS
    assert (found.findings, found.unread) == ((), "")
    assert found.law.open_mass < 0.01
    assert found.law.compare(right(step)).tv == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("one coin", "never rejected"),
        ("coin of the rejection", "the outcome is never"),
        ("row off by one", "draft token 5 of row 0"),
        ("bonus from q", "the token after 3 accepted: with seed"),
        ("bfloat16", "draft token 7 of row 1: with seed"),
        ("seed ignored", "never rejected"),
    ],
)
def test_a_planted_fault_is_shown_by_a_seed(fault: str, sentence: str) -> None:
    step = Step(P, Q, DRAFT, fault)
    start = time.process_time()
    found = seen(step)
    assert time.process_time() - start < SECONDS
    assert any(sentence in one for one in found.findings), found
    if fault != "bfloat16":
        assert found.law.compare(right(step)).verdict == "different"
    else:  # less than stays open of the law, more than the bracket of the border
        seeds = [int(seed) for told in found.findings for seed in re.findall(r"with seed (\d+)", told)]
        assert all(step(seed) != Step(P, Q, DRAFT)(seed) for seed in seeds)


def coarse(seed: int, position: int) -> float:
    return int(peek(seed, position) * 2**12) * 2.0**-12


def test_acceptance_at_zero_is_found_where_the_grid_is_coarse_and_noted_where_it_is_hit_by_chance() -> None:
    p, q = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[0.5, 0.5]])
    found = seen(Step(p, q, [0], "<=", counter=coarse), coarse, positions=3, pool=20_000)
    assert any("is 0, and the outcome is accepted, which is impossible" in one for one in found.findings)
    assert seen(Step(p, q, [0], counter=coarse), coarse, positions=3).findings == ()


class Recycled(Step):
    """Lawful: one number serves for everything, stretched to [0, 1) after each decision."""

    def __call__(self, seed: int) -> tuple[int, ...]:
        u = self.u(seed, 0)
        for i, x in enumerate(self.draft):
            border = min(1.0, self.p[i, x] / self.q[i, x])
            if u >= border:
                return (*self.draft[:i], self.token(np.maximum(self.p[i] - self.q[i], 0), (u - border) / (1 - border)))
            u /= border
        return (*self.draft, self.token(self.p[-1], u))


class Gumbel(Step):
    """Lawful: a number for each token."""

    def token(self, row: np.ndarray, u: float) -> int:
        waits = [-math.log(1 - self.u(int(u * 2**24), 100 + y)) / row[y] if row[y] > 0 else math.inf for y in range(len(row))]
        return int(np.argmin(waits))


class Alias(Step):
    """Lawful: a column by the first digits of the number, one of two tokens by the others, so that a token has two pieces."""

    def token(self, row: np.ndarray, u: float) -> int:
        half = row / row.sum() / 2
        return int(min(np.searchsorted(np.concatenate([half, half]).cumsum(), u, side="right"), 2 * len(row) - 1) % len(row))


class OwnCoins(Step):
    """Lawful, but its numbers are not those of its peek."""

    def u(self, seed: int, position: int) -> float:
        return peek(seed + 2**40, position + 7)


def test_a_number_that_is_lawfully_used_again_is_noted_and_nothing_is_accused() -> None:
    step = Recycled(P, Q, DRAFT)
    found = seen(step)
    assert (found.findings, found.unread) == ((), "")
    assert any("has decided something before" in note for note in found.notes)
    assert found.law.compare(right(step)).tv == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("kind", [Gumbel, Alias, OwnCoins])
def test_a_lawful_step_whose_numbers_explain_nothing_is_not_accused(kind: type[Step]) -> None:
    found = seen(kind(P, Q, DRAFT))
    assert found.findings == ()
    assert found.law is None
    assert "the numbers of peek at no position" in found.unread


@pytest.mark.parametrize("rare", [1e-3, 1e-2, 0.1])
def test_foreign_numbers_and_rare_outcomes_accuse_nobody(rare: float) -> None:
    for shift in range(3):
        row = np.array([1 - rare, rare])
        step = OwnCoins(np.stack([row, row]), np.array([[1.0, 0.0]]), [0])
        foreign = pointwise(
            lambda seed, step=step, shift=shift: step(seed + shift), peek, chain(step.p.tolist(), step.q.tolist(), step.draft), positions=4, pool=4_000
        )
        assert foreign.findings == ()


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (lambda seed, position: peek(seed, position) / 2, "not even"),
        (lambda seed, position: 1.5 * peek(seed, position), "outside"),
        (lambda seed, position: 0.5, "not even"),
        (lambda seed, position: (peek(seed, 0) + position * 0.1) % 1, "depend on each other"),
    ],
    ids=["half", "too large", "constant", "shifted"],
)
def test_numbers_that_are_no_random_ones_are_told(told: Callable, reason: str) -> None:
    found = seen(Step(P, Q, DRAFT), told)
    assert found.law is None
    assert found.findings == ()
    assert reason in found.unread


def test_a_generator_that_ignores_the_position_is_one_number() -> None:
    found = seen(Step(P, Q, DRAFT, counter=lambda seed, _: peek(seed, 0)), lambda seed, _: peek(seed, 0))
    assert any("never rejected" in one for one in found.findings)


def test_an_exception_is_an_outcome_and_never_right() -> None:
    class Raising(Step):
        def __call__(self, seed: int) -> tuple:
            return super().__call__(seed) if self.u(seed, 0) < 0.4 else ("raised", "ValueError")

    found = seen(Raising(P, Q, DRAFT))
    assert any("('raised', 'ValueError'), which is impossible" in one for one in found.findings)
    assert found.law["raised", "ValueError"] == pytest.approx(0.6, abs=1e-3)


def test_a_draft_without_a_law_and_a_single_token() -> None:
    step = Step(P, np.eye(8)[DRAFT], DRAFT)
    found = pointwise(step, peek, deterministic(P.tolist(), DRAFT), positions=5, pool=POOL)
    assert (found.findings, found.unread) == ((), "")
    assert found.law.compare(right(step)).tv == pytest.approx(0, abs=1e-6)
    row = P[0]
    assert pointwise(lambda seed: step.token(row, peek(seed, 0)), peek, token(row.tolist()), positions=2, pool=POOL).findings == ()
    assert pointwise(lambda seed: step.token(row, peek(seed, 0)), peek, token(P[1].tolist()), positions=2, pool=POOL).findings


def test_a_step_in_torch() -> None:
    p, q = torch.tensor(P, dtype=torch.float32), torch.tensor(Q, dtype=torch.float32)

    def step(seed: int) -> tuple[int, ...]:
        coins = torch.tensor([peek(seed, i) for i in range(4)])
        at = torch.arange(3)
        n = int((coins[:3] * q[at, DRAFT] < p[at, DRAFT]).long().cumprod(0).sum())
        row = (p[n] - q[n]).clamp(min=0) if n < len(DRAFT) else p[-1]
        return (*DRAFT[:n], int(torch.searchsorted(row.cumsum(0), coins[3] * row.sum(), right=True).clamp(max=7)))

    found = pointwise(step, peek, chain(p.tolist(), q.tolist(), DRAFT), positions=5, pool=POOL)
    assert (found.findings, found.notes, found.unread) == ((), (), "")
    assert found.law.open_mass < 0.05
