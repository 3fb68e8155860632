"""Generators of numpy and of Python: known by their states, like torch's; put back after each execution; their methods replaced while a law is explored.

numpy's generators are types of C that nobody may assign to, so methods are put into the dictionary behind the type: every generator is followed
then, wherever it lies and whenever it was made.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import hashlib
import pickle
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import BuiltinMethodType, CellType, MethodType
from typing import Any

from specverify.exact.machine import RUNNING, Machine, here
from specverify.exact.space import Hidden, Stop

Maker = Callable[..., Any]


class Ours(random.Random):
    """A generator of the exploration's own, whose draws are no part of the law."""


@dataclass(frozen=True)
class Source:
    """A generator that an execution moves.

    Attributes:
        generator: `random.Random`, or a bit generator of numpy's, or its RandomState, which keeps a normal number back.
    """

    generator: Any

    def state(self) -> Any:
        """As it tells it."""
        if isinstance(self.generator, random.Random):
            return self.generator.getstate()
        return self.generator.get_state(legacy=False) if hasattr(self.generator, "get_state") else self.generator.state

    def read(self) -> Hashable:
        """Its state, to be compared: draws of one state are the same numbers."""
        return key_of(self.state())

    def write(self, state: Any) -> None:
        """Put it back."""
        if isinstance(self.generator, random.Random):
            self.generator.setstate(state)
        elif hasattr(self.generator, "set_state"):
            self.generator.set_state(state)
        else:
            self.generator.state = state


def key_of(state: Any) -> Hashable:
    """Equal for equal states: a tuple as it is, dictionaries and arrays as bytes, since as text 624 numbers take 2 ms."""
    return state if isinstance(state, tuple) else pickle.dumps(state)


def meet(machine: Machine, source: Source) -> Hashable:
    """Its state before a draw. Where an execution has met it, nothing but what is followed may have moved it since."""
    state, name = source.state(), id(source.generator)
    key = key_of(state)
    if name not in machine.moved:
        machine.moved[name] = (source, state)
        machine.states.add(key)
    if key not in machine.states:
        raise Hidden(f"something that is not followed has moved a generator, at {here()}")
    return key


def follow(machine: Machine, source: Source, request: Hashable, genuine: Callable[[], Any], make: Callable[[Any], Sequence[Any]]) -> tuple[Any, Sequence[Any]]:
    """Let the genuine method draw, which moves the generator and refuses bad arguments; then say which variables its numbers are.

    Returns:
        What it drew, and the variables; none where it drew nothing.
    """
    before = meet(machine, source)
    with machine.aside():
        drawn = genuine()
        after = source.read()
    machine.states.add(after)
    if after == before:
        return drawn, ()
    with translated(str(request)):
        made = machine.reused(before, request) or make(drawn)
    machine.drawn[before] = (request, made)
    return drawn, made


def reseeded(machine: Machine, source: Source, genuine: Callable[[], Any]) -> Any:
    """Let it be seeded."""
    if hasattr(source.generator, "gauss_next") or not isinstance(source.generator, random.Random):  # a new one has no state yet
        meet(machine, source)
    with machine.aside():
        result = genuine()
        machine.states.add(source.read())
    return result


@contextmanager
def translated(what: str) -> Iterator[None]:
    """An error in here is a fault of ours, and no outcome of the subject."""
    try:
        yield
    except Exception as error:
        raise Stop(f"{what} is not followed rightly ({type(error).__name__}: {error}), at {here()}") from error


def fresh(machine: Machine, bits: int) -> int:
    """In the place of the system's randomness, for a generator without a seed: alike in all executions of one seed, and never twice in one."""
    machine.unseeded += 1
    told = hashlib.shake_128(f"{machine.seed}/{machine.unseeded}".encode()).digest(-(-bits // 8))
    return int.from_bytes(told, "little") & ((1 << bits) - 1)


def put_back(machine: Machine) -> bool:
    """Put the generators back to where the execution found them; whether all that moved them was followed."""
    followed = True
    for source, first in machine.moved.values():
        followed &= source.read() in machine.states
        source.write(first)
    return followed


@contextmanager
def kept(generators: Sequence[Any]) -> Iterator[None]:
    """What moves them inside is undone."""
    before = [(source, source.state()) for source in map(source_of, generators)]
    try:
        yield
    finally:
        for source, state in before:
            source.write(state)


def source_of(generator: Any) -> Source:
    """Of any of numpy's or Python's generators."""
    return Source(getattr(generator, "bit_generator", generator))


@contextmanager
def methods(kind: type, new: Mapping[str, Any]) -> Iterator[None]:
    """Other methods for a type; Python forgets what it remembers of the type and of those derived from it."""
    match gc.get_referents(kind.__dict__):
        case [dict() as space]:
            pass
        case _:
            raise Stop(f"this Python keeps the methods of {kind.__name__} where they cannot be replaced")
    before = {name: space.get(name) for name in new}
    try:
        space.update(new)
        _forget(kind)
        yield
    finally:
        space.update({name: old for name, old in before.items() if old is not None})
        for name in [name for name, old in before.items() if old is None]:
            del space[name]
        _forget(kind)


def _forget(kind: type) -> None:
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


Places = list[tuple[Any, Any, Any]]
"""Where a bound method lies: a dict or list with the key, or a cell or none; and the method."""


def captured(objects: Sequence[Any], kinds: Sequence[type]) -> Places:
    """Names and other places that hold a method bound to a generator, as `from random import random` leaves them."""
    methods = [one for one in objects if type(one) in {MethodType, BuiltinMethodType} and type(one.__self__) in kinds]
    bound = [one for one in methods if hasattr(one.__self__, one.__name__)]  # one of ours may be left from a law before, in a traceback
    names = {id(one) for one in bound}
    holders = [one for one in gc.get_referrers(*bound) if one is not bound and one is not methods and one is not objects] if bound else []
    found: Places = []
    for holder in holders:
        if isinstance(holder, CellType):
            found.append((holder, None, holder.cell_contents))
        else:
            inside = holder if isinstance(holder, (dict, list)) else getattr(holder, "__dict__", None)
            entries = inside.items() if isinstance(inside, dict) else enumerate(inside) if isinstance(inside, list) else ()
            found += [(inside, key, one) for key, one in entries if id(one) in names]
    return found


@contextmanager
def recaptured(places: Places) -> Iterator[None]:
    """In these places, the methods that the generators have now."""
    mine = [(holder, key, old) for holder, key, old in places if _held(holder, key) is old]
    try:
        for holder, key, old in mine:
            _hold(holder, key, getattr(old.__self__, old.__name__))
        yield
    finally:
        for holder, key, old in mine:
            _hold(holder, key, old)


def _held(holder: Any, key: Any) -> Any:
    try:
        return holder.cell_contents if isinstance(holder, CellType) else holder[key]
    except (ValueError, KeyError, IndexError):
        return None


def _hold(holder: Any, key: Any, one: Any) -> None:
    if isinstance(holder, CellType):
        holder.cell_contents = one
    else:
        holder[key] = one


def refused(name: str, genuine: Callable[..., Any]) -> Callable[..., Any]:
    """A method that draws in a way without a model."""

    @functools.wraps(genuine)
    def method(*arguments: Any, **keywords: Any) -> Any:
        if RUNNING and not RUNNING[-1].paused:
            raise Stop(f"it draws through {name}, which is not modelled, at {here()}")
        return genuine(*arguments, **keywords)

    return method
