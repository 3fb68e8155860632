"""The law of a function: executions from box to box, until nothing is open."""

from __future__ import annotations

import copy
import heapq
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specverify.exact import triton, watch
from specverify.exact.generators import Ours
from specverify.exact.leaves import Leaf, frozen, leaves
from specverify.exact.machine import RUNNING, Machine
from specverify.exact.space import Behind, Box, Hidden, NotExact, Outcomes, Stop, Unfinished, Walk
from specverify.exact.torch_ops import HANDLERS
from specverify.exact.torch_random import DRAWS
from specverify.law import ExactLaw, Outcome, Path

SMALLEST = 2.0**-54
"""Mass of a box below which it stays open: one draw of a double at a bound has 2^-53."""
ROUNDINGS = 8
"""Times the relative rounding of the coarsest dtype that one decision may be off by."""
SINGLE = torch.finfo(torch.float32).eps
"""Granted at least: what is computed before a draw is not watched, and rows of probabilities come in single precision, as do their sums."""
SYMBOLIC = re.compile(r"\bNumber'|\bof (type )?Number\b|\bDrawnArray\b")
"""In the text of an error: Python or a library found a stand-in where it wants a plain number."""
_PROBES = Ours(watch.SEED)


@dataclass(frozen=True)
class _Limits:
    """Where an exploration ends with bounds: executions, a time of the clock, the mass of a box."""

    runs: int
    end: float
    mass: float

    def walk(self, box: Box) -> Walk:
        """An execution within the limits."""
        return Walk(box, self.mass, self.end)


@dataclass
class _Found:
    """What was explored so far."""

    masses: dict[Outcome, list[float]] = field(default_factory=dict)
    paths: dict[Outcome, Path] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)
    open: list[float] = field(default_factory=list)
    runs: int = 0
    cuts: int = 0
    coarse: float = 0.0
    integrated: bool = False
    idealised: bool = False


def exact_law(  # noqa: PLR0913
    f: Callable[..., Any],
    *args: Any,
    setup: Callable[[], Sequence[Any]] | None = None,
    grid: bool = True,
    project: Callable[[Any], Outcome] | None = None,
    catch: tuple[type[BaseException], ...] = (Exception,),
    max_runs: int = 20_000,
    max_seconds: float = 30.0,
    min_path: float = SMALLEST,
    probe: int = 2,
) -> ExactLaw:
    """The exact law of what a function returns, over all random choices that it makes through torch, numpy and `random`.

    Args:
        f: any function; its arguments are copied for every execution. Draws count as random whatever their generator was seeded with: a
            function that seeds with a constant has the law that it would have over all seeds, and a note where it draws the same numbers twice.
        *args: handed to it.
        setup: makes the arguments instead, once per execution.
        grid: uniform numbers as the generator draws them, multiples of 2^-24 in single precision, 0 among them; false for real numbers, which are never 0.
        project: from what it returns to an outcome; tensors, arrays, lists and dicts become nested tuples by default.
        catch: exceptions that are outcomes, ("raised", TypeName).
        max_runs: executions after which the rest stays open.
        max_seconds: time after which the rest stays open.
        min_path: mass of a set of choices below which it stays open.
        probe: random points at which each explored set is executed again, without shadows; the outcome must be the same.

    Returns:
        The law, with the mass that stays open, a path for each outcome, and the tolerance that rounding allows.

    Raises:
        NotExact: the function draws in a way that is not followed, reads a continuous number, or decides by something else than its draws.
    """
    call = _Call(f, args, setup, project or frozen, catch, grid)
    limits = _Limits(max_runs, time.monotonic() + max_seconds, min_path)
    try:
        return _law(_explored(call, limits, probe))
    except Stop as stop:
        if RUNNING:
            raise
        refused = NotExact(f"The law cannot be explored exactly: {stop.reason}.", hint="Its samples can still be tested.")
        refused.hidden = stop.hidden
        raise refused from None


@contextmanager
def real() -> Iterator[None]:
    """Draws that are not part of the law: inside, torch runs as it is."""
    if not RUNNING:
        yield
        return
    with RUNNING[-1].aside(), watch.unmoved():
        yield


def choose(weights: Sequence[float], label: str) -> int:
    """One index with these weights, as a choice of its own in the law that is being explored: for what surrounds a function, such as drafts."""
    machine = RUNNING[-1]
    variable = machine.finite(label, weights)
    return machine.walk.choose(variable)


@dataclass(frozen=True)
class _Call:
    """The function with everything that one execution needs."""

    function: Callable[..., Any]
    args: Sequence[Any]
    setup: Callable[[], Sequence[Any]] | None
    project: Callable[[Any], Outcome]
    catch: tuple[type[BaseException], ...]
    grids: bool = True

    def run(self, walk: Walk, *, watched: bool = True, seed: int = watch.SEED) -> list[Leaf]:
        """Execute once; the leaves are the outcomes that the box ends in."""
        machine = Machine(walk, HANDLERS, DRAWS, watched=watched, grids=self.grids)
        args = _copied(self.args)
        Stop.raised.clear()
        with watch.running(machine, seed):
            ends = self._outcomes(machine, args)
        if Stop.raised:
            raise Stop.raised[0]
        return ends

    def _outcomes(self, machine: Machine, args: Sequence[Any]) -> list[Leaf]:
        try:
            result = self.function(*(self.setup() if self.setup is not None else args))
        except Stop:
            raise
        except self.catch as error:
            own(error)
            return [Leaf(1.0, {}, ("raised", type(error).__name__))]
        return leaves(machine, result, self.project)


def own(error: BaseException) -> None:
    """Nothing, if an exception is the function's own.

    Raises:
        Stop: it comes of how the function is executed here.
    """
    if type(error).__module__.startswith("torch._dynamo"):
        raise Stop(f"torch cannot compile it under an exploration ({type(error).__name__})") from error
    if SYMBOLIC.search(str(error)):
        raise Stop("it uses a continuous random number where only a plain one fits") from error


def _copied(args: Sequence[Any]) -> list[Any]:
    """Copies of all arguments; what is in two places, such as one generator, stays one."""
    known: dict[int, Any] = {}
    for one in _inside(args):
        known[id(one)] = _twin(one)
    try:
        return copy.deepcopy(list(args), known)
    except Exception as error:
        raise Stop(f"its arguments cannot be copied ({type(error).__name__}: {error}); `setup` can make them") from error


def _inside(one: Any) -> Iterator[Tensor | torch.Generator]:
    """The tensors and generators in nested lists and dicts."""
    if isinstance(one, (Tensor, torch.Generator)):
        yield one
    elif isinstance(one, (list, tuple, dict)):
        for part in one.values() if isinstance(one, dict) else one:
            yield from _inside(part)


def _twin(one: Tensor | torch.Generator) -> Any:
    if isinstance(one, torch.Generator):
        return torch.Generator(one.device).set_state(one.get_state())
    return one.detach().clone().requires_grad_(one.requires_grad)


def _explored(call: _Call, limits: _Limits, probe: int) -> _Found:
    """Everything; once more where a method of a generator was not found because it was put somewhere since that was looked for."""
    start = time.monotonic()
    try:
        return _explored_once(call, limits, probe)
    except Behind:
        if not watch.forget(start):
            raise
        return _explored_once(call, limits, probe)


def _explored_once(call: _Call, limits: _Limits, probe: int) -> _Found:
    found = _Found()
    with watch.alone(), watch.patched(), watch.eagerly(), triton.followed(), watch.others_resting():
        _explore_all(call, limits, found, probe)
    return found


def _explore_all(call: _Call, limits: _Limits, found: _Found, probe: int) -> None:
    """From box to box, the heaviest first; the first execution twice, under two seeds: whatever is not a followed draw must not matter."""
    heap: list[tuple[float, int, Box]] = [(-1.0, 0, Box())]
    counter = itertools.count(1)
    while heap:
        mass, number, box = heapq.heappop(heap)
        if -mass < limits.mass or found.runs >= limits.runs or time.monotonic() > limits.end:
            found.open.append(-mass)
            continue
        walk = limits.walk(box)
        ends = _ends(call, walk)
        if number == 0:
            _check(call, limits, walk, ends)
        _keep(call, walk, ends, found, probe)
        for other in walk.cut_off:
            heapq.heappush(heap, (-other.mass, next(counter), other))


def _ends(call: _Call, walk: Walk, seed: int = watch.SEED) -> list[Leaf]:
    """What one execution ends in; nothing, if it was cut short."""
    try:
        return call.run(walk, seed=seed)
    except Unfinished:
        return []


def _check(call: _Call, limits: _Limits, walk: Walk, ends: Sequence[Leaf]) -> None:
    """The same execution under another seed."""
    watch.look(lately=True)
    other = limits.walk(Box())
    again = _ends(call, other, watch.SEED + 1)
    watch.look(lately=True)
    told = [repr(([(leaf.mass, leaf.outcome) for leaf in there], one.inside, one.labels())) for one, there in ((walk, ends), (other, again))]
    if ends and again and told[0] != told[1]:
        raise Hidden("two executions with the same draws differ: a hidden state, or a source of randomness that is not followed")


def _keep(call: _Call, walk: Walk, ends: Sequence[Leaf], found: _Found, probe: int) -> None:
    found.runs += 1
    if not ends:
        found.open.append(walk.mass)
        return
    found.cuts = max(found.cuts, len({*walk.inside, *ends[0].inside}))  # every leaf cuts the same variables
    found.coarse = max(found.coarse, walk.coarse)
    found.notes |= walk.notes
    found.integrated |= walk.integrated
    found.idealised |= walk.idealised
    for leaf in ends:
        mass = walk.mass * leaf.mass
        found.masses.setdefault(leaf.outcome, []).append(mass)
        best = found.paths.get(leaf.outcome)
        if best is None or best.mass < mass:
            found.paths[leaf.outcome] = _path(walk, leaf, mass)
    likely = [leaf for leaf in ends if walk.mass * leaf.mass >= SMALLEST]
    for number in range(probe if likely else 0):
        _replay(call, walk, likely[number % len(likely)])


def _path(walk: Walk, leaf: Leaf, mass: float) -> Path:
    parts: dict[int, Outcomes] = {**walk.inside, **leaf.inside}
    steps = tuple((walk.variables[index].label, walk.variables[index].told(part), walk.variables[index].mass(part)) for index, part in sorted(parts.items()))
    return Path(mass, steps)


def _replay(call: _Call, walk: Walk, leaf: Leaf) -> None:
    """Execute at a random point of the explored set, without shadows: the outcome must be the one that was told."""
    parts = {**walk.inside, **leaf.inside}
    points = walk.scattered(parts, _PROBES)
    again = Walk(Box(1.0, {}, points, walk.labels()))
    (seen,) = call.run(again, watched=False)
    if seen.outcome != leaf.outcome:
        stop = Stop if walk.idealised else Hidden  # ideal numbers win where rounded ones tie
        raise stop("a replay gives another outcome than was explored: it reads its draws in a way that is not followed, or something else too")


def _law(found: _Found) -> ExactLaw:
    masses = {outcome: sum(sorted(parts)) for outcome, parts in found.masses.items()}
    left = sum(found.open)
    kind = "bounds" if left > SMALLEST * 16 else "exact to 1e-12" if found.integrated else "exact"
    tolerance = found.cuts * (2.0**-24 + ROUNDINGS * max(found.coarse, SINGLE))
    return ExactLaw(masses, left, kind, tolerance, tuple(sorted(found.notes)), found.paths, found.runs, found.idealised)
