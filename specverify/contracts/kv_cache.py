"""`kv_cache`: keys and values of the committed tokens, through drafts, rejections and compactions.

    @sv.subject("kv_cache", supports=("select", "reset"))
    class Cache:
        def __init__(self, capacity): ...          # an empty cache for so many rows
        def append(self, k, v): ...                # rows (T, D) behind those that are there
        def length(self): ...                      # how many there are
        def rollback(self, to_length): ...         # forget all behind the first to_length
        def rows(self): ...                        # (k, v), each (length, D)
        def select(self, kept): ...                # keep these rows: absolute numbers, a list of ints, increasing
        def reset(self): ...                       # empty, to be used again

A cache of several layers and heads is bound by an adapter that puts rows into one of them, or the same rows into all and joins them in `rows`. A subject may be a function that
returns such an object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, array_of, check_names, kind_of, outside
from specverify.contracts.histories import Objects, as_now, attempt, check_operations, count, nothing, number, step
from specverify.contracts.nodes import is_int, listed
from specverify.law import Outcome

NAME = "kv_cache"


def _kept(rest: Sequence[object]) -> bool:
    rows = rest[0] if len(rest) == 1 else None
    return isinstance(rows, list) and all(is_int(row) and row >= 0 for row in rows) and rows == sorted(set(rows))


OPERATIONS = {"append": count, "rollback": number, "select": _kept, "reset": nothing, "read": nothing}
"""What stands behind the cache's number: rows to append, a length, the rows that are kept, nothing, nothing."""


def _check(case: Case) -> None:
    """A case carries what is appended one after another, whatever the cache, and the operations."""
    check_names(NAME, case, ("capacity", "k", "v", "operations"))
    check_operations(NAME, case, OPERATIONS)
    k, v, capacity = case["k"], case["v"], case["capacity"]
    if not all(isinstance(one, Array) and one.dtype in FLOATS and len(one.shape) == 2 for one in (k, v)) or k.shape != v.shape:  # type: ignore[attr-defined]  # noqa: PLR2004
        raise outside(NAME, "k and v must be floating-point arrays of one shape (N, D)")
    operations: Any = case["operations"]
    if not is_int(capacity) or capacity < 1 or sum(one[2] for one in operations if one[0] == "append") > array_of(case, "k").shape[0]:  # type: ignore[operator]
        raise outside(NAME, "capacity must be at least 1, and k hold all rows that are appended")


def _play(case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> list[Any]:
    """What each operation gave. What was read is copied at once, and stands there a second time as it is when all is over."""
    capacity, k, v = values
    caches, at, told = Objects(lambda: subject(capacity)), 0, []
    operations: Any = case["operations"]
    for name, which, *rest in operations:
        given = rest
        if name == "append":
            given = [k[at : at + rest[0]], v[at : at + rest[0]]]
            at += rest[0]
        told.append(attempt(_done, caches, which, name, given))
    return told


def _done(caches: Objects, which: int, name: str, given: Sequence[Any]) -> list[Any]:
    cache = caches[which]
    if name != "read":
        getattr(cache, name)(*given)
        return ["done"]
    length, rows = cache.length(), cache.rows()
    return ["read", length, as_now(rows), rows]


def _outcome(case: Case, result: object) -> Outcome:
    """("done",), ("raised", type, message, place) or (length, k, v, k at the end of the history, v too) of each operation; rows as tuples of floats."""
    assert isinstance(result, list)
    width = array_of(case, "k").shape[1]
    return tuple(step(told, lambda read: _read(read, width)) for told in result)


def _read(read: Sequence[object], width: int) -> Outcome:
    length, rows, later = read
    length = length.values[0] if isinstance(length, Array) and len(length.values) == 1 else length
    if not is_int(length):
        raise Malformed(f"length() gave {kind_of(length)}, not a whole number")
    return (length, *_pair(rows, width), *_pair(later, width))


def _pair(value: object, width: int) -> tuple[Outcome, Outcome]:
    if isinstance(value, Array) and value.shape[:1] == (2,):
        value = value.nested()
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004
        raise Malformed(f"rows() gave {kind_of(value)}, not keys and values")
    return _rows("keys", value[0], width), _rows("values", value[1], width)


def _rows(what: str, value: object, width: int) -> Outcome:
    """Rows (T, D) as tuples; an empty cache may have any form of nothing."""
    rows: Any = listed([] if value is None else value)
    if isinstance(value, Array) and not value.values:
        return ()
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == width and all(isinstance(x, (int, float)) for x in row) for row in rows):
        shape = f"of shape {value.shape}" if isinstance(value, Array) else kind_of(value)
        raise Malformed(f"the {what} of rows() are {shape}, not of shape (length, {width})")
    return tuple(tuple(map(float, row)) for row in rows)


CONTRACT = Contract(
    name=NAME,
    prefix="KVC",
    sentence="Keeps keys and values of the committed tokens: makes an object that appends, rolls back, selects, resets and shows its rows.",
    parameters=(Parameter("capacity", "int", "rows that it must hold at least"),),
    returns="an object with append(k, v), length(), rollback(to_length), rows() -> (k, v); and select(kept), reset() where `supports` names them",
    right="after any history, the rows of the committed tokens, in order; one that does not fit in is refused; no two caches share a row",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"capacity": 1, "k": array("float32", (1, 1), (1,)), "v": array("float32", (1, 1), (-1,)), "operations": [["append", 0, 1], ["read", 0]]},
    conventions={
        "full": Convention("what becomes of rows beyond the capacity: refused, or the cache grows", ("refuses", "grows")),
        "rows": Convention("whether what rows() gave stays as it was, or shows what comes later", ("copies", "views")),
    },
    equivalents=("KVCache", "DynamicCache", "StaticCache", "KVCacheModel", "initialize_past_key_values", "reset_past_key_values"),
    features=("select", "reset"),
    play=_play,
    material=(
        Parameter("k", "(T, D)", "keys that are appended"),
        Parameter("v", "(T, D)", "values that are appended, in the same order"),
    ),
)
