"""Planted faults of whole rounds: drafter and verifier together, over one round and several. Data only; the code is in `planted_draft_and_verify`."""

from specverify.faults.fault import Fault

OF = "draft_and_verify"

# fmt: off
TABLE = (
    Fault("unprocessed-q-reported", "Q-MISMATCH", OF, ("B002", "B007"), "Draws from processed rows and reports, and judges by, the raw ones.", ("DRV-006", "DRV-008")),
    Fault("q-of-the-position-before", "Q-MISMATCH", OF, ("faults, ROW",), "Reports, and judges by, the q of the position before.", ("DRV-006", "DRV-008")),
    Fault("filtered-q-not-normalised", "Q-MISMATCH", OF, ("B002",), "Draws from what a filter leaves, over its sum, and reports it without the sum.", ("DRV-006", "DRV-008")),
    Fault("argmax-drafts-with-a-soft-q", "Q-MISMATCH", OF, ("B003", "B006"), "Drafts the argmax and reports the row.", ("DRV-006", "DRV-008")),
    Fault("improbable-drafts-dropped", "Q-MISMATCH", OF, ("theory S13",), "Drops a draft whose own probability is small, and reports the row as it was.", ("DRV-006", "DRV-008")),
    Fault("another-q-reported-than-used", "Q-MISMATCH", OF, ("B002",), "Draws and judges by the rows, and reports heated ones; drafts are not told.", ("DRV-005",)),
    Fault("target-asked-without-the-drafts", "P-MISMATCH", OF, ("theory L5",), "Judges every draft by the target's row behind the text alone.", ("DRV-004", "DRV-007")),
    Fault("target-asked-one-draft-short", "P-MISMATCH", OF, ("B092",), "Judges each draft by the row that belongs to the one before.", ("DRV-007", "DRV-003")),
    Fault("emitted-token-missing-in-the-next-round", "P-MISMATCH", OF, ("theory L5",), "From the second round on the target's text lacks the last emitted token.",
          ("DRV-009", "DRV-004", "DRV-007")),
    Fault("verifier-reads-the-drafters-numbers", "RNG", OF, ("B052",), "Tests each draft with the number that drew it.", ("DRV-011", "DRV-008")),
    Fault("next-drafts-number-judges", "RNG", OF, ("B052",), "The streams overlap: a draft is tested with the number that drew the next one.", ("DRV-011", "DRV-008")),
    Fault("one-number-drafts-all", "RNG", OF, ("B053",), "Draws all drafts of a round with one number.", ("DRV-006", "DRV-011", "DRV-008")),
    Fault("seeded-with-the-length-of-the-text", "SEED", OF, ("B053", "B058"), "Seeds the generator with the length of the text in every call.", ("DRV-010", "DRV-009")),
    Fault("numbers-by-place-in-the-round", "SEED", OF, ("B053",), "Counts positions from 0 in every round, so that the numbers of a request come again.", ("DRV-009",)),
    Fault("positions-of-rounds-overlap", "SEED", OF, ("B052",), "Counts on from the text's length, and a round reads more numbers than it emits tokens.", ("DRV-009",)),
    Fault("bonus-of-the-draft-model", "BONUS", OF, ("L4",), "Draws the bonus token from the draft's row.", ("DRV-007", "DRV-003")),
    Fault("bonus-of-the-row-before", "BONUS", OF, ("L4",), "Draws the bonus token from the row of the last draft.", ("DRV-007", "DRV-008")),
    Fault("bonus-behind-the-last-draft-alone", "BONUS", OF, ("L4",), "Draws the bonus token behind the text and the last draft, as if there were one.", ("DRV-007", "DRV-008")),
)
