"""Planted faults of drafters. Data only; the code is in `planted_drafter`."""

from specverify.faults.fault import Fault

OF = "drafter"

# fmt: off
TABLE = (
    Fault("q-before-temperature", "Q-MISMATCH", OF, ("B003", "faults, Q-MISMATCH"), "Draws at a temperature, and tells the rows before it.", ("DRF-004",)),
    Fault("q-of-the-row-before", "Q-MISMATCH", OF, ("faults, Q-MISMATCH",), "Tells each row one id late.", ("DRF-007", "DRF-004")),
    Fault("softmax-told-of-a-greedy-draft", "Q-MISMATCH", OF, ("B002",), "Drafts the likeliest ids, and tells the rows that they are the likeliest of.", ("DRF-004",)),
    Fault("one-number-for-all-drafts", "RNG", OF, ("faults, RNG",), "Draws all ids of a draft with one uniform number.", ("DRF-004",)),
    Fault("drafter-reseeds-itself", "SEED", OF, ("B053", "B058"), "Seeds a generator of its own in every call, always alike.", ("DRF-004", "DRF-005")),
    Fault("last-id-drafted-again", "DRAFT-STATE", OF, ("B121", "B124"), "Drafts the context's last id first, and all others one late.", ("DRF-006", "DRF-004", "DRF-003")),
    Fault("rows-kept-by-length", "DRAFT-STATE", OF, ("B122",), "Takes a row that it has kept for a text of about the same length.", ("DRF-006", "DRF-007")),
    Fault("one-draft-too-many", "MAXTOKENS", OF, ("faults, MAXTOKENS",), "Drafts one id more than was asked for.", ("DRF-002",)),
    Fault("drafts-in-draft-ids", "VOCAB", OF, ("B183",), "Hands out ids of its own vocabulary for the target's.", ("DRF-008",)),
    Fault("context-in-target-ids", "VOCAB", OF, ("B180",), "Reads the target's ids as if they were its own.", ("DRF-008",)),
    Fault("draft-runs-into-the-next-document", "TREE", OF, ("paper-systems",), "Looks in all documents as if they were one.", ("DRF-009",)),
    Fault("short-draft-padded-with-zero", "PADDING", OF, ("L22", "B081"), "Fills a draft that is short with id 0.", ("DRF-009",)),
    Fault("short-draft-padded-with-minus-one", "PADDING", OF, ("L22",), "Fills a draft that is short with -1, and hands that out.", ("DRF-001",)),
    Fault("suffix-found-at-its-own-place", "DEGENERATE", OF, ("L22",), "Finds a context's end where it stands, and drafts its last id where nothing else is found.", ("DRF-009",)),
    Fault("match-itself-drafted", "DRAFT-STATE", OF, ("faults, DRAFT-STATE",), "Begins the draft with the last id of what was matched.", ("DRF-009",)),
)
# fmt: on
