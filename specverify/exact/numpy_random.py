"""numpy's generators as variables: what each method draws, and on which grid; the methods of `Generator` and of `RandomState`, whose global one is behind `numpy.random`."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch

from specverify.exact.chain import Chain
from specverify.exact.forms import bell, even, latest, smooth, waiting
from specverify.exact.generators import Source, follow, fresh, methods, refused, reseeded
from specverify.exact.machine import Machine, current, here
from specverify.exact.numbers import number
from specverify.exact.numpy_arrays import shown, torch_type
from specverify.exact.numpy_functions import arrays
from specverify.exact.race import without_replacement
from specverify.exact.space import Form, Stop

BITS = {torch.float64: 53, torch.float32: 24}
"""Of numpy's uniform numbers, the legacy ones too."""
FINE = 52
"""Bits of the grid behind exponentials, normals and Gumbels, which count as ideal: with half a step more they are neither 0 nor 1."""
MOST = 4096
"""Outcomes of one finite draw."""
SEED_BITS = 32
"""Of a legacy generator's seed."""
Function = Callable[..., Any]


class Draw:
    """One call of a generator's method: the genuine draw, and its numbers replaced."""

    def __init__(self, machine: Machine, generator: Any, genuine: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.machine, self.generator, self.name = machine, generator, genuine.__name__
        self.label = f"numpy's {self.name} at {here()}"
        self._genuine, self._args, self._kwargs = genuine, args, kwargs

    def follow(self, request: Any, make: Function, *, source: Source | None = None, instead: Sequence[Any] = ()) -> tuple[Any, Sequence[Any]]:
        """What it drew, and its variables; `instead` are arguments that stand for the subject's, which must not be changed."""
        genuine = functools.partial(self._genuine, self.generator, *(instead or self._args), **({} if instead else self._kwargs))
        return follow(self.machine, source or Source(_bits(self.generator)), (self.name, str(request)), genuine, make)

    def numbers(self, forms: Callable[[torch.dtype], Sequence[Form] | Form], request: Any, *, dtype: Any = np.float64, source: Source | None = None) -> Any:
        """Continuous ones: `forms` tells their laws, or the one of all."""
        kind = torch_type(np.dtype(dtype))

        def make(drawn: Any) -> Sequence[Chain]:
            mine = forms(kind)
            each = [mine] * np.size(drawn) if isinstance(mine, Form) else mine
            self.machine.walk.idealised |= any(form.family[0] not in {"uniform", "smooth"} for form in each)
            return [Chain(self.machine.grid(f"{self.label} #{i}", form), (), kind) for i, form in enumerate(each)]

        drawn, chains = self.follow((request, kind), make, source=source)
        if not chains:
            return drawn
        values = [chain.base.form.number(chain.base.at) for chain in chains]
        if not isinstance(drawn, np.ndarray):
            return number(self.machine, values[0], chains[0])
        filled = np.array(values, drawn.dtype).reshape(drawn.shape)
        return shown(self.machine, filled, chains) if self.machine.watched else filled

    def choices(self, weights: Sequence[Sequence[float]], request: Any, *, instead: Sequence[Any] = ()) -> tuple[Any, list[int]]:
        """Finite ones, one for each row of weights, decided."""
        make = lambda _: [self.machine.finite(f"{self.label} #{i}", row) for i, row in enumerate(weights)]  # noqa: E731
        drawn, variables = self.follow(request, make, instead=instead)
        return drawn, [self.machine.walk.choose(variable) for variable in variables]


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator._bit_generator


def _filled(drawn: Any, values: Sequence[Any]) -> Any:
    """In the form of what was drawn."""
    if not values:
        return drawn
    return np.array(values, drawn.dtype).reshape(drawn.shape) if isinstance(drawn, np.ndarray) else type(drawn)(values[0])


def _spread(shape: Any, *settings: Any) -> list[tuple[float, ...]]:
    """Parameters of each element."""
    return list(zip(*(np.broadcast_to(np.asarray(one, dtype=float), shape).reshape(-1).tolist() for one in settings), strict=True))


def _uniforms(draw: Draw, low: float, high: float, size: Any, dtype: Any = np.float64) -> Any:
    forms = lambda kind: even(kind, low, high, BITS[kind]) if draw.machine.grids else smooth(kind, low, high, FINE)  # noqa: E731
    return draw.numbers(forms, (low, high, size), dtype=dtype)


def _random(draw: Draw, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    _nowhere(out)
    return _uniforms(draw, 0.0, 1.0, size, dtype)


def _rand(draw: Draw, *shape: Any) -> Any:
    return _uniforms(draw, 0.0, 1.0, shape)


def _uniform(draw: Draw, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    if np.ndim(low) or np.ndim(high):
        raise Stop(f"it draws uniform numbers between bounds of several, at {here()}")
    return _uniforms(draw, float(low), float(high), size)


def _located(draw: Draw, form: Callable[..., Form], settings: Sequence[Any], size: Any, *, source: Source | None = None) -> Any:
    """Ideal numbers with parameters, numbers or arrays."""
    shape = np.broadcast_shapes(*map(np.shape, settings), () if size is None else tuple(np.atleast_1d(size)))
    forms = lambda kind: [form(kind, *one, FINE) for one in _spread(shape, *settings)]  # noqa: E731
    return draw.numbers(forms, ([np.asarray(one).tolist() for one in settings], shape), source=source)


def _exponential(draw: Draw, scale: Any = 1.0, size: Any = None) -> Any:
    return _located(draw, lambda kind, scale, bits: waiting(kind, 1 / scale, bits), (scale,), size)


def _standard_exponential(draw: Draw, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None) -> Any:  # noqa: ARG001
    _nowhere(out)
    return draw.numbers(lambda kind: waiting(kind, 1.0, FINE), size, dtype=dtype)


def _gumbel(draw: Draw, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _located(draw, latest, (loc, scale), size)


def _normal(draw: Draw, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _located(draw, bell, (loc, scale), size, source=_kept_back(draw))


def _standard_normal(draw: Draw, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    _nowhere(out)
    return draw.numbers(lambda kind: bell(kind, 0.0, 1.0, FINE), size, dtype=dtype, source=_kept_back(draw))


def _randn(draw: Draw, *shape: Any) -> Any:
    return draw.numbers(lambda kind: bell(kind, 0.0, 1.0, FINE), shape, source=_kept_back(draw))


def _kept_back(draw: Draw) -> Source:
    """Legacy normals come in pairs, and one of them may have been kept."""
    return Source(_bits(draw.generator) if isinstance(draw.generator, np.random.Generator) else draw.generator)


def _nowhere(out: Any) -> None:
    if out is not None:
        raise Stop(f"it draws into an array of its own, at {here()}")


def _integers(draw: Draw, low: Any, high: Any = None, size: Any = None, dtype: Any = int, endpoint: bool = False) -> Any:  # noqa: FBT001
    if np.ndim(low) or np.ndim(high):
        raise Stop(f"it draws integers between bounds of several, at {here()}")
    first, end = (0, int(low)) if high is None else (int(low), int(high))
    width, count = end + bool(endpoint) - first, _count(size)
    _few(width, "integers")
    drawn, found = draw.choices([(1.0,) * max(width, 1)] * count, (first, width, size, str(dtype)))
    return _filled(drawn, [first + one for one in found])


def _count(size: Any) -> int:
    return 1 if size is None else math.prod(np.atleast_1d(size).tolist())


def _few(outcomes: int, what: str) -> None:
    if outcomes > MOST:
        raise Stop(f"it draws one of {outcomes:,} {what}, at {here()}")


def _choice(draw: Draw, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: int = 0, shuffle: Any = True) -> Any:  # noqa: PLR0917
    """One or several of a population, with or without replacement; numpy draws without by drawing again what was drawn before: Plackett and Luce."""
    n = int(a) if np.ndim(a) == 0 else np.shape(a)[axis]
    row, count = [1.0] * n if p is None else np.asarray(p, dtype=float).tolist(), _count(size)
    request = (n, size, bool(replace), row)
    if replace or count == 1:
        _few(n, "tokens")
        drawn, found = draw.choices([row] * count, request)
    else:
        if not shuffle:
            raise Stop(f"it draws without replacement in an order that is not random, at {here()}")
        drawn, found = _without(draw, row, count, request)
    if np.ndim(a) == 0 or not found:
        return _filled(drawn, found)
    with draw.machine.aside():
        return np.take(np.asarray(a), found[0] if size is None else np.reshape(found, size), axis)


def _without(draw: Draw, row: list[float], count: int, request: Any) -> tuple[Any, list[int]]:
    _few(math.perm(len(row), count), "samples")
    orders = list(itertools.permutations(range(len(row)), count))
    weights = [without_replacement(row, order) for order in orders] or [1.0]
    drawn, found = draw.choices([weights], request)
    return drawn, list(orders[found[0]]) if found else []


def _multinomial(draw: Draw, n: Any, pvals: Any, size: Any = None) -> Any:
    """One of the tokens, marked by 1; the last has what the others leave."""
    if np.ndim(n) or int(n) != 1:
        raise Stop(f"it draws the counts of several tokens, at {here()}")
    table = np.atleast_2d(np.asarray(pvals, dtype=float))
    rows = [[*row[:-1], max(0.0, 1 - math.fsum(row[:-1]))] for row in table.tolist()]
    rows *= _count(size) if np.ndim(pvals) == 1 else 1
    if np.ndim(pvals) > 1 and size is not None:
        raise Stop(f"it draws tokens of several rows with a size, at {here()}")
    drawn, found = draw.choices(rows, (size, rows))
    marks = np.zeros((len(rows), table.shape[1]), drawn.dtype)
    marks[np.arange(len(found)), found] = 1
    return marks.reshape(drawn.shape) if found else drawn


def _permutation(draw: Draw, x: Any, axis: int = 0) -> Any:
    n = int(x) if np.ndim(x) == 0 else np.shape(x)[axis]
    drawn, order = _ordered(draw, n, ())
    if order is None:
        return drawn
    return np.array(order, drawn.dtype) if np.ndim(x) == 0 else np.take(np.asarray(x), order, axis)


def _shuffle(draw: Draw, x: Any, axis: int = 0) -> None:
    """In place, what the genuine method does to a copy."""
    n = np.shape(x)[axis] if isinstance(x, np.ndarray) else len(x)
    _, order = _ordered(draw, n, (list(range(n)),))
    if order is not None:
        x[:] = np.take(x, order, axis) if isinstance(x, np.ndarray) else [x[i] for i in order]


def _ordered(draw: Draw, n: int, instead: Sequence[Any]) -> tuple[Any, list[int] | None]:
    if n > 1:
        _few(math.factorial(min(n, MOST)), "orders")
    orders = list(itertools.permutations(range(n)))
    drawn, found = draw.choices([(1.0,) * len(orders)], n, instead=instead)
    return drawn, list(orders[found[0]]) if found else None


GENERATOR: dict[str, Function] = {
    "random": _random, "uniform": _uniform, "exponential": _exponential, "standard_exponential": _standard_exponential, "gumbel": _gumbel, "normal": _normal,
    "standard_normal": _standard_normal, "integers": _integers, "choice": _choice, "multinomial": _multinomial, "permutation": _permutation, "shuffle": _shuffle,
}  # fmt: skip
LEGACY: dict[str, Function] = {
    **{name: GENERATOR[name] for name in ("uniform", "exponential", "gumbel", "normal", "choice", "multinomial", "permutation", "shuffle")},
    **dict.fromkeys(("random", "random_sample"), lambda draw, size=None: _random(draw, size)),
    "standard_exponential": lambda draw, size=None: _standard_exponential(draw, size), "standard_normal": lambda draw, size=None: _standard_normal(draw, size),
    "rand": _rand, "randn": _randn, "randint": _integers,
}  # fmt: skip
QUIET = frozenset(("bit_generator", "spawn", "get_state", "set_state", "seed"))
"""Draw nothing."""


def _followed(genuine: Function, handler: Function) -> Function:
    @functools.wraps(genuine)
    def method(generator: Any, *args: Any, **kwargs: Any) -> Any:
        machine = current()
        if machine is None:
            return genuine(generator, *args, **kwargs)
        try:
            return handler(Draw(machine, generator, genuine, args, kwargs), *args, **kwargs)
        except Exception as error:
            with machine.aside():
                genuine(generator, *args, **kwargs)  # raises what is wrong with the arguments, if anything is
            raise Stop(f"numpy's {genuine.__name__} is not followed rightly ({type(error).__name__}: {error}), at {here()}") from error

    return method


def _all(kind: type, handlers: dict[str, Function]) -> dict[str, Function]:
    """Methods for a type: those that are followed, and refusals of all others that draw."""
    names = [name for name in dir(kind) if not name.startswith("_") and name not in QUIET]
    return {name: _followed(getattr(kind, name), handlers[name]) if name in handlers else refused(f"numpy's {name}", getattr(kind, name)) for name in names}


_SEED = np.random.RandomState.seed


def _seed(generator: Any, seed: Any = None) -> Any:
    machine = current()
    if machine is None:
        return _SEED(generator, seed)
    given = fresh(machine, SEED_BITS) if seed is None else seed
    return reseeded(machine, Source(_bits(generator)), lambda: _SEED(generator, given))


_RANDBITS = np.random.bit_generator.randbits  # type: ignore[attr-defined]


def _randbits(bits: int) -> int:
    """The system's randomness, of which generators without a seed are made."""
    machine = current()
    return int(_RANDBITS(bits)) if machine is None else fresh(machine, bits)


_BIT_GENERATORS = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937)
MAKERS = {name: arrays(getattr(np, name)) for name in ("array", "asarray", "asanyarray", "ascontiguousarray")}
_KINDS: dict[type, dict[str, Function]] = {
    np.random.Generator: _all(np.random.Generator, GENERATOR),
    np.random.RandomState: {**_all(np.random.RandomState, LEGACY), "seed": _seed},
    np.random.BitGenerator: {"random_raw": refused("numpy's random_raw", np.random.BitGenerator.random_raw)},
    **{kind: {"advance": refused("numpy's advance", vars(kind)["advance"])} for kind in _BIT_GENERATORS if "advance" in vars(kind)},
}


@contextmanager
def drawing() -> Iterator[None]:
    """Numpy's generators as they are followed, and arrays of draws."""
    with ExitStack() as stack:
        stack.callback(setattr, np.random.bit_generator, "randbits", _RANDBITS)
        np.random.bit_generator.randbits = _randbits  # type: ignore[attr-defined]
        for kind, mine in _KINDS.items():
            stack.enter_context(methods(kind, mine))
        for name, maker in MAKERS.items():
            stack.callback(setattr, np, name, getattr(np, name))
            setattr(np, name, maker)
        yield
