"""Planted faults of packed batches: in how kernels of several shapes read offsets, parameters, random numbers, ids and buffers. Data only; the code is in `planted_*`."""

from specverify.faults.fault import Fault

_PACKED = "verify_packed"

# fmt: off
TABLE = (
    Fault("ends-taken-for-starts", "ROW", _PACKED, ("B036", "B083"), "Takes cumulative lengths that include each request's own for where its rows begin.", ("PCK-003", "PCK-008")),
    Fault("bonus-of-the-first-for-all", "BONUS", _PACKED, ("B048", "B041"), "Draws every bonus from the first request's row.", ("PCK-003", "PCK-008")),
    Fault("tails-left-as-they-were", "PADDING", _PACKED, ("B078", "faults, PADDING"), "Writes tokens, and no -1 behind them.", ("PCK-001",)),
    Fault("place-37-takes-its-neighbour", "ROW", _PACKED, ("B041",), "Verifies the request in place 37 of a batch against the rows behind it.", ("PCK-012", "PCK-013")),
    Fault("starts-without-the-bonus-rows", "ROW", _PACKED, ("B083", "B036"), "Leaves the bonus rows out of where the target's rows begin.", ("PCK-003", "PCK-008")),
    Fault("slot-of-the-bonus-verified", "PADDING", _PACKED, ("B078", "B079"), "Reads what lies in the slot of the bonus as a draft token.", ("PCK-003", "PCK-008")),
    Fault("counters-not-cleared", "PADDING", _PACKED, ("faults, PADDING", "B078"), "Adds accepted lengths to what the buffer holds.", ("PCK-001",)),
    Fault("temperature-of-the-first-for-all", "MIXED", _PACKED, ("B064",), "Gives all requests the temperature of the first.", ("PCK-019",)),
    Fault("largest-top-k-for-all", "P-MISMATCH", _PACKED, ("B008",), "Filters all requests by the largest top-k.", ("PCK-019",)),
    Fault("top-p-of-the-request-before", "P-MISMATCH", _PACKED, ("B008", "B041"), "Filters each request by the top-p of the one before it.", ("PCK-019",)),
    Fault("bonus-row-not-filtered", "P-MISMATCH", _PACKED, ("B009",), "Filters the rows of drafts, and not the bonus row.", ("PCK-019",)),
    Fault("all-greedy-where-one-is", "MIXED", _PACKED, ("B064", "B065"), "Treats all requests as greedy where one is.", ("PCK-008", "PCK-019")),
    Fault("acceptances-counted-behind-a-stop", "ROW", _PACKED, ("B224", "B026"), "Counts a later acceptance behind a rejection.", ("PCK-003", "PCK-006", "PCK-008")),
    Fault("fill-of-zero-verified", "PADDING", _PACKED, ("B078", "B081"), "Verifies the zeros behind each draft too, and cuts the lengths.", ("PCK-008",)),
    Fault("coins-read-with-the-stride-of-k", "RNG", _PACKED, ("B052", "B059"), "Reads coins as if each request had K + 1.", ("PCK-008", "PCK-016")),
    Fault("one-coin-for-a-whole-request", "RNG", _PACKED, ("B051", "B053"), "Uses a request's first coin for every test and for the token.", ("PCK-008",)),
    Fault("seed-and-place", "SEED", _PACKED, ("B056", "B057"), "Adds a request's place in the batch to its seed.", ("PCK-015", "PCK-016")),
    Fault("generator-passed-on", "SEED", _PACKED, ("B058", "B059"), "Lets a request draw on where the one before stopped.", ("PCK-015", "PCK-016")),
    Fault("columns-of-q-not-mapped", "Q-MISMATCH", _PACKED, ("B042", "B062"), "Subtracts the draft's columns from the target's first ones.", ("PCK-020",)),
    Fault("columns-of-q-in-order-of-ids", "Q-MISMATCH", _PACKED, ("B062",), "Sorts the draft's ids, and not its columns.", ("PCK-020",)),
    Fault("draft-ids-not-mapped", "VOCAB", _PACKED, ("faults, VOCAB",), "Emits the draft's ids for the target's.", ("PCK-020",)),
    Fault("absent-q-taken-for-uniform", "Q-MISMATCH", _PACKED, ("B003", "B006"), "Takes drafts that were no random choice for draws from all tokens alike.", ("PCK-021",)),
    Fault("narrow-ids-read-as-wide", "VOCAB", _PACKED, ("B228",), "Reads ids of 32 bits two at a time.", ("PCK-022",)),
)
# fmt: on
