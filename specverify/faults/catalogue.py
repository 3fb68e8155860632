"""Every planted fault by name: what each does wrong, where it was seen, which properties must find it."""

from __future__ import annotations

from specverify.errors import unknown
from specverify.faults import (
    table_of_batches,
    table_of_drafters,
    table_of_loops,
    table_of_packed,
    table_of_packed_trees,
    table_of_pieces,
    table_of_prefill,
    table_of_rounds,
    table_of_rows,
    table_of_state,
    table_of_steps,
    table_of_trees,
)
from specverify.faults.fault import Fault

TABLES: dict[str, tuple[Fault, ...]] = {
    "pieces": table_of_pieces.TABLE,
    "steps": table_of_steps.TABLE,
    "batches": table_of_batches.TABLE,
    "packed": table_of_packed.TABLE,
    "trees": table_of_trees.TABLE,
    "packed trees": table_of_packed_trees.TABLE,
    "rows": table_of_rows.TABLE,
    "rounds": table_of_rounds.TABLE,
    "drafters": table_of_drafters.TABLE,
    "loops": table_of_loops.TABLE,
    "state": table_of_state.TABLE,
    "prefill": table_of_prefill.TABLE,
}
"""The planted faults of each part of the catalogue."""

FAULTS: dict[str, Fault] = {row.name: row for table in TABLES.values() for row in table}
"""Every planted fault, by name."""


def fault(name: str) -> Fault:
    """The planted fault of that name, or SpecverifyError with the nearest one."""
    if name not in FAULTS:
        raise unknown("planted fault", name, FAULTS)
    return FAULTS[name]
