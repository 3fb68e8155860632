"""`pad_path`: fill a tree path with pads to a fixed length."""

from __future__ import annotations

from specverify.contracts.arrays import Array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, check_names, outside
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("pad_path", case, ("path", "length", "pad"))
    path, length, pad = case["path"], case["length"], case["pad"]
    if not isinstance(path, list) or not all(isinstance(item, int) for item in path):
        raise outside("pad_path", "path must be a list of ints")
    if not isinstance(length, int) or length < 0 or not isinstance(pad, int):
        raise outside("pad_path", "length must be an int of at least 0 and pad an int")


def _outcome(_case: Case, result: object) -> Outcome:
    if isinstance(result, Array) and result.dtype not in ("float64", "float32", "float16", "bfloat16", "bool"):
        result = result.nested()
    if not isinstance(result, (list, tuple)) or not all(isinstance(item, int) and not isinstance(item, bool) for item in result):
        raise Malformed(f"the result is no flat list of ints but {_short(result)}")
    return tuple(result)


def _short(result: object, limit: int = 60) -> str:
    text = f"{result.dtype} of shape {result.shape}" if isinstance(result, Array) else repr(result)
    return text if len(text) <= limit else text[:limit] + "…"


CONTRACT = Contract(
    name="pad_path",
    prefix="PAD",
    sentence="Appends pads to a path until it has the given length.",
    parameters=(
        Parameter("path", "list of ints", "node indices of a tree path"),
        Parameter("length", "int", "wanted length"),
        Parameter("pad", "int", "fill value, no valid token id or index"),
    ),
    returns="list of ints, `length` long",
    right="the path, then pads",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"path": [0, 1], "length": 4, "pad": -1},
    conventions={"overlong": Convention("what a longer path gets: an exception, its first `length` items, or itself", ("refuse", "cut", "keep"))},
    equivalents=("pad_path",),
)
