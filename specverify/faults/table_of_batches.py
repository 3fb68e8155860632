"""Planted faults of batches: where requests, their rows, their random numbers and the padding between them meet. Data only; the code is in `planted_verify_batch`."""

from specverify.faults.fault import Fault

_BATCH = "verify_batch"

# fmt: off
TABLE = (
    Fault("rows-of-the-next-request", "ROW", _BATCH, ("B036", "B041"), "Verifies each request against the target rows of the next.", ("BAT-003", "BAT-008")),
    Fault("residual-of-the-first-request", "ROW", _BATCH, ("B040", "B046"), "Takes the target row of the residual from the first request.", ("BAT-003", "BAT-006", "BAT-008")),
    Fault("draft-rows-of-the-first-request", "Q-MISMATCH", _BATCH, ("B042", "B046"), "Reads the draft rows of the first request for all.", ("BAT-006", "BAT-008")),
    Fault("bonus-of-the-next-request", "BONUS", _BATCH, ("B048", "B036"), "Draws the bonus from the row behind: the next request's first.", ("BAT-003", "BAT-008")),
    Fault("bonus-behind-the-padding", "BONUS", _BATCH, ("B048", "B036"), "Draws the bonus from row K, whatever the request's length.", ("BAT-003", "BAT-008")),
    Fault("padding-read-as-draft", "PADDING", _BATCH, ("theory A4", "B036"), "Verifies the padding as well, and cuts what came of it to the lengths.", ("BAT-008",)),
    Fault("empty-request-shifts-the-others", "ROW", _BATCH, ("B036", "B059"), "Leaves out requests without drafts, and reads the others' rows as if they were there.",
          ("BAT-003", "BAT-008")),
    Fault("uniforms-shared-by-requests", "RNG", _BATCH, ("statistics 2.7", "B053"), "Lets all requests of a batch draw the same numbers.", ("BAT-008",)),
    Fault("reseeded-for-each-batch", "SEED", _BATCH, ("B053", "B058"), "Seeds the generator anew for each batch.", ("BAT-009", "BAT-008")),
    Fault("one-seed-for-all", "SEED", _BATCH, ("B057",), "Gives all requests the seed of the first.", ("BAT-008", "BAT-015", "BAT-016")),
    Fault("seeds-by-place", "SEED", _BATCH, ("B056", "B057"), "Seeds each request by its place in the batch, and not by its own seed.", ("BAT-015", "BAT-016")),
    Fault("one-generator-for-all", "SEED", _BATCH, ("B058", "B059"), "Draws for all requests from one generator, of the sum of their seeds.", ("BAT-015", "BAT-016")),
    Fault("seeds-ignored", "SEED", _BATCH, ("B058",), "Takes seeds, and draws from the global generator.", ("BAT-014",)),
    Fault("seeds-skip-empty-requests", "SEED", _BATCH, ("B059",), "Hands out seeds in order, and none to a request without drafts.", ("BAT-018", "BAT-015", "BAT-016")),
    Fault("uniforms-drawn-for-the-padding", "SEED", _BATCH, ("B059",), "Draws a number from the request's generator for each of K places, padding included.", ("BAT-017",)),
    Fault("temperature-of-the-first-request", "MIXED", _BATCH, ("B064",), "Treats all requests as greedy where the first is.", ("BAT-008",)),
    Fault("bonus-greedy-beside-a-greedy-request", "MIXED", _BATCH, ("B064", "B065"), "Takes the most probable bonus for all where one request is greedy.", ("BAT-008",)),
    Fault("greedy-draft-accepted-by-ratio-of-ranks", "MIXED", _BATCH, ("B062", "B064"), "Accepts the whole draft of a greedy request.", ("BAT-007", "BAT-003")),
    Fault("slots-written-with-the-stride-of-the-drafts", "ROW", _BATCH, ("B036", "B041"), "Writes the last token of each request again, at the place it had if rows were K long.",
          ("BAT-002", "BAT-003")),
    Fault("one-request-of-64-accepts-all", "ROW", _BATCH, ("B041",), "Accepts every draft of the request in place 37.", ("BAT-012",)),
    Fault("bonus-row-at-k-one-beside-k-eight", "BONUS", _BATCH, ("B050",), "Draws the bonus one row late for a request with one draft where K is 8.", ("BAT-008",)),
    Fault("replacement-from-the-first-1024-tokens", "DEGENERATE", _BATCH, ("B041", "B080"), "Draws a replacement from the first 1,024 tokens of the vocabulary.", ("BAT-011",)),
)
# fmt: on
