"""`vocab_map`: ids of a smaller draft vocabulary to those of the target, by a table.

A subject that maps the other way, as what feeds the target's tokens to the drafter must, declares `conventions={"direction": "target to draft"}`: then `table` is
the same, `ids` are the target's, and where it declares `missing` too, ids that the draft vocabulary lacks come as well.
"""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Parameter, array_of, check_names, outside
from specverify.contracts.nodes import LARGEST_ID, numbers
from specverify.contracts.results import int_array_result
from specverify.law import Outcome

NAME = "vocab_map"
TABLES = ("direct", "offsets")
DIRECTIONS = ("draft to target", "target to draft")


def _check(case: Case) -> None:
    check_names(NAME, case, ("ids", "table"))
    ids, table = case["ids"], case["table"]
    if not isinstance(ids, Array) or ids.dtype not in ("int64", "int32") or not all(0 <= x <= LARGEST_ID for x in ids.values):
        raise outside(NAME, f"ids must be an int64 or int32 array of ids, 0 … {LARGEST_ID}")
    if not isinstance(table, Array) or table.dtype != "int64" or len(table.shape) != 1 or not table.values:
        raise outside(NAME, "table must be int64, of shape (V_draft,)")


def targets(case: Case, form: str) -> tuple[int, ...]:
    """The target's id of each draft id, from a table of either form."""
    table = numbers(case, "table")
    return tuple(i + x for i, x in enumerate(table)) if form == "offsets" else table


def _outcome(case: Case, result: object) -> Outcome:
    return int_array_result(array_of(case, "ids").shape, result)


CONTRACT = Contract(
    name=NAME,
    prefix="VOC",
    sentence="Maps ids of a smaller draft vocabulary to those of the target.",
    parameters=(
        Parameter("ids", "(...)", "draft ids, int64, or int32 where it is supported; of any shape, also empty"),
        Parameter("table", "(V_draft,)", "int64, the targets' ids in ascending order, or what is to be added to each draft id"),
    ),
    returns="(...), target ids",
    right="table[id], or id + table[id] where the table holds offsets",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"ids": array("int64", (2,), (1, 0)), "table": array("int64", (2,), (1, 3))},
    conventions={
        "table": Convention("what the table holds: the target's id of each draft id, or the offset to it (d2t); direct if nothing is declared", TABLES),
        "direction": Convention("which ids are given; those of the draft vocabulary if nothing is declared", DIRECTIONS),
        "missing": Convention("from target to draft: what stands for an id that the draft vocabulary lacks; without it no such id is given"),
    },
    equivalents=("d2t", "draft_id_to_target_id", "hot_token_id"),
    features=("int32",),
)
