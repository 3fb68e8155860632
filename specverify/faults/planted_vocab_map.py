"""Planted faults of `vocab_map`. Each is a subject; the catalogue says what is wrong with it."""

import bisect

import specverify as sv

Ids = list[int]
KEPT: dict[int, Ids] = {}
"""Tables by their length."""
MISSING = -1


@sv.subject("vocab_map", name="ids-passed-through", arrays="list")
def ids_passed_through(ids: Ids, table: Ids) -> Ids:  # noqa: ARG001  that is the fault
    return ids


@sv.subject("vocab_map", name="offset-of-the-next-id", arrays="list", conventions={"table": "offsets"})
def offset_of_the_next_id(ids: Ids, table: Ids) -> Ids:
    return [i + table[min(i + 1, len(table) - 1)] for i in ids]


@sv.subject("vocab_map", name="table-entry-for-the-id", arrays="list", conventions={"table": "offsets"})
def table_entry_for_the_id(ids: Ids, table: Ids) -> Ids:
    return [table[i] for i in ids]


@sv.subject("vocab_map", name="mapped-twice", arrays="list")
def mapped_twice(ids: Ids, table: Ids) -> Ids:
    once = [table[i] for i in ids]
    return [table[i] if i < len(table) else i for i in once]


@sv.subject("vocab_map", name="id-0-is-a-pad", arrays="list")
def id_0_is_a_pad(ids: Ids, table: Ids) -> Ids:
    return [table[i] if i else 0 for i in ids]


@sv.subject("vocab_map", name="table-in-16-bits", arrays="list")
def table_in_16_bits(ids: Ids, table: Ids) -> Ids:
    return [table[i] % 2**16 for i in ids]


@sv.subject("vocab_map", name="first-table-kept", arrays="list")
def first_table_kept(ids: Ids, table: Ids) -> Ids:
    kept = KEPT.setdefault(len(table), table)
    return [kept[i] for i in ids]


@sv.subject("vocab_map", name="ids-mapped-where-they-stand", arrays="list")
def ids_mapped_where_they_stand(ids: Ids, table: Ids) -> Ids:
    for place, i in enumerate(ids):
        ids[place] = table[i] if i < len(table) else i
    return ids


@sv.subject("vocab_map", name="nearest-id-for-a-missing-one", arrays="list", conventions={"direction": "target to draft", "missing": MISSING})
def nearest_id_for_a_missing_one(ids: Ids, table: Ids) -> Ids:
    return [min(bisect.bisect_left(table, i), len(table) - 1) for i in ids]
