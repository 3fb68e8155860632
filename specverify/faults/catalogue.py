"""Every planted fault by name: what each does wrong, where it was seen, which properties must find it."""

from __future__ import annotations

from specverify.errors import unknown
from specverify.faults import table_of_pieces, table_of_rows, table_of_steps, table_of_trees
from specverify.faults.fault import Fault

FAULTS: dict[str, Fault] = {row.name: row for row in (*table_of_pieces.TABLE, *table_of_steps.TABLE, *table_of_trees.TABLE, *table_of_rows.TABLE)}
"""Every planted fault, by name."""


def fault(name: str) -> Fault:
    """The planted fault of that name, or SpecverifyError with the nearest one."""
    if name not in FAULTS:
        raise unknown("planted fault", name, FAULTS)
    return FAULTS[name]
