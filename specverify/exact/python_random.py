"""Python's `random`: three methods draw, and all others are made of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from specverify.exact.chain import Chain
from specverify.exact.forms import even, smooth
from specverify.exact.generators import Ours, Source, follow, fresh, methods, reseeded
from specverify.exact.machine import Machine, current, here
from specverify.exact.numbers import MATHS, followed, number
from specverify.exact.space import Stop

BITS = 53
"""Of a uniform number."""
MOST = 4096
"""Outcomes of one whole number."""
SEED_BITS = 128
Method = Callable[..., Any]
_UNIFORM, _BITS, _BELOW, _SEED = (getattr(random.Random, name) for name in ("random", "getrandbits", "_randbelow", "seed"))


def _random(generator: random.Random) -> Any:
    """Generator.random: a uniform number."""
    machine = _follower(generator)
    if machine is None:
        return _UNIFORM(generator)
    make = lambda _: [Chain(machine.grid(f"random at {here()}", _form(machine)), (), torch.float64)]  # noqa: E731
    _, (chain,) = follow(machine, Source(generator), "random", lambda: _UNIFORM(generator), make)
    return number(machine, chain.base.form.number(chain.base.at), chain)


def _form(machine: Machine) -> Any:
    return (even if machine.grids else smooth)(torch.float64, 0.0, 1.0, BITS)


def _getrandbits(generator: random.Random, k: int) -> Any:
    """Generator.getrandbits: k bits."""
    machine = _follower(generator)
    return _BITS(generator, k) if machine is None else _whole(machine, generator, 2**k, lambda: _BITS(generator, k), "getrandbits")


def _randbelow(generator: random.Random, n: int) -> Any:
    """Generator._randbelow: a whole number below n."""
    machine = _follower(generator)
    return _BELOW(generator, n) if machine is None else _whole(machine, generator, n, lambda: _BELOW(generator, n), "random integer")


def _whole(machine: Machine, generator: random.Random, n: int, genuine: Callable[[], Any], name: str) -> Any:
    if n > MOST:
        raise Stop(f"it draws one of {n:,} integers, at {here()}")
    drawn, made = follow(machine, Source(generator), (name, n), genuine, lambda _: [machine.finite(f"{name} at {here()}", (1.0,) * n)])
    return machine.walk.choose(made[0]) if made else drawn


def _seed(generator: random.Random, a: Any = None, version: int = 2) -> Any:
    """Generator.seed: without a seed, from numbers that are the same in every execution."""
    machine = _follower(generator)
    if machine is None:
        return _SEED(generator, a, version)
    given = fresh(machine, SEED_BITS) if a is None else a
    return reseeded(machine, Source(generator), lambda: _SEED(generator, given, version))


def _follower(generator: random.Random) -> Machine | None:
    return None if isinstance(generator, Ours) else current()


METHODS: dict[str, Method] = {"random": _random, "getrandbits": _getrandbits, "_randbelow": _randbelow, "seed": _seed}


@contextmanager
def drawing() -> Iterator[None]:
    """`random` as it is followed; the functions of `math` that it knows under names of its own too."""
    aliases = {f"_{name}": name for name in MATHS if getattr(random, f"_{name}", None) is getattr(math, name)}
    with ExitStack() as stack:
        stack.enter_context(methods(random.Random, METHODS))
        for alias, name in aliases.items():
            stack.callback(setattr, random, alias, getattr(random, alias))
            setattr(random, alias, followed(name))
        yield
