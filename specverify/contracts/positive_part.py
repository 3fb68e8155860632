"""`positive_part`: the positive part of a difference, normalised."""

from __future__ import annotations

import math

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, check_names, float_array
from specverify.law import Outcome

LOOSE = 0.1


def _check(case: Case) -> None:
    check_names("positive_part", case, ("x",))
    float_array("positive_part", case, "x")


def _outcome(case: Case, result: object) -> Array:
    x = float_array("positive_part", case, "x")
    if isinstance(result, (list, tuple)):
        result = _from_list(x, result)
    if not isinstance(result, Array) or result.dtype not in FLOATS:
        raise Malformed("the result is no array of floating-point numbers")
    if result.shape != x.shape:
        raise Malformed(f"the result has shape {result.shape}, x has {x.shape}")
    return result


def _from_list(x: Array, result: object) -> Array:
    """Python lists carry doubles; their shape is checked against x by flattening."""
    flat: list[float] = []

    def walk(item: object, depth: int) -> None:
        item = item.nested() if isinstance(item, Array) else item
        if isinstance(item, (list, tuple)) and depth < len(x.shape) and len(item) == x.shape[depth]:
            for part in item:
                walk(part, depth + 1)
        elif isinstance(item, (int, float)) and depth == len(x.shape):
            flat.append(float(item))
        else:
            raise Malformed(f"the result is no nested list of shape {x.shape}")

    walk(result, 0)
    return array("float64", x.shape, flat)


def _plausible(outcome: Outcome) -> bool:
    """Whether rows came out that sum to about 1: tells a form of row that the subject takes from one that it mistakes."""
    return all(math.isfinite(sum(row)) and abs(sum(row) - 1) < LOOSE for row in outcome.rows())


CONTRACT = Contract(
    name="positive_part",
    prefix="POS",
    sentence="Takes the positive part of x and divides it by its sum.",
    parameters=(Parameter("x", "(..., V)", "differences p - q, or any finite numbers"),),
    returns="(..., V), rows of probabilities",
    right="x+ / sum x+ along the last axis, wherever x has a positive entry",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"x": array("float32", (3,), (0.25, -0.5, 0.25))},
    conventions={"eps": Convention("a guard added to the sum, a number")},
    equivalents=("max_fn",),
    row_parameter="x",
    plausible=_plausible,
)
