"""What is changed around an exploration: reads that bypass torch's dispatch, and generators that are not followed."""

from __future__ import annotations

import gc
import importlib.util
import math
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch import Generator, Tensor

from specverify.exact import python_random
from specverify.exact.generators import Places, captured, kept, put_back, recaptured, source_of
from specverify.exact.machine import EAGER, RUNNING, Machine, here, state_of
from specverify.exact.nodes import Opaque, continuous
from specverify.exact.numbers import MATHS, Number, Symbol, followed
from specverify.exact.space import Behind, Hidden, Stop

SEED = 20_261_130
LOOK_AGAIN = 5.0
"""Seconds after which numpy's generators are looked for again: a look at all objects takes 0.2 s."""

_ONE = threading.RLock()
_REAL = {
    name: getattr(Tensor, name)
    for name in ("item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__", "data_ptr", "__dlpack__", "__deepcopy__", "__reduce_ex__")
}
_MANUAL_SEED, _TENSOR, _URANDOM = torch.manual_seed, torch.tensor, os.urandom


@contextmanager
def alone() -> Iterator[None]:
    """One exploration at a time, since what is changed is the whole process's; explorations of other threads wait. The generators are left as they were."""
    with _ONE:
        if RUNNING:
            raise Stop(f"it explores a law inside of an exploration, at {here()}")
        numpy = sys.modules.get("numpy")
        before = (torch.default_generator.get_state(), random.getstate(), numpy.random.get_state() if numpy is not None else None)
        try:
            yield
        finally:
            torch.default_generator.set_state(before[0])
            random.setstate(before[1])
            if numpy is not None:
                numpy.random.set_state(before[2])


@contextmanager
def patched() -> Iterator[None]:
    """Methods of tensors that give plain Python values: what is discrete is decided, a continuous number stays followed, raw memory is refused."""
    others = _others_drawing()
    look()
    _SEEDED.clear()
    changed: list[tuple[Any, str, Any]] = [(Tensor, name, _decided(name)) for name in _REAL]
    changed += [(Tensor, "item", _item), (Tensor, "tolist", _tolist), (Tensor, "__int__", _whole)]
    changed += [(Tensor, "__deepcopy__", _deepcopy), (Tensor, "__reduce_ex__", _decided("__reduce_ex__"))]
    changed += [(math, name, followed(name)) for name in MATHS]
    changed += [(torch, name, _given(getattr(torch, name))) for name in ("from_numpy", "as_tensor")]
    changed += [(torch, "tensor", _tensor), (torch, "manual_seed", _manual_seed), (random, "_urandom", _urandom)]
    with ExitStack() as stack:
        for drawing in others:
            stack.enter_context(drawing())
        for owner, name, new in changed:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, new)
        stack.enter_context(recaptured(_LOOKED[0][2]))
        yield


def _others_drawing() -> list[Callable[[], Any]]:
    """What is changed of `random`, and of numpy where there is one: it is loaded now, since it draws a seed at its first use."""
    if importlib.util.find_spec("numpy") is None:
        return [python_random.drawing]
    from specverify.exact import numpy_random

    return [python_random.drawing, numpy_random.drawing]


@contextmanager
def eagerly() -> Iterator[None]:
    """Compiled functions run as they were written, since nothing can be followed in what torch compiles."""
    stance = getattr(torch.compiler, "set_stance", None) if "torch._dynamo" in sys.modules else None
    before, torch.compile = torch.compile, _uncompiled
    try:
        with stance("force_eager") if stance is not None else nullcontext():
            yield
    finally:
        torch.compile = before


def _uncompiled(model: Any = None, **_: Any) -> Any:
    """torch.compile during an exploration; it would import what draws random numbers of its own."""
    if RUNNING:
        RUNNING[-1].walk.notes.add(f"{EAGER}, at {here()}")
    return (lambda function: function) if model is None else model


def _symbolic(tensor: Any) -> Machine | None:
    """The execution in which a tensor has symbolic elements, or none."""
    machine = RUNNING[-1] if RUNNING else None
    return machine if machine is not None and not machine.paused and machine.memory.symbolic(tensor) else None


def _item(tensor: Tensor) -> Any:
    machine = _symbolic(tensor)
    node = next(machine.nodes(tensor), None) if machine is not None else None
    if isinstance(node, Opaque):
        raise Stop(node.reason)
    if node is not None and continuous(node):
        return Number(tensor.reshape(()).double())
    return _REAL["item"](tensor)


def _tolist(tensor: Tensor) -> Any:
    machine = _symbolic(tensor)
    if machine is not None and machine.decide(tensor):
        return [_tolist(one) for one in tensor] if tensor.dim() else _item(tensor)
    return _REAL["tolist"](tensor)


def _whole(tensor: Tensor) -> int:
    return int(_item(tensor)) if _symbolic(tensor) is not None else _REAL["__int__"](tensor)


def _decided(name: str) -> Callable[..., Any]:
    def method(tensor: Tensor, *arguments: Any, **keywords: Any) -> Any:
        machine = _symbolic(tensor)
        if machine is not None and machine.decide(tensor):
            raise Stop(f"it reads continuous draws through {name}, at {here()}")
        return _REAL[name](tensor, *arguments, **keywords)

    return method


def _deepcopy(tensor: Tensor, memo: dict[int, Any]) -> Any:
    """A copy of a symbolic tensor, through the dispatch, which the genuine one avoids."""
    if _symbolic(tensor) is None:
        return _REAL["__deepcopy__"](tensor, memo)
    return memo.setdefault(id(tensor), tensor.detach().clone().requires_grad_(tensor.requires_grad))


def _tensor(data: Any, *arguments: Any, **keywords: Any) -> Tensor:
    """torch.tensor, of followed numbers too."""
    if isinstance(data, Symbol):
        kind = torch.get_default_dtype() if isinstance(data, Number) else data.tensor.dtype
        return data.tensor.to(keywords.get("dtype") or kind)
    if isinstance(data, (list, tuple)) and any(isinstance(one, Symbol) for one in data):
        return torch.stack([_tensor(one, *arguments, **keywords) for one in data])
    return _TENSOR(data, *arguments, **keywords)


def _given(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """from_numpy and as_tensor, of drawn arrays too."""
    return lambda data, *arguments, **keywords: (_tensor if isinstance(data, Symbol) else real)(data, *arguments, **keywords)


def _manual_seed(seed: Any) -> Generator:
    generator = _MANUAL_SEED(seed)
    if RUNNING:
        RUNNING[-1].states.add(state_of(torch.default_generator))
    return generator


def _urandom(size: int) -> bytes:
    if not RUNNING or RUNNING[-1].paused:
        return _URANDOM(size)
    raise Hidden(f"it takes {size} bytes from the system's randomness, at {here()}")


@contextmanager
def running(machine: Machine, seed: int) -> Iterator[None]:
    """One execution: all generators seeded; draws behind torch's dispatch are refused at its end."""
    if seed not in _SEEDED:
        others_rest()
        _seed(seed)
    torch.default_generator.manual_seed(seed)
    machine.states.add(state_of(torch.default_generator))
    machine.generators[id(torch.default_generator)] = torch.default_generator
    machine.seed = seed
    RUNNING.append(machine)
    try:
        with machine:
            yield
    finally:
        RUNNING.pop()
        followed = put_back(machine)
    if not followed:
        raise Hidden("something that is not followed has moved a generator of random or numpy")
    if any(state_of(generator) not in machine.states for generator in machine.generators.values()):
        raise Hidden("it draws from a generator of torch behind the exploration, in another thread perhaps")


@contextmanager
def others_resting() -> Iterator[None]:
    """Executions that draw through `random` or numpy are refused at the end, whatever else they are refused for."""
    try:
        yield
    except Stop:
        others_rest()
        raise
    others_rest()


def others_rest() -> None:
    """Whether `random` and numpy have drawn nothing since they were seeded: executions leave them as they are, so one look serves for many."""
    for alive, before in _SEEDED.values():
        if _others(alive) != before:
            _SEEDED.clear()
            raise Behind("it draws from a generator of random or numpy behind the exploration")


_SEEDED: dict[int, tuple[list[Any], list[object]]] = {}
"""The seed of the generators that are not torch's; those objects that were alive, and the states of all since: an execution that draws from none leaves them so."""


def unmoved() -> Any:
    """A context after which the generators of numpy and of Python are where they were."""
    return kept(_alive())


def _seed(seed: int) -> tuple[list[Any], list[object]]:
    """Seed them."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    alive = [*_alive()]
    _SEEDED.clear()
    _SEEDED[seed] = (alive, _others(alive))
    return _SEEDED[seed]


def _others(alive: list[Any]) -> list[object]:
    """States of generators that are not torch's: the global ones, and objects of numpy's and of Python's."""
    states: list[object] = [random.getstate(), *map(_told, alive)]
    if "numpy" in sys.modules:
        _, key, place, gauss, cached = sys.modules["numpy"].random.get_state()
        states += [key.tobytes(), place, gauss, cached]
    return states


def _told(generator: Any) -> object:
    return source_of(generator).read()


def look(*, lately: bool = False) -> None:
    """Look for generators and where their methods lie, unless that was done lately; or for generators made lately alone, which is fast."""
    if lately:
        kinds = _kinds()
        found = [one for part in (0, 1) for one in gc.get_objects(generation=part) if type(one) in kinds]
        new = [one for one in found if not any(one is other for other in _alive())]
        if new:
            others_rest()
            _LOOKED[0][1].extend(new)
            _SEEDED.clear()
    elif not _LOOKED or time.monotonic() - _LOOKED[0][0] > LOOK_AGAIN:
        kinds, objects = _kinds(), gc.get_objects()
        _LOOKED[:] = [(time.monotonic(), [one for one in objects if type(one) in kinds], captured(objects, kinds))]


def forget(since: float) -> bool:
    """Look anew the next time, if the last look was before that time; whether it was."""
    if not _LOOKED or _LOOKED[0][0] > since:
        return False
    _LOOKED.clear()
    return True


_LOOKED: list[tuple[float, list[Any], Places]] = []
"""When all objects were looked at, the generators among them, and where their methods lie."""


def _kinds() -> tuple[type, ...]:
    numpy = sys.modules.get("numpy")
    return (random.Random,) if numpy is None else (random.Random, numpy.random.Generator, numpy.random.RandomState)


def _alive() -> list[Any]:
    """The generators of numpy's and of Python's."""
    return _LOOKED[0][1]
