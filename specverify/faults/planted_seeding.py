"""Planted faults of `seeding`. Each is a subject; the catalogue says what is wrong with it. They load no torch, so that each is audited in a moment."""

import random
from collections.abc import Callable

import numpy as np

import specverify as sv

Draw = Callable[[], list[object]]


def _seed_everything(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002  the generator that is judged
    random.seed(seed)


@sv.subject("seeding", name="numpy-unseeded")
def numpy_unseeded(seed: int, draw: Draw) -> list[object]:
    random.seed(seed)
    return draw()


@sv.subject("seeding", name="seed-ignored")
def seed_ignored(seed: int, draw: Draw) -> list[object]:  # noqa: ARG001  that is the fault
    _seed_everything(42)
    return draw()


_DONE: list[int] = []


@sv.subject("seeding", name="seeded-once")
def seeded_once(seed: int, draw: Draw) -> list[object]:
    if not _DONE:
        _seed_everything(seed)
        _DONE.append(seed)
    return draw()


@sv.subject("seeding", name="seed-capped")
def seed_capped(seed: int, draw: Draw) -> list[object]:
    _seed_everything(min(seed, 65_535))
    return draw()
