"""One execution under watch: every operation of torch passes here, runs as it is, and leaves its mark in shadow memory."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from specverify.exact.memory import Memory
from specverify.exact.nodes import Node, Opaque, continuous, settle
from specverify.exact.space import Finite, Form, Grid, Stop, Walk

RANDOM, VIEW, PLAIN, OTHER = range(4)
NO_DATA = frozenset(
    ("zeros_like", "ones_like", "empty_like", "full_like", "new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided", "sym_size", "sym_stride", "sym_numel")
)  # fmt: skip
"""Operations that look at the form of a tensor and not into it."""
Handler = Callable[["Machine", Any, tuple[Any, ...], Mapping[str, Any]], Any]


class Machine(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs operations, and keeps the shadows true.

    Args:
        walk: the execution that it belongs to.
        handlers: by name of the operation (without the trailing underscore of an in-place one), what it does to shadows.
        draws: by name, the random operations.
        watched: false for a replay, which puts the draws in place and casts no shadow.
        grids: whether uniform numbers lie on the grid of torch's generator; real numbers otherwise.
    """

    def __init__(self, walk: Walk, handlers: Mapping[str, Handler], draws: Mapping[str, Handler], *, watched: bool = True, grids: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.walk, self.memory, self.watched, self.grids = walk, Memory(), watched, grids
        self._handlers, self._draws = handlers, draws
        self.drawn: dict[Hashable, tuple[object, Any]] = {}
        self.states: set[Hashable] = set()
        self.generators: dict[int, Any] = {}
        self.moved: dict[int, tuple[Any, Hashable]] = {}
        self.seed = self.unseeded = 0
        self.thread, self.paused = threading.get_ident(), 0
        self._genuine: Exception | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; torch's guard against it would triple the time of every operation."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Run one operation."""
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        kind = _kind(func)
        if kind != RANDOM and (kind != OTHER or not self.watched or not any(self.memory.known(one) for one in tensors(args, kwargs))):
            return func(*args, **kwargs)
        try:
            return (self._random if kind == RANDOM else self._shadowed)(func, args, kwargs)
        except Exception as error:
            if error is self._genuine:
                raise
            raise Stop(f"{func} is not followed rightly ({type(error).__name__}: {error}), at {here()}") from error

    def run(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The operation itself; what it raises is the subject's, what else is raised here is a fault of ours."""
        try:
            return func(*args, **kwargs)
        except Exception as error:
            self._genuine = error
            raise

    def _random(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        name = name_of(func)
        if compiled():
            self.walk.notes.add(f"{EAGER}, at {here()}")
        if name in self._draws:
            return self._draws[name](self, func, args, kwargs)
        if not _drops(func, args, kwargs):
            return self._shadowed(func, args, kwargs) if self.watched else self.run(func, args, kwargs)
        raise Stop(f"it draws through {func}, which is not modelled, at {here()}")

    def _shadowed(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if not any(self.memory.symbolic(one) for one in tensors(args, kwargs)) and not _writes(func):
            return self.run(func, args, kwargs)
        name = name_of(func)
        if name in self._handlers:
            return self._handlers[name](self, func, args, kwargs)
        if torch.Tag.pointwise in func.tags and str(func._schema.returns[0].type) == "Tensor":
            return self._handlers["pointwise"](self, func, args, kwargs)
        return self.unknown(func, args, kwargs)

    def unknown(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """An operation that is not followed: discrete elements are decided first, which is always right; continuous ones make its result opaque."""
        opaque = self.decide(*tensors(args, kwargs))
        result = self.run(func, args, kwargs)
        node = Opaque(f"it reads what {func} made of continuous draws, at {here()}") if opaque else None
        outputs = [one for one in tensors((result, _written(func, args, kwargs)), {}) if one.numel()]
        if opaque and not outputs:
            raise Stop(f"{func} reads continuous draws, at {here()}")
        for one in outputs:
            self.memory.write(one, [node] * one.numel())
        return result

    def grid(self, label: str, form: Form) -> Grid:
        """A new number on a grid."""
        variable = Grid(self.walk.next_draw(), label, form)
        self.walk.meet(variable)
        return variable

    def finite(self, label: str, weights: Sequence[float]) -> Finite:
        """A new choice among finitely many outcomes."""
        variable = Finite(self.walk.next_draw(), label, tuple(weights))
        self.walk.meet(variable)
        return variable

    def enter(self, race: Finite) -> Finite:
        """A choice among draws, told to each of them."""
        self.walk.idealised = True
        self.walk.meet(race)
        for member in race.members:
            member.races.append(race)
        return race

    def reused(self, state: Hashable, signature: object) -> Any:
        """What the same request gave from the same state of a generator before, or none."""
        if state not in self.drawn:
            return None
        before, nodes = self.drawn[state]
        if before != signature:
            raise Stop(f"it draws twice from one state of a generator, and not the same, at {here()}")
        self.walk.notes.add(f"the same random numbers are used twice, at {here()}")
        return nodes

    def decide(self, *given: Tensor) -> bool:
        """Settle every discrete element; whether continuous ones are left."""
        left = False
        for node in self.nodes(*given):
            if continuous(node):
                left = True
            else:
                settle(self.walk, node)
        return left

    def nodes(self, *given: Tensor) -> Iterator[Node]:
        """The symbolic elements of tensors, in order."""
        for tensor in given:
            yield from (node for node in self.memory.elements(tensor) if node is not None)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Inside, operations are the engine's own: none is watched."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1

    def mark(self, result: Tensor, nodes: Sequence[Node | None]) -> Tensor:
        """Put nodes beside the elements of a result."""
        self.memory.write(result, nodes)
        return result


RUNNING: list[Machine] = []
"""Executions under way, innermost last."""


def current() -> Machine | None:
    """The execution under way; none outside, and where its draws are not part of the law."""
    machine = RUNNING[-1] if RUNNING else None
    if machine is None or machine.paused:
        return None
    if threading.get_ident() != machine.thread:
        raise Stop(f"it draws in another thread, at {here()}")
    return machine


def _drops(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether an operation with the tag of random ones draws: fused attention without dropout does not."""
    given = bound(func, args, kwargs)
    return not ("dropout_p" in given and not given["dropout_p"])


_KINDS: dict[Any, int] = {}


def _kind(func: Any) -> int:
    if func not in _KINDS:
        returns = func._schema.returns
        alias = returns[0].alias_info if returns else None
        if torch.Tag.nondeterministic_seeded in func.tags:
            kind = RANDOM
        elif (alias is not None and not alias.is_write) or (torch.Tag.inplace_view in func.tags and name_of(func) != "resize"):
            kind = VIEW
        elif name_of(func) in NO_DATA:
            kind = PLAIN
        else:
            kind = OTHER
        _KINDS[func] = kind
    return _KINDS[func]


def _writes(func: Any) -> bool:
    return bool(func._schema.is_mutable)


def _written(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments that an operation writes into; some of these operations return nothing."""
    given = bound(func, args, kwargs)
    return [given.get(one.name) for one in func._schema.arguments if one.alias_info is not None and one.alias_info.is_write]


@functools.cache
def name_of(func: Any) -> str:
    """The operation's name without namespace, overload and the underscore of the in-place form."""
    name: str = func._schema.name.partition("::")[2]
    return name.rstrip("_") if not name.startswith("__") else name


@functools.cache
def pure(func: Any) -> Any:
    """The form of an operation that writes into nothing."""
    name = func._schema.name.partition("::")[2]
    if not func._schema.is_mutable:
        return func
    packet = getattr(getattr(torch.ops, func.namespace), name.rstrip("_"))
    overload = func._overloadname
    return getattr(packet, overload) if overload in packet.overloads() and not overload.endswith("out") else packet


def bound(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name, defaults included."""
    names, defaults = _parameters(func)
    return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


@functools.cache
def _parameters(func: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    arguments = func._schema.arguments
    return tuple(one.name for one in arguments), {one.name: one.default_value for one in arguments if one.has_default_value()}


def state_of(generator: Any) -> bytes:
    """A generator's state: draws of one state are the same numbers."""
    return bytes(generator.get_state().numpy().tobytes())


def tensors(args: Any, kwargs: Mapping[str, Any]) -> list[Tensor]:
    """All tensors among arguments, those in lists too."""
    found: list[Tensor] = []
    for one in (*args, *kwargs.values()):
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, (list, tuple)):
            found.extend(tensors(one, {}))
    return found


_PACKAGE, _NUMPY = Path(__file__).parent.parent, importlib.util.find_spec("numpy")
OURS = tuple(
    str(one) for one in (_PACKAGE / "exact", _PACKAGE / "subjects", Path(torch.__file__).parent, *(_NUMPY.submodule_search_locations or () if _NUMPY else ()))
)
LIBRARY = str(Path(contextlib.__file__).parent)
"""Where no line of a subject stands: the engine, torch and numpy; the standard library, beside whose files packages may lie."""


def here() -> str:
    """File and line of the subject's own code that is running."""
    frame = sys._getframe(1)
    while frame is not None and _ours(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


EAGER = "a function that torch would compile was explored as it runs eagerly"


def compiled() -> bool:
    """Whether a function that torch would compile is running."""
    file = getattr(sys.modules.get("torch._dynamo.eval_frame"), "__file__", None)
    frame = sys._getframe(1) if file is not None else None
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return frame is not None


@functools.cache
def _ours(file: str) -> bool:
    if "triton" in sys.modules and file.startswith(str(Path(str(sys.modules["triton"].__file__)).parent)):
        return True
    return file.startswith((*OURS, "<")) or (file.startswith(LIBRARY) and "-packages" not in file)
