"""A judge of explored laws that shares nothing with the exploration but the draws: it executes a function at every point of a coarse grid."""

import itertools
from collections.abc import Callable

import pytest
import torch

from specverify.exact import numpy_random, python_random, torch_random, watch
from specverify.exact.engine import _Call
from specverify.exact.leaves import frozen
from specverify.exact.space import Box, Finite, Walk

COARSE = 3
"""Bits of a uniform number: 8 points."""


class Odometer(Walk):
    """A walk that stands where a script says; what the script does not reach stands at its first point."""

    def __init__(self, script: list[int]) -> None:
        super().__init__(Box())
        self.script, self.sizes, self.chance = script, [], 1.0

    def meet(self, variable) -> None:
        self.variables[variable.index] = variable
        finite = isinstance(variable, Finite)
        points = sorted(variable.inside) if finite else range(variable.size)
        place = len(self.sizes)
        variable.at = points[self.script[place] if place < len(self.script) else 0]
        self.sizes.append(len(points))
        self.chance *= variable.mass(frozenset((variable.at,)) if finite else (variable.at, variable.at + 1))


@pytest.fixture
def everywhere(coarse: None) -> Callable[..., dict]:
    """The law of a function, from an execution at each point of the space of its draws."""
    return _everywhere


def _everywhere(f: Callable, *args: object) -> dict:
    call, law, script = _Call(f, args, None, frozen, (Exception,)), {}, []
    with watch.patched():
        while True:
            walk = Odometer(script)
            (leaf,) = call.run(walk, watched=False)
            law[leaf.outcome] = law.get(leaf.outcome, 0.0) + walk.chance
            script = [*script, *itertools.repeat(0, len(walk.sizes) - len(script))]
            while script and script[-1] == walk.sizes[len(script) - 1] - 1:
                script.pop()
            if not script:
                return law
            script[-1] += 1


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform numbers of 8 points each."""
    monkeypatch.setattr(torch_random, "BITS", dict.fromkeys((torch.float64, torch.float32), COARSE))
    monkeypatch.setattr(numpy_random, "BITS", dict.fromkeys((torch.float64, torch.float32), COARSE))
    monkeypatch.setattr(python_random, "BITS", COARSE)
    for module in (torch_random, numpy_random):
        monkeypatch.setattr(module, "FINE", COARSE)
