"""Planted faults of whole loops: caches, ends and lengths, laws over several rounds. Data only; the code is in `planted_generate`."""

from specverify.faults.fault import Fault

OF = "generate"

# fmt: off
TABLE = (
    Fault("rejected-drafts-left-in-the-cache", "KV-TARGET", OF, ("B095", "B098"), "Never cuts the target's cache.", ("GEN-003", "GEN-009")),
    Fault("cache-cut-one-late", "KV-TARGET", OF, ("B121",), "Keeps the first rejected draft in the target's cache.", ("GEN-003", "GEN-009")),
    Fault("cache-cut-one-early", "KV-TARGET", OF, ("B121",), "Cuts the last accepted draft off the target's cache.", ("GEN-003", "GEN-009")),
    Fault("one-slot-too-far-after-a-rejection", "KV-TARGET", OF, ("faults, KV-TARGET",), "Writes the next id one slot too far where no draft was accepted.", ("GEN-003", "GEN-009")),
    Fault("an-id-of-the-prompt-missing", "KV-TARGET", OF, ("paper-systems",), "Loses an id of the prompt from the target's cache.", ("GEN-003", "GEN-009")),
    Fault("cache-kept-from-the-call-before", "KV-TARGET", OF, ("B122",), "Goes on with the cache of the call before, as far as the prompt is long.", ("GEN-005",)),
    Fault("drafts-from-a-stale-cache", "DRAFT-STATE", OF, ("B121", "B002"), "Drafts from a cache that keeps rejected drafts, and judges by the rows of the text.", ("GEN-007",)),
    Fault("q-of-the-draft-before-it-is-warped", "Q-MISMATCH", OF, ("B002", "B007"), "Draws drafts at the temperature, and judges by the draft's raw rows.", ("GEN-011", "GEN-012", "GEN-013")),
    Fault("q-of-the-position-before-in-the-loop", "Q-MISMATCH", OF, ("B040",), "Judges each draft by the q of the one before.", ("GEN-007",)),
    Fault("temperature-applied-twice", "P-MISMATCH", OF, ("B008", "B016"), "Divides by the temperature in place, and again.", ("GEN-011",)),
    Fault("bonus-without-temperature-and-filters", "P-MISMATCH", OF, ("B009", "B017"), "Draws the bonus token from the target's raw row.", ("GEN-011", "GEN-012", "GEN-013")),
    Fault("first-token-always-greedy", "P-MISMATCH", OF, ("paper-systems",), "Takes the argmax behind the prompt.", ("GEN-007",)),
    Fault("temperature-zero-taken-for-one", "LOSSY", OF, ("B184",), "Draws at temperature 1 where 0 is asked for.", ("GEN-009", "GEN-010")),
    Fault("bonus-of-the-draft-in-the-loop", "BONUS", OF, ("L4",), "Draws the bonus token from the draft's row.", ("GEN-003", "GEN-007")),
    Fault("bonus-of-the-last-drafts-row", "BONUS", OF, ("L4", "B092"), "Draws the bonus token from the row of the last draft.", ("GEN-003", "GEN-007")),
    Fault("rejected-draft-drawn-again", "RESIDUAL", OF, ("B018",), "Draws the replacement from the target's row instead of the residual.", ("GEN-007",)),
    Fault("one-number-for-all-tests-of-a-round", "RNG", OF, ("B051", "paper-systems"), "Tests all drafts of a round with one number.", ("GEN-007",)),
    Fault("reseeded-in-every-round", "SEED", OF, ("B053", "paper-systems"), "Seeds the generator anew in every round.", ("GEN-007",)),
    Fault("every-seed-the-same", "SEED", OF, ("B056", "B058"), "Makes the same generator of every seed.", ("GEN-015",)),
    Fault("end-looked-for-in-the-last-token-alone", "EOS", OF, ("B162",), "Writes on behind an end inside an accepted block.", ("GEN-004",)),
    Fault("rejected-end-ends-the-text", "EOS", OF, ("faults, EOS",), "Ends where an end was drafted, though it was rejected.", ("GEN-004",)),
    Fault("bonus-behind-an-accepted-end", "EOS", OF, ("B163",), "Writes a token more behind an end that is the last accepted draft.", ("GEN-004",)),
    Fault("end-token-left-out", "EOS", OF, ("B164",), "Leaves the end token out of the text.", ("GEN-004",)),
    Fault("length-looked-at-between-rounds-alone", "MAXTOKENS", OF, ("B172",), "Writes all tokens of the last round.", ("GEN-002",)),
    Fault("stops-where-a-round-does-not-fit", "MAXTOKENS", OF, ("B175",), "Stops where fewer tokens are left than a round may give.", ("GEN-002",)),
    Fault("rounds-counted-for-tokens", "MAXTOKENS", OF, ("B175",), "Makes as many rounds as full ones would need.", ("GEN-002",)),
    Fault("last-token-lost-at-the-limit", "MAXTOKENS", OF, ("B170",), "Drops the last token of a text that reaches its limit.", ("GEN-002",)),
    Fault("top-p-forgotten-where-top-k-cuts", "P-MISMATCH", OF, ("B011", "B017"), "Leaves top-p out where top-k cuts.", ("GEN-023",)),
    Fault("prompt-not-counted-in-the-context", "MAXTOKENS", OF, ("contracts, F",), "Counts new ids alone against the context limit.", ("GEN-022",)),
    Fault("context-looked-at-between-rounds-alone", "MAXTOKENS", OF, ("B173", "contracts, F"), "Writes all tokens of the round that reaches the context limit.", ("GEN-022",)),
    Fault("stops-where-a-round-does-not-fit-in-the-context", "MAXTOKENS", OF, ("B175", "contracts, F"), "Stops where the context has no room for a whole round.", ("GEN-022",)),
    Fault("pads-read-as-tokens", "PADDING", OF, ("B079", "paper-systems"), "Reads what fills up a short prompt of a batch as part of it.", ("GEN-019",)),
    Fault("prompts-cut-on-the-other-side", "PADDING", OF, ("B079", "paper-systems"), "Takes a prompt that is filled up on the left for one that is on the right.", ("GEN-019",)),
    Fault("replacement-behind-the-fewest-accepted", "ROW", OF, ("theory S12h",), "Cuts all rows to the fewest accepted drafts, and writes the replacement of another place behind them.", ("GEN-019",)),
    Fault("as-many-accepted-as-the-luckiest-row", "ROW", OF, ("theory S12h",), "Keeps as many drafts of each row as of the row that accepts most.", ("GEN-019",)),
    Fault("cache-cut-like-the-first-row", "KV-TARGET", OF, ("theory S12h", "B095"), "Cuts the cache of each row behind as many drafts as the first accepts.", ("GEN-019",)),
    Fault("rows-draw-the-same-numbers", "RNG", OF, ("theory S12h", "B051"), "Draws the same numbers for all rows of a batch.", ("GEN-021",)),
    Fault("rows-go-on-until-all-have-ended", "EOS", OF, ("theory S12g",), "Writes on in rows that have ended until all have.", ("GEN-020",)),
    Fault("all-rows-end-with-the-first", "EOS", OF, ("theory S12g",), "Ends all rows of a batch with the first that ends.", ("GEN-020",)),
)
