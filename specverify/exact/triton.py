"""Triton kernels in Triton's interpreter: loads, stores, reductions and draws followed. An extra; only the versions that were tested.

The interpreter computes with numpy arrays and copies of memory by address. Blocks take the arrays' place where elements are symbolic
(`block`), addresses are led back to the storages of the kernel's arguments (`triton_memory`), and the counter-based generator's numbers
become draws (`triton_random`). Private names of the interpreter are replaced, hence the versions. Replays run the genuine kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from specverify.exact.machine import RUNNING, Machine, here, tensors
from specverify.exact.space import Stop

TESTED = ("3.9.0",)
"""Releases whose private names are known; others are refused."""

_RANDOM = "triton.language.random"
Function = Callable[..., Any]


@contextmanager
def followed() -> Iterator[None]:
    """Kernels launched inside are followed; nothing happens where Triton is not loaded."""
    if _RANDOM not in sys.modules:
        yield
        if _RANDOM in sys.modules:
            raise Stop("it loads Triton while it is explored; import Triton before")
        return
    changed = list(_changes())
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in changed]
    try:
        for owner, name, new in changed:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, old in reversed(before):
            setattr(owner, name, old)


def _changes() -> Iterator[tuple[Any, str, Any]]:
    """What is replaced: owner, name, and by what."""
    from triton.runtime import interpreter, jit

    yield jit.JITFunction, "run", _refusing(jit.JITFunction.run, "it launches a compiled Triton kernel; set TRITON_INTERPRET=1 before Triton is imported")
    version = str(sys.modules["triton"].__version__)
    if version in TESTED:
        yield from _inside(interpreter)
    else:
        reason = f"it launches a kernel of Triton {version}, whose interpreter is not followed; {', '.join(TESTED)} is"
        yield interpreter.InterpretedFunction, "run", _refusing(interpreter.InterpretedFunction.run, reason)


def _inside(interpreter: Any) -> Iterator[tuple[Any, str, Any]]:
    """What is replaced of the interpreter."""
    from specverify.exact import triton_memory

    builder, reductions = interpreter.InterpreterBuilder, interpreter.ReduceScanOpInterface
    mine: dict[str, Function] = {
        "create_masked_load": triton_memory.load,
        "create_masked_store": triton_memory.store,
        "create_splat": _splat,
        "create_unsplat": _unsplat,
    }
    for name, new in {**mine, "create_atomic_rmw": triton_memory.atomic, "create_atomic_cas": triton_memory.atomic}.items():
        yield builder, name, _instead(getattr(builder, name), new, replays=False)
    yield builder, "unary_op", _instead(builder.unary_op, _unary)
    yield reductions, "to_tensor", _instead(reductions.to_tensor, _to_tensor, replays=False)
    yield interpreter.GridExecutor, "__call__", _instead(interpreter.GridExecutor.__call__, _launched)
    yield interpreter.GridExecutor, "_restore_args_dev", _instead(interpreter.GridExecutor._restore_args_dev, _returned)
    yield interpreter, "_implicit_cvt", _instead(interpreter._implicit_cvt, triton_memory.argument)
    yield interpreter.InterpretedFunction, "rewritten_fn", {**interpreter.InterpretedFunction.rewritten_fn, **_draws()}


def _draws() -> dict[Function, Function]:
    """By the function that Triton's generator has, what is called for it, wherever it was imported to."""
    from specverify.exact.triton_random import FUNCTIONS, REFUSED

    random = sys.modules[_RANDOM]
    made = {}
    for name in (*FUNCTIONS, *REFUSED):
        function = vars(random)[name]
        if not hasattr(function, "rewriter"):
            continue  # compiled, and so refused
        genuine = function.rewriter.rewrite_ast()
        made[function.fn] = _instead(genuine, FUNCTIONS[name]) if name in FUNCTIONS else _refusing(genuine, f"it draws through {name} by hand")
    return made


def _running() -> Machine | None:
    """The execution under way, or none."""
    machine = RUNNING[-1] if RUNNING else None
    return None if machine is None or machine.paused else machine


def _refusing(genuine: Function, reason: str) -> Function:
    def method(*arguments: Any, **keywords: Any) -> Any:
        if _running() is not None:
            raise Stop(f"{reason}, at {here()}")
        return genuine(*arguments, **keywords)

    return method


def _instead(genuine: Function, new: Function, *, replays: bool = True) -> Function:
    """During an execution `new`, which gets the machine and the genuine function first; in a replay perhaps, and else always, that one."""

    def method(*arguments: Any, **keywords: Any) -> Any:
        machine = _running()
        if machine is None or not (machine.watched or replays):
            return genuine(*arguments, **keywords)
        raised: list[Exception] = []
        try:
            return new(machine, _telling(genuine, raised), *arguments, **keywords)
        except Exception as error:
            if any(error is one for one in raised):
                raise
            raise Stop(f"a Triton kernel is not followed rightly ({type(error).__name__}: {error}), at {here()}") from error

    return method


def _telling(genuine: Function, raised: list[Exception]) -> Function:
    """The function itself; what it raises is the kernel's, what else is raised here is a fault of ours."""

    def function(*arguments: Any, **keywords: Any) -> Any:
        try:
            return genuine(*arguments, **keywords)
        except Exception as error:
            raised.append(error)
            raise

    return function


def _launched(machine: Machine, genuine: Function, executor: Any, *given: Any, **named: Any) -> Any:
    """Of a launch: in the interpreter a tensor of another device is copied, and its copy not followed."""
    from specverify.exact import triton_memory

    if any(one.device.type != "cpu" and machine.memory.symbolic(one) for one in tensors(given, named)):
        raise Stop(f"it hands draws on another device to a Triton kernel, at {here()}")
    triton_memory.forget()
    return genuine(executor, *given, **named)


def _returned(machine: Machine, genuine: Function, executor: Any, *given: Any) -> Any:
    """Of the copy back: on the CPU the copies are the arguments' own memory; what was followed on another device's is lost."""
    from specverify.exact import triton_memory

    if any(one.device.type != "cpu" for one in tensors(given[0], given[2])) and triton_memory.symbolic(machine):
        raise Stop(f"a Triton kernel leaves draws on another device, at {here()}")
    machine.paused += 1
    try:
        return genuine(executor, *given)
    finally:
        machine.paused -= 1


def _unary(machine: Machine, genuine: Function, builder: Any, handle: Any, function: Any) -> Any:  # noqa: ARG001
    """Of elementwise functions: rounded alike in explorations and replays."""
    from specverify.exact.block import Block, rounded

    return genuine(builder, handle, function if isinstance(handle.data, Block) else rounded(function))


def _splat(machine: Machine, genuine: Function, builder: Any, kind: Any, handle: Any) -> Any:  # noqa: ARG001
    """Of one number everywhere in a block."""
    import numpy as np

    from specverify.exact.block import Block

    if not isinstance(handle.data, Block):
        return genuine(builder, kind, handle)
    return type(handle)(handle.data.moved(lambda x: np.broadcast_to(x, kind.shape)), handle.dtype.scalar)


def _unsplat(machine: Machine, genuine: Function, builder: Any, handle: Any) -> Any:  # noqa: ARG001
    """Of the first element."""
    from specverify.exact.block import Block

    if not isinstance(handle.data, Block):
        return genuine(builder, handle)
    return type(handle)(handle.data.moved(lambda x: x.reshape(-1)[:1]), handle.dtype.scalar)


def _to_tensor(machine: Machine, genuine: Function, reduction: Any, found: Any, dtype: Any) -> Any:  # noqa: ARG001
    """Of a reduction's result: one number is a block of one."""
    from specverify.exact.block import Block

    if not isinstance(found, Block) or found.shape:
        return genuine(reduction, found, dtype)
    made = genuine(reduction, found.reshape((1,)), dtype)
    return type(made)(made.handle, dtype)
