"""Between plain values and a subject's world: tensors, numpy arrays, lists. Runs in the subject's interpreter."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from specverify.contracts import Array, Contract, Opaque, array, array_of
from specverify.contracts.arrays import FORMATS
from specverify.contracts.bundle import Bundle
from specverify.contracts.table_models import Table, TableModel
from specverify.contracts.weights import Weights
from specverify.models import built
from specverify.subjects.declare import Declaration

DEEPEST = 32
"""Nesting of a result beyond which it is no answer of any contract."""
LONGEST_MESSAGE = 500


class Elsewhere(Exception):
    """An exception of a program, as its reply tells it."""

    def __init__(self, reply: Mapping[str, object]) -> None:
        super().__init__(reply["type"])
        self.reply = {"is": "raised", **{name: str(reply.get(name, ""))[:LONGEST_MESSAGE] for name in ("type", "message", "where")}}


def arguments(contract: Contract, declaration: Declaration, case: Mapping[str, object], *, lifted: bool, device: str) -> list[Any]:
    """The case's values in the subject's world, in the contract's order; `lifted` makes one row (V,) a batch (1, V)."""
    values = []
    for parameter in contract.handed:
        value = case[parameter.name]
        if lifted and parameter.name in contract.row_parameters and isinstance(value, Array) and len(value.shape) == 1:
            value = Array(value.dtype, (1, *value.shape), value.data)
        values.append(model(declaration, value, case, device) if isinstance(value, (Table, Weights)) else into(declaration.arrays, value, device))
    return values


def model(declaration: Declaration, made_of: Table | Weights, case: Mapping[str, object], device: str) -> Any:
    """A table, or weights, in the form of model that the subject takes; one to be called gives rows of the subject's kind of array."""
    eos = case.get("eos")
    made = built(declaration.models or "callable", made_of, eos if isinstance(eos, int) else None)
    return into(declaration.arrays, made, device) if isinstance(made, TableModel) else made.to(device)


def into(kind: str, value: object, device: str = "cpu") -> Any:
    """One plain value as the subject's kind of array, inside lists and behind models too; numbers and functions pass."""
    if isinstance(value, TableModel):
        return value.giving(lambda row: into(kind, row, device))
    if isinstance(value, list):
        return [into(kind, item, device) for item in value]
    if isinstance(value, Bundle):
        return value.make(lambda one: into(kind, one, device))
    if not isinstance(value, Array):
        return deepcopy(value)
    if kind == "plain":
        return value
    if kind == "list":
        return value.nested()
    if kind == "numpy":
        import numpy as np

        return np.frombuffer(value.data, dtype=value.dtype).reshape(value.shape).copy()
    import torch

    dtype = getattr(torch, value.dtype)
    flat = torch.frombuffer(bytearray(value.data), dtype=dtype).clone() if value.data else torch.empty(0, dtype=dtype)
    return flat.reshape(value.shape).to(device)  # cloned, so that its storage can be resized like any other


def copier(values: list[Any]) -> Callable[[], list[Any]]:
    """A function that gives fresh copies of the values, fast: one per draw of a stream."""
    makers = [getattr(value, "clone", None) or getattr(value, "copy", None) for value in values]
    deep = [isinstance(value, list) for value in values]
    return lambda: [deepcopy(v) if d else make() if make else v for v, make, d in zip(values, makers, deep, strict=True)]


def plain(value: Any, depth: int = 0) -> object:
    """A subject's result as Arrays, numbers, strings and lists; what is none of these becomes its type's name in angle brackets.

    A mapping is a list of [key, value] pairs, in the order of the keys' text: equal mappings read alike.
    """
    if value is None or isinstance(value, (bool, int, float, str, Array)):
        return value
    if depth > DEEPEST:
        return Opaque("<nested too deep>")
    if isinstance(value, Mapping):
        pairs = [[_unboxed(plain(item, depth + 1)) for item in pair] for pair in value.items()]
        return sorted(pairs, key=lambda pair: repr(pair[0]))
    if isinstance(value, Sequence):  # lists, tuples, deques, arrays of the standard library
        return [_unboxed(plain(item, depth + 1)) for item in value]
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(torch, value)
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _from_numpy(numpy, value)
    return Opaque(f"<{type(value).__name__}>")


def raised(error: BaseException) -> dict[str, object]:
    """An exception as data: type, first line of its message, and the innermost line of code."""
    if isinstance(error, Elsewhere):
        return dict(error.reply)
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    try:
        first = (str(error).splitlines() or [""])[0][:LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001  an exception whose own text raises
        first = ""
    out_of_memory = (isinstance(error, RuntimeError) and "can't allocate memory" in first) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    return {"is": "raised", "type": "MemoryError" if out_of_memory else type(error).__name__, "message": first, "where": where}


def restored(case: Mapping[str, object], contract: Contract, value: object, *, lifted: bool) -> object:
    """Undo the lift in a plain result: an Array with a leading axis of one loses it where the case had none."""
    one_row = lifted and isinstance(value, (Array, list)) and len(array_of(case, contract.row_parameters[0]).shape) == 1
    if one_row and isinstance(value, Array) and value.shape[:1] == (1,):
        return Array(value.dtype, value.shape[1:], value.data)
    if one_row and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def _unboxed(item: object) -> object:
    """A number that came as an array of shape (), as a list of a tensor's or an array's entries holds them."""
    return item.values[0] if isinstance(item, Array) and item.shape == () else item


def _from_torch(torch: Any, tensor: Any) -> object:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in FORMATS or tensor.layout != torch.strided:
        return Opaque(f"<torch.Tensor of {dtype}>")
    tensor = tensor.detach().cpu().contiguous()
    if dtype == "bfloat16":
        return array(dtype, tuple(tensor.shape), tensor.float().reshape(-1).tolist())
    try:
        return Array(dtype, tuple(tensor.shape), tensor.reshape(-1).numpy().tobytes())
    except RuntimeError:  # a torch that was built without numpy
        return array(dtype, tuple(tensor.shape), tensor.reshape(-1).tolist())


def _from_numpy(numpy: Any, value: Any) -> object:
    dtype = "float64" if value.dtype.kind == "f" and value.dtype.itemsize > 8 else value.dtype.name  # noqa: PLR2004  long doubles
    if dtype not in FORMATS:
        return Opaque(f"<numpy array of {dtype}>")
    little = numpy.ascontiguousarray(value, dtype=numpy.dtype(dtype).newbyteorder("<"))
    return Array(dtype, tuple(numpy.shape(value)), little.tobytes())
