"""What cannot be followed is told: never a wrong law. Each function here would give one without its guard."""

import ctypes
import itertools
import math
import random
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import tensor

from specverify.exact import NotExact, exact_law, real

P = torch.tensor([0.5, 0.25, 0.25])
COUNTER = itertools.count()


def token() -> torch.Tensor:
    return torch.multinomial(P, 1)


def by_the_clock() -> int:
    return int(token()) + time.perf_counter_ns() % 2


def in_a_thread() -> bool:
    drawn = []
    thread = threading.Thread(target=lambda: drawn.append(torch.rand(1)))
    thread.start()
    thread.join()
    return bool(drawn[0] < 0.5)


def behind_an_exception() -> int:
    try:
        return int(torch.rand(2).sum() < 1)
    except Exception:
        return -1


def twice_from_one_state() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    first = torch.multinomial(P, 1)
    torch.manual_seed(1)
    return first, torch.randint(0, 3, (1,))


def race_read_twice() -> tuple[torch.Tensor, torch.Tensor]:
    noise = torch.empty(3).exponential_()
    return (P / noise).argmax(), (P.flip(0) / noise).argmax()


def race_and_a_member() -> tuple[torch.Tensor, torch.Tensor]:
    noise = torch.empty(3).exponential_()
    return (P / noise).argmax(), noise[0] < 1


def a_member_and_its_race() -> tuple[torch.Tensor, torch.Tensor]:
    noise = torch.empty(3).exponential_()
    return noise[0] < 1, (P / noise).argmax()


REFUSED: dict[str, tuple[Callable, str]] = {
    "hidden state": (lambda: int(token()) + next(COUNTER), "two executions with the same draws differ"),
    "the clock": (by_the_clock, "two executions|replay|before"),
    "a system generator": (lambda: random.SystemRandom().random() < 0.5, "the system's randomness"),
    "a thread": (in_a_thread, "another thread"),
    "except Exception": (behind_an_exception, "continuous"),
    "sum of draws": (lambda: bool(torch.rand(2).sum() < 1), "continuous"),
    "product of draws": (lambda: bool(torch.rand(1) * torch.rand(1) < 0.3), "continuous"),
    "not monotone": (lambda: bool(torch.rand(1).sub(0.5).square() < 0.1), "not monotone"),
    "sine": (lambda: bool(torch.sin(7 * torch.rand(1)) < 0.5), "not monotone"),
    "other bits": (lambda: int(torch.rand(1).view(torch.int32)) % 2, "as torch.int32"),
    "bytes": (lambda: int(torch.rand(1).view(torch.uint8)[0]) % 2, "as torch.uint8"),
    "numpy's view": (lambda: torch.rand(2).numpy()[0] < 0.5, "through numpy"),
    "an array": (lambda: np.asarray(torch.rand(2))[0] < 0.5, "through __array__|through numpy"),
    "its address": (lambda: torch.rand(1).data_ptr() % 2, "through data_ptr"),
    "a plain float": (lambda: float(torch.rand(1)) < 0.5, "through __float__"),
    "a captured tensor()": (lambda: bool(tensor(torch.rand(1).item()) < 0.4), "only a plain one fits"),
    "numpy of a number": (lambda: bool(np.log(np.float64(torch.rand(1).item())) < -1), "plain one"),
    "text": (lambda: len(f"{torch.rand(1).item()}"), "plain one"),
    "a hash": (lambda: len({torch.rand(1).item(): 1}), "hashes"),
    "a continuous result": (lambda: torch.rand(1), "continuous"),
    "a continuous number": (lambda: torch.rand(1).item(), "continuous"),
    "two requests from one state": (twice_from_one_state, "twice from one state"),
    "two races on the same draws": (race_read_twice, "two things"),
    "a race and one of its draws": (race_and_a_member, "once more|two things"),
    "a draw and a race that it is in": (a_member_and_its_race, "two things|once more"),
    "a gamma draw": (lambda: bool(torch._standard_gamma(P)[0] < 1), "not modelled"),
    "permutation of many": (lambda: torch.randperm(20), "permutations"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_reason(name: str) -> None:
    function, reason = REFUSED[name]
    with pytest.raises(NotExact, match=reason):
        exact_law(function, probe=4)


def test_a_read_of_raw_memory_is_found_by_the_replays() -> None:
    """An address taken before the draw is filled in is behind everything that is watched; executions at random points disagree."""

    def raw() -> bool:
        buffer = torch.empty(8)
        seen = (ctypes.c_float * 8).from_address(buffer.data_ptr())
        buffer.uniform_()
        return seen[0] < 0.5

    with pytest.raises(NotExact, match="replay"):
        exact_law(raw, probe=20)


def test_no_false_alarm_of_the_replays_on_honest_code() -> None:
    def honest() -> torch.Tensor:
        return (P.cumsum(0) <= torch.rand(1)).sum()

    assert exact_law(honest, probe=400).kind == "exact"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own, when its compiler is loaded
@pytest.mark.parametrize("whole", [False, True])
def test_what_torch_would_compile_is_explored_as_it_runs_eagerly(*, whole: bool) -> None:
    def inner() -> torch.Tensor:
        return (P / torch.empty(3).exponential_()).argmax()

    before = torch.compile(inner, fullgraph=whole)
    for function in (before, lambda: torch.compile(inner, fullgraph=whole)(), lambda: torch.compile(fullgraph=whole)(inner)()):
        law = exact_law(function)
        assert law.probabilities == pytest.approx({0: 0.5, 1: 0.25, 2: 0.25})
        assert any("eagerly" in note for note in law.notes)


def test_an_endless_loop_leaves_open_mass() -> None:
    law = exact_law(lambda: next(i for i in itertools.count() if torch.rand(1) < 0.5), max_runs=12)
    assert law.kind == "bounds"
    assert math.isclose(law.open_mass + sum(law.probabilities.values()), 1)
    assert law.lower(0) == 0.5 <= law.upper(0)


def test_too_many_branches_leave_open_mass() -> None:
    law = exact_law(lambda: [int(u < 0.5) for u in torch.rand(20)], max_runs=40)
    assert law.open_mass > 0.9


def test_draws_inside_real_are_not_part_of_the_law() -> None:
    def f() -> tuple[bool, int]:
        with real():
            warm = bool(torch.rand(1) < 2)
        return warm, int(token())

    assert exact_law(f).probabilities == {(True, 0): 0.5, (True, 1): 0.25, (True, 2): 0.25}


def test_torch_is_as_it_was_afterwards() -> None:
    before = {name: getattr(torch.Tensor, name) for name in ("item", "tolist", "numpy", "data_ptr", "__int__")}
    with pytest.raises(NotExact):
        exact_law(lambda: torch.rand(1))
    exact_law(token)
    assert {name: getattr(torch.Tensor, name) for name in before} == before
    assert isinstance(torch.rand(1).item(), float)
    assert random.random() < 1


def test_reused_randomness_is_noted() -> None:
    def twice() -> list[int]:
        return [int(torch.multinomial(P, 1, generator=torch.Generator().manual_seed(7))) for _ in range(2)]

    law = exact_law(twice)
    assert law.probabilities == {(0, 0): 0.5, (1, 1): 0.25, (2, 2): 0.25}
    assert "used twice" in law.notes[0]


@pytest.mark.parametrize("restore", [torch.random.fork_rng, None])
def test_saved_states_are_followed(restore: Callable | None) -> None:
    def f() -> list[int]:
        state = torch.get_rng_state()
        first = int(token())
        if restore is None:
            torch.set_rng_state(state)
            return [first, int(token())]
        with restore():
            inner = int(token())
        return [inner, int(token())]

    assert exact_law(f).probabilities == {(0, 0): 0.5, (1, 1): 0.25, (2, 2): 0.25}
