"""Near-exact laws of opaque code that takes its draws as arguments: C, Rust, CUDA, Triton, numpy. Nothing is watched; it is asked, many times.

Draw by draw, in order, the range of each is cut into pieces on which the code does the same (`coordinates`), whatever completes it: some fixed
completions by later draws stand for all. At the end random points of every cell are asked; where one differs, it is a completion more, and the
cells are cut anew (`cells`). The standard library alone; numpy where rows are handed over.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from specverify.errors import SpecverifyError
from specverify.exact.asking import Asked, Limits, Rows, Singly
from specverify.exact.cells import Cell, Cut, Space
from specverify.exact.coordinates import Draw, Fineness, Uniform
from specverify.law import ExactLaw, Outcome, Path

SUMS = 1e-9
"""Total variation granted beside rounding: what the ratios of a race leave, and pieces too thin for a random point."""
ROUNDINGS = 8
"""Times the relative rounding of the code's arithmetic that one border may be off by, as in an exact law."""
FAN = 63
"""Points between two neighbours that differ, in one launch: six bits of a border each."""
BREADTH = 256
"""Cells cut in one launch."""


def inject(  # noqa: PLR0913
    f: Callable[[list[Any]], Any],
    spec: Sequence[Draw],
    *,
    project: Callable[[Any], Outcome] | None = None,
    eps: float = 2.0**-52,
    grid: int = 64,
    probe: int = 2,
    max_calls: int = 200_000,
    max_seconds: float = 30.0,
    catch: tuple[type[BaseException], ...] = (Exception,),
) -> ExactLaw:
    """The near-exact law of code that takes its draws as an argument.

    Args:
        f: called with a list of its draws in order: a float for a uniform number, an int for a categorical one, a list of floats for a row.
        spec: the law of each draw: `Uniform`, `Categorical`, `Exponential`, `Gumbel`.
        project: from what f returns to an outcome; arrays and lists become nested tuples by default.
        eps: relative rounding of the arithmetic that f decides in, for `law.tolerance`.
        grid: points tried of each uniform number; a piece thinner than 1/grid, with the same outcome on both sides, can be missed
            unless it lies between two thresholds.
        probe: random points asked of each cell at the end; the outcome must be the cell's.
        max_calls: calls after which the rest stays open.
        max_seconds: time after which the rest stays open.
        catch: exceptions that are outcomes, ("raised", TypeName).

    Returns:
        A law of kind "near-exact"; its notes tell draws that are never read, or that decide more than one place of the outcome.

    Raises:
        NotExact: the same draws give other outcomes (then `hidden` is true), a row is no race, or borders depend on other draws.
    """
    asked = Singly(f, _checked(spec), project, catch, Limits(max_calls, time.monotonic() + max_seconds))
    return _law(asked, Space(asked, Fineness(grid, 1), probe, 1).cut(), grid, eps)


def inject_rows(  # noqa: PLR0913
    f: Callable[[Any], Any],
    spec: Sequence[Draw],
    *,
    project: Callable[[Any], Outcome] | None = None,
    eps: float = 2.0**-52,
    grid: int = 64,
    probe: int = 2,
    max_calls: int = 20_000_000,
    max_seconds: float = 30.0,
    catch: tuple[type[BaseException], ...] = (Exception,),
) -> ExactLaw:
    """The same for code that takes many draws at once, so that a law costs a few dozen launches on any device.

    Args:
        f: called with a numpy array (N, n), float64 and contiguous, a row of n numbers for each outcome that is wanted; a row of V numbers takes V
            columns. It returns N outcomes: a list, or an array whose first axis is N. Behind the last row lie numbers that it must not read.
        spec: as in `inject`.
        project: from one of the N to an outcome.
        eps: as in `inject`.
        grid: as in `inject`.
        probe: as in `inject`.
        max_calls: rows after which the rest stays open.
        max_seconds: as in `inject`.
        catch: as in `inject`; a launch that raises is asked again in halves.

    Returns:
        The law; `law.runs` counts launches.

    Raises:
        NotExact: as in `inject`; what depends on the other rows of a launch, or on what lies behind them, is a hidden state.
    """
    asked = Rows(f, _checked(spec), project, catch, Limits(max_calls, time.monotonic() + max_seconds))
    return _law(asked, Space(asked, Fineness(grid, FAN), probe, BREADTH).cut(), grid, eps)


def _checked(spec: Sequence[Draw]) -> Sequence[Draw]:
    if not spec:
        raise SpecverifyError("There is no draw to inject.", hint="Give the law of each draw, such as Uniform().")
    return spec


def _law(asked: Asked, cut: Cut, grid: int, eps: float) -> ExactLaw:
    masses: dict[Outcome, list[float]] = {}
    heaviest: dict[Outcome, Cell] = {}
    for cell in cut.cells:
        masses.setdefault(cell.outcome, []).append(cell.mass)
        if cell.outcome not in heaviest or heaviest[cell.outcome].mass < cell.mass:
            heaviest[cell.outcome] = cell
    decided = [one for draw, one in enumerate(asked.spec) if cut.most.get(draw, 0) > 1]
    tolerance = SUMS + math.fsum(2.0**-one.bits + ROUNDINGS * eps for one in decided)
    return ExactLaw(
        {outcome: math.fsum(parts) for outcome, parts in masses.items()}, math.fsum(cut.open), "near-exact", tolerance, _notes(asked, cut, grid),
        {outcome: _path(asked.spec, cell) for outcome, cell in heaviest.items()}, asked.launches, any(one.ideal for one in decided),
    )  # fmt: skip


def _path(spec: Sequence[Draw], cell: Cell) -> Path:
    told = [(f"{one.name} #{draw}", piece.told, piece.mass) for draw, (one, piece) in enumerate(zip(spec, cell.pieces, strict=True))]
    return Path(cell.mass, tuple(step for step in told if step[2] < 1))


def _notes(asked: Asked, cut: Cut, grid: int) -> tuple[str, ...]:
    """What the law cannot show, and what is odd about how the draws are used."""
    names = [f"{one.name} #{draw}" for draw, one in enumerate(asked.spec)]
    notes = []
    if any(isinstance(one, Uniform) for one in asked.spec):
        notes.append(f"pieces of a uniform number thinner than 1/{grid} can be missed where the same comes out on both sides, unless thresholds bound them")
    if cut.open:
        notes.append(f"after {asked.limits.spent:,} calls a mass of {math.fsum(cut.open):.2g} stays open")
    else:
        notes += [f"{names[draw]} is never read" for draw, most in sorted(cut.most.items()) if most == 1]
    for draw, places in sorted(cut.places.items()):
        notes.append(f"{names[draw]} decides places {' and '.join(_shown(places))} of the outcome: it is read for more than one decision")
    return tuple(notes)


def _shown(places: set[tuple[int, ...]]) -> list[str]:
    """Places without the indices that they begin with alike."""
    alike = sum(1 for _ in itertools.takewhile(lambda several: len(set(several)) == 1, zip(*places, strict=False)))
    return [".".join(map(str, place[alike:])) or "0" for place in sorted(places)]
