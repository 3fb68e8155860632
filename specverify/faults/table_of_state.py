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
    Fault("cache-rolled-back-one-row-short", "KV-TARGET", "kv_cache", ("B105", "faults, KV-TARGET"), "Keeps one of the rows that are rolled back.", ("KVC-003",)),
    Fault("cache-rolled-back-one-row-too-far", "KV-TARGET", "kv_cache", ("B121",), "Rolls back one row more, where any is rolled back.", ("KVC-003",)),
    Fault("cache-emptied-by-a-rollback", "KV-TARGET", "kv_cache", ("B095",), "Keeps the length, and zeroes the rows that should stay.", ("KVC-003",)),
    Fault("appended-behind-the-stale-rows", "KV-TARGET", "kv_cache", ("B102",), "Writes behind the rows that were rolled back, and reads from the new length.", ("KVC-003",)),
    Fault("rejected-rows-come-back", "KV-TARGET", "kv_cache", ("B096", "B098"), "Sets the length to the highest slot ever written when rows are appended.", ("KVC-003",)),
    Fault("kept-rows-counted-from-the-draft", "KV-TARGET", "kv_cache", ("paper-systems",), "Counts the rows to keep from the last draft, not from the start.", ("KVC-004",)),
    Fault("last-kept-row-lost", "KV-TARGET", "kv_cache", ("B124",), "Loses the last kept row, where gaps are closed.", ("KVC-004",)),
    Fault("values-left-where-they-were", "KV-TARGET", "kv_cache", ("theory A7",), "Moves the keys that are kept, and not their values.", ("KVC-004",)),
    Fault("kept-rows-moved-one-by-one-from-the-end", "KV-TARGET", "kv_cache", ("theory A7",), "Moves kept rows in place, the last first, over rows that are still to be moved.", ("KVC-004",)),
    Fault("reset-keeps-the-length", "KV-TARGET", "kv_cache", ("B122", "paper-systems"), "Zeroes the rows at a reset, and keeps the length.", ("KVC-005",)),
    Fault("reset-but-not-the-capacity-left", "KV-TARGET", "kv_cache", ("B125",), "Counts what is taken, and not down at a reset.", ("KVC-005",)),
    Fault("one-buffer-for-all-caches", "KV-TARGET", "kv_cache", ("B125",), "Has one buffer for all caches, each with a length of its own.", ("KVC-006",)),
    Fault("one-list-for-all-caches", "KV-TARGET", "kv_cache", ("B125",), "Makes the list of rows once, as a default argument.", ("KVC-006", "KVC-001")),
    Fault("full-cache-begins-anew", "KV-TARGET", "kv_cache", ("B097",), "Overwrites the first rows when the cache is full.", ("KVC-008",)),
    Fault("rows-beyond-the-capacity-dropped", "KV-TARGET", "kv_cache", ("B097",), "Drops the rows that do not fit in, and says nothing.", ("KVC-008",)),
    Fault("state-saved-behind-the-drafts", "RECURRENT", "recurrent_state", ("B113",), "Saves the state when the drafts have been read, and goes back to that.", ("REC-003",)),
    Fault("state-one-token-too-far-back", "RECURRENT", "recurrent_state", ("B113", "B121"), "Takes the state before the last accepted token.", ("REC-003",)),
    Fault("state-of-the-block-where-none-is-accepted", "RECURRENT", "recurrent_state", ("B116",), "Takes the state behind the last draft where no token is accepted.", ("REC-003",)),
    Fault("a-lone-token-leaves-the-slots", "RECURRENT", "recurrent_state", ("B116", "B118"), "Does not renew the saved states when it reads one token.", ("REC-003",)),
    Fault("slots-of-all-requests", "RECURRENT", "recurrent_state", ("B113",), "Saves the states of all objects in the same slots.", ("REC-004",)),
    Fault("token-behind-the-drafts-not-read", "DRAFT-STATE", "session", ("faults, DRAFT-STATE",), "Goes on without having read the token behind the accepted drafts.", ("SES-004",)),
    Fault("rejected-drafts-committed", "DRAFT-STATE", "session", ("faults, DRAFT-STATE",), "Commits all its drafts, whatever was accepted.", ("SES-003",)),
    Fault("rejected-drafts-stay-read", "DRAFT-STATE", "session", ("B121",), "Keeps the first rejected draft in what its model has read.", ("SES-004",)),
    Fault("accepted-drafts-from-the-end", "DRAFT-STATE", "session", ("faults, DRAFT-STATE",), "Counts the accepted drafts from the end, so that none are all.", ("SES-003",)),
    Fault("last-draft-unread-where-all-are-accepted", "DRAFT-STATE", "session", ("B121", "B124"), "Never reads its last draft, which is not missed unless all are accepted.", ("SES-004",)),
    Fault("text-before-kept-at-a-new-beginning", "DRAFT-STATE", "session", ("B122",), "Reads a new prompt behind the text before.", ("SES-005",)),
    Fault("one-context-for-all-sessions", "DRAFT-STATE", "session", ("B125",), "Has one context for all sessions.", ("SES-006",)),
)
# fmt: on
