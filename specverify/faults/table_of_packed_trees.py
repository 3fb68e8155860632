"""Planted faults of packed batches of draft trees: in how kernels follow links, and what they take for each request. Data only; the code is in `planted_*`."""

from specverify.faults.fault import Fault

_LCRS = "verify_tree_lcrs"

# fmt: off
TABLE = (
    Fault("list-of-siblings-read-on-from-behind", "PADDING", _LCRS, ("B079", "faults, TREE"), "Follows the end of a list of siblings, -1, to the last slot.", ("TRE-014", "TRE-018")),
    Fault("first-children-of-the-request-before", "ROW", _LCRS, ("B036", "B041"), "Reads the first children of the request before it.", ("TRE-014", "TRE-013")),
    Fault("slot-behind-the-last-node-tried", "PADDING", _LCRS, ("B083", "theory A4"), "Tries the slot behind the last node as a child of the context.", ("TRE-014", "TRE-013")),
    Fault("place-41-takes-its-neighbours-tree", "ROW", _LCRS, ("B041",), "Verifies the tree behind it for the request in place 41.", ("TRE-021",)),
    Fault("residual-kept-behind-a-refused-sibling", "TREE", _LCRS, ("L4", "theory 1c"), "Goes on with the whole row after a sibling is refused.", ("TRE-018",)),
    Fault("q-without-siblings-not-renormalised", "TREE", _LCRS, ("theory 1c",), "Takes refused siblings out of q, and leaves its sum below 1.", ("TRE-018",)),
    Fault("equal-sibling-passed-over", "TREE", _LCRS, ("L20", "theory 1c"), "Passes over a sibling whose token was tried before.", ("TRE-018",)),
    Fault("bonus-of-the-place-above-a-leaf", "BONUS", _LCRS, ("B040", "B048"), "Draws the token behind a leaf from the row of the place above it.", ("TRE-015", "TRE-018")),
    Fault("no-tree-takes-the-row-of-the-request-before", "BONUS", _LCRS, ("B041", "theory A8"), "Draws the token of a request without a tree from the request before it.",
          ("TRE-015", "TRE-018")),
    Fault("one-coin-for-all-siblings", "RNG", _LCRS, ("B051", "B053"), "Tries all siblings with the coin of the place above them.", ("TRE-018",)),
    Fault("coins-read-by-nodes", "RNG", _LCRS, ("B052", "B059"), "Reads coins as if a request had one for each node and one more.", ("TRE-018", "TRE-025", "TRE-024")),
    Fault("place-of-a-tree-in-its-seed", "SEED", _LCRS, ("B056", "B057"), "Adds a request's place in the batch to its seed.", ("TRE-023", "TRE-024")),
    Fault("path-left-as-it-was", "PADDING", _LCRS, ("B078", "faults, PADDING"), "Writes tokens, and nothing behind them.", ("TRE-013",)),
    Fault("all-trees-greedy-where-one-is", "MIXED", _LCRS, ("B064", "B065"), "Treats all requests as greedy where one is.", ("TRE-018",)),
    Fault("narrow-tokens-of-trees-read-as-wide", "VOCAB", _LCRS, ("B228",), "Reads ids of 32 bits two at a time.", ("TRE-027", "TRE-015")),
)
# fmt: on
