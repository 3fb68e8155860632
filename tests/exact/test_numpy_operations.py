"""What is followed of numpy and `random` gives the law that an execution at each point of a coarse grid gives."""

import bisect
import copy
import functools
import itertools
import math
import pickle
import random
from collections.abc import Callable
from random import random as captured_random

import numpy as np
import pytest
import torch
from numpy.random import choice as captured_choice

from specverify.exact import exact_law

P = np.array([0.5, 0.25, 0.25])
ROWS = np.array([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])
HALF = P.astype(np.float32)
G, LEGACY, PYTHON = np.random.default_rng(1), np.random.RandomState(1), random.Random(1)
rand, u = G.random, np.random.rand


class Holder:
    def __init__(self) -> None:
        self.rng, self.draw = np.random.default_rng(2), np.random.default_rng(3).random


HOLDER = Holder()


def by_default(rng: np.random.Generator = np.random.default_rng(4)) -> bool:  # noqa: B008  on purpose
    return rng.random() < 0.4


def in_place():
    x = rand(3)
    x *= 2
    x -= 1
    x[1] = 0.5
    np.add(x, 0.25, out=x)
    return x > 0


def through_a_view():
    x = rand((2, 1))
    row = x[1]
    row *= 0.5
    x.ravel()[0] += 0.1
    x.T[0, 0] /= 2
    return x < 0.3


def of_another_order():
    x = rand((2, 1)).T + np.zeros((2, 2)).T
    x.ravel()[1] = 2.0
    return x < 0.5


def shuffled():
    x = [1, 2, 3]
    random.shuffle(x)
    return x


def shuffled_array(g):
    x = np.array([[1, 2], [3, 4]])
    g.shuffle(x)
    return x


def by_hand(row):
    """The inverse CDF, in a loop of Python."""
    left = random.random()
    for token, x in enumerate(row):
        left -= x
        if left < 0:
            return token
    return len(row) - 1


def stopped_in_the_middle():
    return sum(1 for _ in itertools.takewhile(lambda x: x < 0.5, rand(3)))


OPERATIONS = {
    "lt": lambda: rand(2) < P[:2], "le": lambda: rand(2) <= P[:2], "gt": lambda: rand(2) > 0.3, "ge": lambda: rand(2) >= 0.5, "eq": lambda: rand(1) == 0.25, "ne": lambda: rand(1) != 0.25,
    "turned": lambda: P[:2] < rand(2), "turned scalar": lambda: np.float64(0.3) < u(), "float against array": lambda: u() < P, "array against float": lambda: u() >= P,
    "add": lambda: rand(1) + 0.1 < 0.5, "sub": lambda: rand(1) - P < 0.1, "rsub": lambda: 1 - rand(2) <= P[:2], "mul": lambda: rand(3) * ROWS[0] < ROWS[1], "div": lambda: rand(2) / P[:2] < 1,
    "divided": lambda: 0.2 / (1 - rand(1)) < 0.5, "neg": lambda: -rand(1) < -0.3, "log": lambda: np.log1p(rand(2)) < 0.3, "log of zero": lambda: np.log(rand(1) + 0.1) < np.log(P[:1]),
    "exp": lambda: np.exp(rand(1)) < 1.3, "expm1": lambda: np.expm1(rand(1)) < 1, "sqrt": lambda: np.sqrt(rand(1)) < 0.5, "square": lambda: np.square(rand(1)) < 0.3, "pow": lambda: rand(1) ** 3 < 0.3,
    "power": lambda: np.power(rand(2), 1 / P[:2]) < 0.3, "based": lambda: 2 ** rand(1) < 1.5, "abs": lambda: abs(rand(1)) < 0.4, "floor": lambda: np.floor(rand(2) * 3), "ceil": lambda: np.ceil(rand(1) * 3),
    "rint": lambda: np.rint(rand(1) * 2), "int": lambda: int(rand(1)[0] * 3), "int of an array": lambda: int(rand() * 3), "astype int": lambda: (rand(2) * 3).astype(int), "astype float32": lambda: rand(2).astype(np.float32) < HALF[:2],
    "minimum": lambda: np.minimum(rand(1), 0.4) < 0.4, "maximum": lambda: np.maximum(0.4, rand(1)) <= 0.4, "clip": lambda: np.clip(rand(1), 0.2, 0.6) < 0.6, "clip method": lambda: rand(2).clip(0.2, 0.6) <= 0.2,
    "float32": lambda: rand(2, dtype=np.float32) < HALF[:2], "float32 number": lambda: rand(dtype=np.float32) < 0.3, "dtypes meet": lambda: rand(2, dtype=np.float32) < P[:2] / 3, "weak": lambda: rand(1, dtype=np.float32) * 0.3 < HALF[:1] / 3,
    "scalar of float32": lambda: rand(2, dtype=np.float32)[0] * np.float32(0.3) < 0.1, "uniform": lambda: G.uniform(0.5, 2, 2) < 1, "legacy uniform": lambda: np.random.uniform(-1, 1) < 0.3, "random_sample": lambda: np.random.random_sample(2) < 0.3,
    "RandomState": lambda: LEGACY.rand(2) < 0.3, "exponential": lambda: G.exponential(size=2) < 0.7, "exponentials": lambda: G.exponential([1.0, 2.0]) < 0.7, "standard_exponential": lambda: LEGACY.standard_exponential(2) < 0.7,
    "gumbel": lambda: G.gumbel(size=2) < 0.5, "normal": lambda: G.normal(1, 2) > 0, "randn": lambda: np.random.randn(2) < 0.5, "two randn": lambda: [np.random.randn() < 0.5 for _ in range(2)], "standard_normal": lambda: G.standard_normal() < 0.5,
    "choice": lambda: G.choice(3, p=P), "legacy choice": lambda: np.random.choice(3, p=P), "even choice": lambda: G.choice(3), "choices": lambda: G.choice(3, 2, p=P), "without replacement": lambda: G.choice(3, 2, replace=False, p=P),
    "even without": lambda: LEGACY.choice(3, 2, replace=False), "choice of items": lambda: G.choice([5, 6, 7], p=P), "choice of rows": lambda: G.choice(ROWS, p=[0.25, 0.75]), "shaped choice": lambda: np.random.choice(2, (1, 2)),
    "multinomial": lambda: G.multinomial(1, P), "multinomial rows": lambda: G.multinomial(1, ROWS).argmax(1), "legacy multinomial": lambda: np.random.multinomial(1, P, 2), "integers": lambda: G.integers(2, 5, 2), "endpoint": lambda: G.integers(2, endpoint=True),
    "randint": lambda: np.random.randint(3), "permutation": lambda: G.permutation(3), "permuted array": lambda: LEGACY.permutation(np.array([4, 5])), "shuffle": functools.partial(shuffled_array, G), "legacy shuffle": functools.partial(shuffled_array, np.random.mtrand._rand),
    "argmax of a mask": lambda: (rand(3) < 0.4).argmax(), "accepted length": lambda: np.cumprod(rand(3) < 0.6).sum(), "any": lambda: (rand(3) < 0.3).any(), "all of draws": lambda: rand(2).all(), "any of draws": lambda: np.any(rand(1)), "nonzero": lambda: np.nonzero(rand(2))[0].tolist(),
    "searchsorted": lambda: np.searchsorted(P.cumsum(), rand(2), side="right"), "searchsorted number": lambda: np.searchsorted(P.cumsum(), u()), "its method": lambda: P.cumsum().searchsorted(0.5) + (u() < 0.4), "digitize": lambda: np.digitize(rand(2), P.cumsum()), "first above": lambda: (P.cumsum() > u()).argmax(),
    "inverse CDF": lambda: int((P.cumsum() <= rand()).sum()), "bisect": lambda: bisect.bisect_right(P.cumsum().tolist(), u()), "by hand": lambda: by_hand(P), "by hand, of floats": lambda: by_hand([0.5, 0.25, 0.25]), "where": lambda: np.where(rand(3) < P, [1, 2, 3], -1), "where of draws": lambda: np.where([True, False], rand(2), rand()) < 0.4,
    "where by a draw": lambda: np.where(rand(1) < 0.5, rand(1), 0.9) < 0.6, "concatenate": lambda: np.concatenate([rand(1), P]) < 0.4, "stack": lambda: np.stack([rand(2), P[:2]]) < 0.4, "hstack": lambda: np.hstack([rand(1), rand(1, dtype=np.float32)]) < 0.4, "reshape": lambda: rand(2).reshape(2, 1)[1] < 0.4,
    "transpose": lambda: rand((1, 2)).T < 0.4, "index": lambda: rand(3)[[2, 0]] < 0.4, "mask": lambda: rand(3)[np.array([True, False, True])] < 0.6, "take": lambda: np.take(rand(3), [2, 0]) < 0.4, "take_along_axis": lambda: np.take_along_axis(rand((1, 2)), np.array([[1]]), 1) < 0.4, "flip": lambda: np.flip(rand(2)) < P[:2],
    "split": lambda: np.split(rand(2), 2)[1] < 0.4, "newaxis": lambda: rand(2)[:, None] < P[:2], "iteration": lambda: [x < 0.4 for x in rand(2)], "item": lambda: rand(1).item() < 0.4, "tolist": lambda: [x < 0.4 for x in rand(2).tolist()], "len": lambda: len(rand(2)) + (u() < 0.5), "isfinite": lambda: np.isfinite(x := rand(1)) & ~np.isnan(x) & (x < 0.3),
    "array of numbers": lambda: np.array([u(), 0.5, random.random()]) < 0.4, "asarray": lambda: np.asarray(rand(2), dtype=np.float32) < 0.4, "array of rows": lambda: np.array([rand(2), [0.1, 0.9]]) < 0.4, "copy": lambda: rand(2).copy() < 0.4, "deepcopy": lambda: copy.deepcopy(rand(2)) < 0.4, "contains": lambda: 0.25 in rand(2), "is an array": lambda: isinstance(rand(1), np.ndarray) and u() < 0.4,
    "truth": lambda: "yes" if rand(1)[0] else "no", "zeros_like": lambda: np.zeros_like(rand(2)) + (u() < 0.5), "in place": in_place, "through a view": through_a_view, "of another order": of_another_order, "stopped in the middle": stopped_in_the_middle,
    "captured bound": lambda: rand() < 0.4, "captured module function": lambda: captured_choice(3, p=P), "held": lambda: HOLDER.rng.random() < 0.4, "held bound": lambda: HOLDER.draw() < 0.4, "by default": by_default, "copied generator": lambda: copy.deepcopy(G).random() < 0.4, "pickled generator": lambda: pickle.loads(pickle.dumps(G)).random() < 0.4,
    "spawned": lambda: [g.random() < 0.4 for g in np.random.default_rng(5).spawn(2)], "without a seed": lambda: [np.random.default_rng().random() < 0.4 for _ in range(2)], "RandomState without a seed": lambda: [np.random.RandomState().rand() < 0.4, np.random.Generator(np.random.PCG64()).random() < 0.4],
    "seeded anew": lambda: [np.random.seed(), u() < 0.4], "one seed": lambda: [np.random.default_rng(7).random() < 0.4 for _ in range(2)], "saved state": lambda: [s := np.random.get_state(), u() < 0.4, np.random.set_state(s), u() < 0.4][1::2], "saved bits": lambda: [s := G.bit_generator.state, rand() < 0.4, setattr(G.bit_generator, "state", s), rand() < 0.4][1::2],
    "raises": lambda: G.choice(3, p=[0.5, 0.6, 0.7]), "unknown keyword": lambda: G.random(3, size=3), "shapes do not fit": lambda: rand(2) < P, "out of range": lambda: rand(2)[2], "of a token": lambda: [1, 2][G.choice(3, p=P)],
    "torch": lambda: torch.from_numpy(rand(2)) < torch.tensor(P[:2]), "as_tensor": lambda: torch.as_tensor(rand(2)).float() < 0.4, "torch.tensor": lambda: torch.tensor(rand(2)) < 0.4, "tensor of numbers": lambda: torch.tensor([u(), u()]) < 0.4, "number beside a tensor": lambda: torch.tensor(P) > u(), "scalar beside a tensor": lambda: torch.tensor(P) * rand(1)[0] < 0.2,
    "both": lambda: [torch.rand(1) < 0.4, u() < 0.4, random.random() < 0.4],
    "random": lambda: random.random() < 0.4, "captured random": lambda: captured_random() < 0.4, "Random": lambda: PYTHON.random() < 0.4, "random.uniform": lambda: random.uniform(1, 3) < 1.5, "random.choice": lambda: random.choice("abc"), "random.choices": lambda: random.choices([0, 1, 2], [0.5, 0.25, 0.25], k=2), "cum_weights": lambda: random.choices("abc", cum_weights=[2, 3, 4]),
    "even choices": lambda: random.choices(range(3)), "randrange": lambda: random.randrange(1, 7, 2), "random.randint": lambda: random.randint(1, 3), "getrandbits": lambda: random.getrandbits(2), "random.shuffle": shuffled, "sample": lambda: random.sample(range(4), 2), "expovariate": lambda: random.expovariate(2) < 0.3, "triangular": lambda: random.triangular() < 0.3,
    "paretovariate": lambda: random.paretovariate(2) < 1.5, "weibullvariate": lambda: random.weibullvariate(1, 2) < 0.5, "a seed": lambda: [random.seed(3), random.random() < 0.4, random.Random(3).random() < 0.4], "no seed": lambda: [random.seed(), random.random() < 0.4, random.Random().random() < 0.4], "random state": lambda: [s := random.getstate(), random.random() < 0.4, random.setstate(s), random.random() < 0.4][1::2],
    "math.floor": lambda: math.floor(random.random() * 3), "math.log": lambda: -math.log(1 - random.random()) < 0.3, "a numpy row": lambda: random.random() < P[0], "numpy's log of a number": lambda: np.log1p(-random.random()) < -0.3,
}  # fmt: skip

OFTEN = 5
"""One in so many is in the fast suite."""


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", [name if i % OFTEN == 0 else pytest.param(name, marks=pytest.mark.slow) for i, name in enumerate(OPERATIONS)])
def test_law_equals_an_execution_at_every_point(everywhere: Callable, name: str) -> None:
    found, right = exact_law(OPERATIONS[name]), everywhere(OPERATIONS[name])
    assert found.kind == "exact"
    assert found.probabilities.keys() == right.keys()
    assert all(math.isclose(found[outcome], mass, abs_tol=1e-12) for outcome, mass in right.items())
