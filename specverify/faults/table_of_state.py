"""Planted faults of positions, caches and other state. Data only; the code is in the modules `planted_…`."""

from specverify.faults.fault import Fault

# fmt: off
TABLE = (
    Fault("halves-swapped-without-the-sign", "KV-TARGET", "rotate_half", ("paper-systems",), "Swaps the halves, and leaves out the sign.", ("ROT-002",)),
    Fault("turned-the-other-way", "KV-TARGET", "rotate_half", ("paper-systems",), "Turns pairs by a right angle the other way.", ("ROT-002",)),
    Fault("cached-positions-ignored", "KV-TARGET", "rotary", ("B085",), "Takes positions 0, 1, … whatever it is told, as if nothing were cached.", ("ROT-021",)),
    Fault("positions-of-the-first-request", "ROW", "rotary", ("B085",), "Rotates all requests by the positions of the first.", ("ROT-021",)),
    Fault("positions-counted-on-from-the-first", "TREE", "rotary", ("B085", "B089"), "Counts on from the first position, so that siblings of a tree get different ones.", ("ROT-021",)),
    Fault("keys-not-rotated", "KV-TARGET", "rotary", ("paper-systems",), "Rotates the queries alone.", ("ROT-021", "ROT-023")),
    Fault("positions-run-over-heads", "ROW", "rotary", ("paper-systems",), "Gives each head the position of a token, where there are as many.", ("ROT-021",)),
    Fault("heads-tiled", "ROW", "repeat_kv", ("paper-systems",), "Repeats all heads behind all heads.", ("RKV-002",)),
    Fault("times-and-heads-mixed", "ROW", "repeat_kv", ("paper-systems",), "Repeats along the tokens, and calls the result heads.", ("RKV-002",)),
)
# fmt: on
