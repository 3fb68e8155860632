"""Planted faults of a prompt's and a tree's forward pass. Data only; the code is in `planted_prefill`."""

from specverify.faults.fault import Fault

OF = "prefill"

# fmt: off
TABLE = (
    Fault("prompt-rows-one-late", "ROW", OF, ("B237", "faults, ROW"), "Gives the row before each token of a prompt, not the one behind it.", ("PRE-002",)),
    Fault("rows-of-the-last-chunk-alone", "ROW", OF, ("B157",), "Gives the rows of the last chunk alone.", ("PRE-001", "PRE-003")),
    Fault("chunk-border-loses-a-position", "KV-TARGET", OF, ("B157", "B124"), "Writes the first token of a chunk over the last one of the chunk before.", ("PRE-003", "PRE-004")),
    Fault("positions-restart-in-each-chunk", "KV-TARGET", OF, ("B102", "faults, KV-TARGET"), "Counts the positions of each chunk from 0, so that it is written over the first.", ("PRE-003", "PRE-004")),
    Fault("lone-token-taken-for-the-first", "KV-TARGET", OF, ("B118",), "Takes a chunk of one token for the first of a text, and empties the cache.", ("PRE-004", "PRE-003")),
    Fault("siblings-seen", "TREE", OF, ("B088", "theory A1"), "Lets a node see the siblings before it.", ("PRE-005",)),
    Fault("parent-skipped", "TREE", OF, ("theory A1",), "Lets a node see itself and those above its parent, but not its parent.", ("PRE-006",)),
    Fault("parents-counted-with-the-root", "TREE", OF, ("B085", "paper-systems"), "Reads parents as if the prompt were node 0.", ("PRE-006",)),
    Fault("tree-sees-the-last-chunk-alone", "TREE", OF, ("theory A2",), "Runs a tree behind the last chunk, as if that were the whole prompt.", ("PRE-007",)),
    Fault("prompt-of-the-call-before-kept", "KV-TARGET", OF, ("B098", "B122"), "Reads a prompt behind the one of the call before.", ("PRE-008",)),
    Fault("tree-of-the-call-before-kept", "KV-TARGET", OF, ("theory A7",), "Takes the prompt of the call before out of the cache, and not its tree.", ("PRE-008",)),
    Fault("cached-prefix-told-by-its-length", "KV-TARGET", OF, ("L21", "B133"), "Takes kept rows for a chunk that ends at the same length.", ("PRE-008",)),
)
# fmt: on
