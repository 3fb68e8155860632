"""The near-exact law of a subject that takes its coins as an argument, from what it gives for some of them. Runs in the subject's interpreter."""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

from specverify.contracts.arrays import EPS, FLOATS, Array
from specverify.contracts.coins import dtype_of
from specverify.contracts.picks import every
from specverify.law import ExactLaw, Outcome, Path
from specverify.subjects import coins
from specverify.subjects.explore import Once

GRID = 16
"""Points of a coin's range that are tried beside the borders of the theory: calls cost a tenth of a millisecond, and every draft has a law of its own."""
BEHIND = (math.nan, 0.25)
"""What lies behind the coins, in turns: code that reads it gives other outcomes then."""


class Given(Once):
    """Calls whose drafts and coins are given."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.drafts: list[dict[str, object]] = []
        self.numbers: list[float] = []
        self._turns = itertools.cycle(BEHIND)

    def draw(self) -> dict[str, object]:
        """The draft of the next call."""
        return self.drafts[len(self.drawn)]

    def coins(self) -> Any:
        """Its share of all coins."""
        width, place = len(self.numbers) // self.spans, len(self.drawn) - 1
        mine = self.numbers[place * width : (place + 1) * width]
        return coins.given(self.bound.declaration.arrays, self.case, mine, self.bound.device, behind=next(self._turns))

    def own(self, error: BaseException) -> None:
        """Nothing stands in for its numbers here, so every exception is."""

    def law(self, seconds: float, probe: int) -> ExactLaw:
        """Of all drafts together, each with a law of its own."""
        from specverify.exact import NotExact

        end, before = time.monotonic() + seconds, _states()
        ways = every(lambda pick: [self.stream.draw(pick) for _ in range(self.spans)])
        laws = [(chance, drafts, self._law(drafts, end, probe)) for chance, drafts in ways]
        if _states() != before:
            refused = NotExact("It draws from a generator besides its coins.", hint="Declare how it draws.")
            refused.hidden = True
            raise refused
        return _mixed(laws)

    def _law(self, drafts: list[dict[str, object]], end: float, probe: int) -> ExactLaw:
        from specverify.exact import Uniform, inject

        self.drafts, told = drafts, self.bound.contract.coins
        assert told is not None
        bits = coins.BITS[dtype_of(self.case)]
        spec = [Uniform(sorted(told.borders({**self.case, **drawn})), bits) for drawn in drafts for _ in range(told.count(self.case))]
        eps = max([EPS["float32"], *(EPS[value.dtype] for value in self.case.values() if isinstance(value, Array) and value.dtype in FLOATS)])
        seconds = max(0.0, end - time.monotonic())
        return inject(self._outcome, spec, project=lambda outcome: outcome, eps=eps, grid=GRID, probe=probe, max_seconds=seconds, catch=())

    def _outcome(self, numbers: Sequence[float]) -> Outcome:
        self.numbers = list(numbers)
        return self.outcome(self.run())


def _mixed(laws: Sequence[tuple[float, list[dict[str, object]], ExactLaw]]) -> ExactLaw:
    """One law of several, each with its probability. Their outcomes differ, by the drafts in them."""
    masses: dict[Outcome, float] = {}
    paths: dict[Outcome, Path] = {}
    for chance, drafts, law in laws:
        first = tuple((name, _shown(value), chance) for one in drafts[:1] for name, value in one.items())
        masses.update((outcome, chance * mass) for outcome, mass in law.probabilities.items())
        paths.update((outcome, Path(chance * path.mass, first + path.steps)) for outcome, path in law.paths.items())
    left, tolerance = math.fsum(chance * law.open_mass for chance, _, law in laws), max(law.tolerance for _, _, law in laws)
    notes = tuple(sorted({note for _, _, law in laws for note in law.notes}))
    return ExactLaw(masses, left, "near-exact", tolerance, notes, paths, sum(law.runs for _, _, law in laws))


def _shown(value: object) -> str:
    return " ".join(f"{x:g}" for x in value.values) if isinstance(value, Array) else str(value)


def _states() -> list[object]:
    """Of the global generators."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    states: list[object] = [random.getstate()]
    if numpy is not None:
        states.append(repr(numpy.random.get_state(legacy=False)))
    return states if torch is None else [*states, torch.get_rng_state().tolist()]
