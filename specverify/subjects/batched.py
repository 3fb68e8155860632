"""Counts of many outcomes at once: a subject that takes batches is called with thousands of copies of one case. Needs numpy; runs in the subject's interpreter.

A step's batch is p (B, gamma + 1, V), q (B, gamma, V) and draft (B, gamma); it gives token ids (B, gamma + 1), numbers that are no ids behind a row's end, or these and the
accepted lengths (B,). A sampler's is probs (B, V). Drafts and completions are the tool's own draws, as in a stream of single calls.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from specverify.contracts import Array, Case, Malformed, expand
from specverify.contracts.coins import dtype_of
from specverify.subjects import adapt
from specverify.subjects.coins import BITS
from specverify.subjects.draws import part, seed_everything

if TYPE_CHECKING:
    from specverify.contracts.copies import Copies, Sums
    from specverify.subjects.trial import Bound

ROWS = 16_384
"""Of one call: four megabytes for a step over 32 tokens, which a cache holds."""
KEPT = {"block": slice(0, None), "tokens": slice(1, None), "first": slice(1, 2)}
"""What is counted, of the accepted length and the tokens completed from p: all, the tokens, the first token."""
NO_ID = -1


def sample(bound: Bound, case: Case, *, n: int, key: int, keep: str, seconds: float) -> dict[str, object]:
    """Counts of n outcomes, as `trial.sample` gives them; fewer than n where `seconds` ran out. A call that fails counts once for each of its rows."""
    import numpy as np

    case = {name: expand(value) for name, value in case.items()}
    copies = _copies(bound, case)
    draw = _drawer(bound, case, copies, key)
    sizes = (len(copies.completions), *map(len, copies.completions))[KEPT[keep]]
    codes: list[Any] = []
    end, drawn = time.monotonic() + seconds, 0
    seed_everything(key)
    while drawn < n and time.monotonic() < end:
        rows = min(ROWS, n - drawn)
        try:
            codes.append(np.ravel_multi_index(draw(rows)[KEPT[keep]], sizes))
        except Malformed as error:
            return {"counts": [[("malformed", str(error)), n]], "drawn": n, "raised": {}}
        except BaseException as error:  # noqa: BLE001  sys.exit and KeyboardInterrupt of a subject are outcomes
            told = adapt.raised(error)
            return {"counts": [[("raised", told["type"]), n]], "drawn": n, "raised": {str(told["type"]): told}}
        drawn += rows
    seen, counts = np.unique(np.concatenate(codes), return_counts=True) if codes else (np.empty(0, int), np.empty(0, int))
    outcomes = zip(*(column.tolist() for column in np.unravel_index(seen, sizes)), strict=True)
    return {"counts": [[outcome, count] for outcome, count in zip(outcomes, counts.tolist(), strict=True)], "drawn": drawn, "raised": {}}


def _copies(bound: Bound, case: Case) -> Copies:
    assert bound.contract.copies is not None
    return bound.contract.copies(case)


def _drawer(bound: Bound, case: Case, copies: Copies, key: int) -> Callable[[int], tuple[Any, ...]]:
    """A batch of draws as a function of its size: the columns accepted length, tokens."""
    import numpy as np

    ours, seeds, generator = np.random.Generator(np.random.PCG64(part(key, "ours"))), random.Random(f"specverify/{key}"), bound.generator(key)
    fixed: dict[int, Callable[[], list[Any]]] = {}

    def draw(rows: int) -> tuple[Any, ...]:
        if rows not in fixed:
            fixed[rows] = adapt.copier(bound.arguments({name: _repeated(value, rows) for name, value in {**bound.contract.blank(), **case}.items()}))
        values = fixed[rows]()
        drafts = [_inverse(np, sums, ours.random(rows)) for sums in copies.drafts]
        for place, parameter in enumerate(bound.contract.parameters):
            if parameter.name == "draft":
                values[place] = adapt.into(bound.declaration.arrays, _draft(np, drafts, rows), bound.device)
        result = bound.declaration.function(*values, **bound.options(seeds, generator, _coins(ours, bound, case, rows)))
        lengths, tokens = _read(np, adapt.plain(result), rows, copies)
        completed = [np.where(place < lengths, tokens[:, place], _inverse(np, sums, ours.random(rows))) for place, sums in enumerate(copies.completions)]
        return (lengths - 1, *completed)

    return draw


def _coins(ours: Any, bound: Bound, case: Case, rows: int) -> Any:
    """Uniform numbers of the rows' dtype for each copy, (B, n); of a sampler, which takes one for each row, (B,)."""
    if bound.declaration.rng != "coins":
        return None
    assert bound.contract.coins is not None
    dtype, count = dtype_of(case), bound.contract.coins.count(case)
    numbers = (ours.integers(0, 1 << BITS[dtype], (rows, count)) / (1 << BITS[dtype])).astype(dtype)
    shape = (rows,) if bound.contract.row_parameters else (rows, count)
    return adapt.into(bound.declaration.arrays, Array(dtype, shape, numbers.tobytes()), bound.device)


def _repeated(value: object, rows: int) -> object:
    return Array(value.dtype, (rows, *value.shape), value.data * rows) if isinstance(value, Array) else value


def _draft(np: Any, drafts: list[Any], rows: int) -> Array:
    """Ids (B, gamma)."""
    together = np.stack(drafts, 1) if drafts else np.empty((rows, 0), "int64")
    return Array("int64", (rows, len(drafts)), together.astype("<i8").tobytes())


def _inverse(np: Any, sums: Sums, u: Any) -> Any:
    """Inverse CDF; nothing of weight zero comes out, at the upper end neither."""
    return np.minimum(np.searchsorted(sums, u * sums[-1], side="right"), list(sums).index(sums[-1]))


def _read(np: Any, result: object, rows: int, copies: Copies) -> tuple[Any, Any]:
    """How many tokens each row emits, (B,), and the tokens, (B, places); Malformed where that is not what came."""
    accepted = None
    match result:
        case [Array() as ids, Array(_, (_,)) as told] if len(ids.shape) == 2:  # noqa: PLR2004
            result, accepted = ids, _matrix(np, told, rows, 1)[:, 0]
    tokens, width = _matrix(np, result, rows, len(copies.completions)), np.array([len(sums) for sums in copies.completions])
    ids = ((tokens >= 0) & (tokens < width)).cumprod(1).sum(1)
    lengths = ids if accepted is None else accepted + 1
    if (lengths < 1).any() or (lengths > ids).any():
        row = int(np.flatnonzero((lengths < 1) | (lengths > ids))[0])
        raise Malformed(f"row {row} of a batch of {rows:,} copies gave {tokens[row].tolist()}; a row begins with 1 to {len(width)} token ids below {width[0]}")
    return lengths, tokens


def _matrix(np: Any, value: object, rows: int, places: int) -> Any:
    """Integers (B, places), shorter rows filled up."""
    if isinstance(value, Array) and value.dtype.startswith(("int", "uint")) and value.shape in {(rows, places), (rows,) * (places == 1)}:
        return np.frombuffer(value.data, value.dtype).reshape(rows, places).astype("int64")
    if not isinstance(value, list) or len(value) != rows:
        raise Malformed(f"a batch of {rows:,} copies gave {_form(value)}, not token ids ({rows:,}, {places})")
    lines = [list(row.values) if isinstance(row, Array) else row if isinstance(row, list) else [row] for row in value]
    return np.array([[*(int(x) for x in row), *[NO_ID] * (places - len(row))][:places] for row in lines], "int64")


def _form(value: object) -> str:
    if isinstance(value, Array):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"{len(value):,} entries" if isinstance(value, list) else type(value).__name__
