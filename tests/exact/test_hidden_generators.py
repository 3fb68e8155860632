"""What draws behind the methods of numpy's and Python's generators, or reads draws as plain numbers, is told: never a wrong law."""

import ctypes
import functools
import itertools
import os
import pickle
import random
import secrets
import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from numpy import array as captured_array
from numpy import asarray as captured_asarray

from specverify.exact import NotExact, exact_law, real

P = np.array([0.5, 0.25, 0.25])
G, LEGACY, PYTHON = np.random.default_rng(1), np.random.RandomState(1), random.Random(1)
IN_A_TUPLE = (G.random,)
IN_A_PARTIAL = partial(random.Random(2).random)
NEXT_DOUBLE = np.random.PCG64(1)


def in_a_default(coin: Callable = random.random) -> bool:
    return coin() < 0.5


def in_a_thread(draw: Callable) -> bool:
    drawn: list = []
    thread = threading.Thread(target=lambda: drawn.append(caught(draw)))
    thread.start()
    thread.join()
    return bool(drawn[0] < 0.5)


def caught(draw: Callable) -> float:
    try:
        return draw()
    except BaseException:
        return 0.0


def behind_the_method() -> bool:
    bits = G.bit_generator.ctypes
    return bits.next_double(bits.state_address) < 2


def behind_before_a_draw() -> bool:
    G.random()
    behind_the_method()
    return G.random() < 0.5


def behind_in_numbers_of_c() -> bool:
    seen = ctypes.pythonapi.PyFloat_AsDouble
    seen.argtypes, seen.restype = [ctypes.py_object], ctypes.c_double
    return seen(random.random()) < 0.5


def kept_from_before(kept: list = []) -> bool:  # noqa: B006  on purpose
    kept.append(G.random(2))
    return bool(kept[0][0] < 0.5)


def two_requests() -> tuple[bool, bool]:
    return np.random.default_rng(1).random() < 0.5, np.random.default_rng(1).exponential() < 0.5


def into(buffer: np.ndarray, value: Callable) -> bool:
    buffer[:] = value()
    return bool(buffer[0] < 0.5)


def race_and_a_member() -> tuple[int, bool]:
    noise = G.exponential(size=3)
    return int((P / noise).argmax()), bool(noise[0] < 1)


REFUSED: dict[str, tuple[Callable, str]] = {
    "a captured asarray": (lambda: captured_asarray(G.random(2))[0] < 0.5, "plain ones"),
    "a captured array of numbers": (lambda: captured_array([G.random()])[0] < 0.5, "plain one"),
    "float of an element": (lambda: float(G.random(2)[0]) < 0.5, "plain ones"),
    "float": (lambda: float(random.random()) < 0.5, "plain one"),
    "float of C": (behind_in_numbers_of_c, "plain one"),
    "memoryview": (lambda: memoryview(G.random(2))[0] < 0.5, "plain one"),
    "view": (lambda: int(G.random(2).view(np.int64)[0]) % 2, "takes view"),
    "tobytes": (lambda: G.random(2).tobytes()[0] % 2, "takes tobytes"),
    "data": (lambda: G.random(2).data[0] < 0.5, "takes data"),
    "its interface": (lambda: G.random(2).__array_interface__["data"][0] % 2, "plain ones"),
    "text": (lambda: len(str(G.random(2))), "plain ones"),
    "pickled": (lambda: len(pickle.dumps(G.random(2))), "plain ones"),
    "hashed": (lambda: hash(G.random(1)[0]), "plain ones"),
    "sum": (lambda: G.random(2).sum() < 1, "takes sum"),
    "mean": (lambda: np.mean(G.random(2)) < 0.5, "takes numpy's mean"),
    "product of draws": (lambda: G.random() * random.random() < 0.3, "continuous"),
    "products of arrays": (lambda: G.random(2) * G.random(2) < 0.3, "continuous"),
    "dot": (lambda: G.random(3) @ P < 0.3, "takes numpy's matmul"),
    "reduce": (lambda: np.add.reduce(G.random(2)) < 0.3, "takes numpy's add.reduce"),
    "sine": (lambda: np.sin(G.random(2)) < 0.5, "takes numpy's sin"),
    "not monotone": (lambda: bool(np.square(G.random(1) - 0.5) < 0.1), "not monotone"),
    "the value of max": (lambda: bool(G.random(3).max() < 0.5), "value of numpy's max"),
    "sorted values": (lambda: bool(np.sort(G.random(2))[0] < 0.5), "values of numpy's sort"),
    "a plain array written into": (lambda: into(np.zeros(2), lambda: G.random(2)), "plain ones"),
    "a plain array of a number": (lambda: into(np.zeros(2), random.random), "plain one"),
    "a plain out=": (lambda: np.add(G.random(2), 1, out=np.zeros(2))[0] < 1.5, "plain array"),
    "drawn into a buffer": (lambda: G.random(out=np.zeros(2))[0] < 0.5, "array of its own"),
    "a continuous array": (lambda: G.random(2), "continuous"),
    "a continuous scalar": (lambda: [1, G.random(2)[0]], "continuous"),
    "in a dict": (lambda: {"u": G.random(2)}, "continuous"),
    "torch of an array": (lambda: torch.log(G.random(2)), "to torch"),
    "numpy of a tensor beside it": (lambda: np.less(G.random(2), torch.tensor(P[:2])), "takes numpy's less"),
    "of an execution before": (kept_from_before, "an execution before|two executions"),
    "a method in a tuple": (lambda: IN_A_TUPLE[0]() < 2, "behind the exploration"),
    "a method in a default": (lambda: in_a_default() < 2, "behind the exploration"),
    "a method in a partial": (lambda: IN_A_PARTIAL() < 2, "behind the exploration"),
    "numpy in a thread": (lambda: in_a_thread(G.random), "another thread"),
    "random in a thread": (lambda: in_a_thread(random.random), "another thread"),
    "raw numbers": (lambda: G.bit_generator.random_raw() % 2, "random_raw"),
    "the generator's own C": (behind_the_method, "behind the exploration"),
    "the generator's own C between draws": (behind_before_a_draw, "not followed has moved"),
    "advanced": (lambda: G.bit_generator.advance(1) and G.random() < 2, "advance"),
    "os.urandom": (lambda: os.urandom(1)[0] < 128, "two executions|replay"),
    "secrets": (lambda: secrets.randbelow(2), "the system's randomness"),
    "SystemRandom": (lambda: random.SystemRandom().random() < 0.5, "the system's randomness"),
    "many integers": (lambda: random.randrange(10**6) < 10, "1,000,000 integers"),
    "many of numpy's integers": (lambda: G.integers(10**6) < 10, "1,000,000 integers"),
    "many orders": (lambda: G.permutation(9), "orders"),
    "dirichlet": (lambda: G.dirichlet(P)[0] < 0.5, "dirichlet, which is not modelled"),
    "bytes": (lambda: np.random.bytes(1)[0] < 128, "bytes, which is not modelled"),
    "a normal number of Python": (lambda: random.gauss(0, 1) < 0.5, "plain one|continuous"),
    "two requests from one state": (two_requests, "twice from one state"),
    "a race and one of its draws": (race_and_a_member, "once more|two things"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_reason(name: str) -> None:
    function, reason = REFUSED[name]
    with pytest.raises(NotExact, match=reason):
        exact_law(function, probe=20 if name == "os.urandom" else 0)


@functools.cache
def made_late() -> np.random.Generator:
    return np.random.default_rng(0)


FOLLOWED: dict[str, Callable[[], bool]] = {
    "made in the first execution": lambda: made_late().random() < 0.25,
    "seeded with a constant": lambda: np.random.default_rng(3).random() < 0.25,
    "copies": lambda: pickle.loads(pickle.dumps(PYTHON)).random() < 0.25,
    "a class derived from Random": lambda: type("Mine", (random.Random,), {})(1).random() < 0.25,
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name: str) -> None:
    assert exact_law(FOLLOWED[name]).probabilities == {True: 0.25, False: 0.75}


def test_arguments_are_followed() -> None:
    law = exact_law(lambda g, r: (g.random() < 0.5, r.random() < 0.25), np.random.default_rng(1), random.Random(1))
    assert law[True, True] == 0.125


def test_reused_randomness_is_noted() -> None:
    law = exact_law(lambda: [np.random.default_rng(7).choice(3, p=P), np.random.default_rng(7).choice(3, p=P)])
    assert law.probabilities == {(0, 0): 0.5, (1, 1): 0.25, (2, 2): 0.25}
    assert "used twice" in law.notes[0]


def test_draws_inside_real_are_not_part_of_the_law() -> None:
    def f() -> tuple[bool, bool]:
        with real():
            warm = G.random() < 2 and random.random() < 2 and np.random.default_rng().random() < 2
        return warm, random.random() < 0.25

    assert exact_law(f).probabilities == {(True, True): 0.25, (True, False): 0.75}


def test_all_is_as_it_was_afterwards() -> None:
    names = [
        (np.random.Generator, "random"),
        (np.random.RandomState, "rand"),
        (random.Random, "seed"),
        (random, "random"),
        (np.random, "rand"),
        (np, "array"),
        (random, "_log"),
    ]
    before, states = [getattr(*one) for one in names], (G.bit_generator.state, random.getstate(), LEGACY.get_state()[2], np.random.get_state()[2])
    exact_law(lambda: [G.random() < 0.5, random.random() < 0.5, LEGACY.rand() < 0.5, np.random.rand() < 0.5])
    with pytest.raises(NotExact):
        exact_law(lambda: G.random(2))
    assert [getattr(*one) for one in names] == before
    assert (G.bit_generator.state, random.getstate(), LEGACY.get_state()[2], np.random.get_state()[2]) == states
    assert "random" not in vars(random.Random)
    assert type(G.random()) is type(random.random()) is float


def test_an_endless_loop_leaves_open_mass() -> None:
    law = exact_law(lambda: next(i for i in itertools.count() if random.random() < 0.5), max_runs=12)
    assert law.lower(0) == 0.5 <= law.upper(0)
