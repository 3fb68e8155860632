"""`rotary`: rotary positions on queries and keys.

Row `positions[b, t]` of cos and sin belongs to q[b, :, t] and k[b, :, t]. Entries i and i + D / 2 of a row of cos are alike, and so for sin: each is that of pair i's angle. An adapter for a
function that wants them in another shape gives it that:

    @sv.subject("rotary")
    def rotary(q, k, cos, sin, positions):
        return apply_rotary_pos_emb(q, k, cos[positions], sin[positions])
"""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Malformed, Parameter, array_of, check_names, outside
from specverify.contracts.results import float_array_result
from specverify.contracts.rotations import PAIRING, even_rows
from specverify.law import Outcome

NAME = "rotary"
HEADS, TABLE = 4, 2
"""Axes of q and k, and of cos and sin."""


def _check(case: Case) -> None:
    check_names(NAME, case, ("q", "k", "cos", "sin", "positions"))
    q, k, cos, sin = (even_rows(NAME, case, name) for name in ("q", "k", "cos", "sin"))
    if len(q.shape) != HEADS or len(k.shape) != HEADS or (q.shape[0], *q.shape[2:]) != (k.shape[0], *k.shape[2:]):
        raise outside(NAME, "q and k must have shapes (B, H, T, D) that differ in H alone")
    if len(cos.shape) != TABLE or cos.shape != sin.shape or cos.shape[1] != q.shape[3] or len({one.dtype for one in (q, k, cos, sin)}) > 1:
        raise outside(NAME, "cos and sin must have shape (L, D), all of one dtype")
    half = cos.shape[1] // 2
    if any(row[:half] != row[half:] for table in (cos, sin) for row in table.rows()):
        raise outside(NAME, "both halves of a row of cos and sin must be alike")
    positions = case["positions"]
    if not isinstance(positions, Array) or positions.shape != (q.shape[0], q.shape[2]) or not all(0 <= at < cos.shape[0] for at in positions.values):
        raise outside(NAME, "positions must have shape (B, T), each a row of cos")


def _outcome(case: Case, result: object) -> Outcome:
    """(q, k), rotated."""
    if not isinstance(result, (list, tuple)) or len(result) != len(("q", "k")):
        raise Malformed("the result is no pair of queries and keys")
    return tuple(float_array_result(array_of(case, name).shape, part, name) for name, part in zip(("q", "k"), result, strict=True))


CONTRACT = Contract(
    name=NAME,
    prefix="ROT",
    sentence="Rotates queries and keys by the angles of their positions.",
    parameters=(
        Parameter("q", "(B, H, T, D)", "queries, D even"),
        Parameter("k", "(B, H', T, D)", "keys"),
        Parameter("cos", "(L, D)", "cosines by position, both halves alike"),
        Parameter("sin", "(L, D)", "sines by position, both halves alike"),
        Parameter("positions", "(B, T)", "the row of cos and sin of each query and key, int64"),
    ),
    returns="q (B, H, T, D), k (B, H', T, D), rotated",
    right="(a, b) becomes (a cos - b sin, b cos + a sin) in each pair, by the angle of the pair at the position",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={
        **{name: array("float32", (1, 1, 1, 2), (1, 2)) for name in ("q", "k")},
        **{name: array("float32", (1, 2), (value, value)) for name, value in (("cos", 1), ("sin", 0))},
        "positions": array("int64", (1, 1), (0,)),
    },
    conventions={"pairing": PAIRING},
    equivalents=("apply_rotary_pos_emb",),
)
