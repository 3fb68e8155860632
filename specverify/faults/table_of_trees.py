"""Planted faults of draft trees: buffers and verify steps. Data only; the code is in `planted_*`."""

from specverify.faults.fault import Fault

# fmt: off
TABLE = (
    Fault("mask-transposed", "TREE", "tree_buffers", ("theory A1",), "A node attends to its descendants instead of its ancestors.", ("TRB-003",)),
    Fault("first-children-see-each-other", "TREE", "tree_buffers", ("B088",), "The children of the context attend to each other.", ("TRB-003",)),
    Fault("mask-without-grandparents", "TREE", "tree_buffers", ("theory A1",), "A node attends to itself and its parent alone.", ("TRB-003",)),
    Fault("stale-bits-in-the-mask", "TREE", "tree_buffers", ("faults, TREE",), "Keeps one buffer for all masks, and clears nothing in it.", ("TRB-003",)),
    Fault("mask-in-a-word", "TREE", "tree_buffers", ("faults, TREE",), "Packs whom a node attends to into a word of 32 bits.", ("TRB-003",)),
    Fault("position-is-the-index", "TREE", "tree_buffers", ("B089",), "Takes a node's index for its position.", ("TRB-004",)),
    Fault("positions-from-zero", "TREE", "tree_buffers", ("theory A2",), "Counts depth from 0: the first children stand where the context ends.", ("TRB-004",)),
    Fault("position-of-the-last-parent", "TREE", "tree_buffers", ("B085",), "Counts on from the node before, which need not be the parent.", ("TRB-004",)),
    Fault("equal-tokens-merged", "TREE", "tree_buffers", ("B090",), "Takes equal tokens at one depth for one node, whatever stands above them.", ("TRB-002",)),
    Fault("repeated-paths-kept", "TREE", "tree_buffers", ("theory A5",), "Makes new nodes for a path that comes again.", ("TRB-002",)),
    Fault("merged-with-the-path-before", "TREE", "tree_buffers", ("theory A5",), "Shares a beginning with the path before alone: paths must come sorted.", ("TRB-002",)),
    Fault("nodes-by-16-bit-ids", "TREE", "tree_buffers", ("B228",), "Keys nodes by ids modulo 65,536.", ("TRB-002",)),
    Fault("branches-cut-to-the-shortest", "TREE", "tree_buffers", ("theory A3",), "Cuts every row of retrieve to the shortest branch.", ("TRB-005",)),
    Fault("fails-at-depth-one", "TREE", "tree_buffers", ("B093",), "Fails on a tree of depth 1.", ("TRB-001",)),
    Fault("branches-padded-with-zero", "PADDING", "tree_buffers", ("B081", "B090"), "Fills rows of retrieve with 0, a node's number.", ("TRB-008",)),
    Fault("branches-padded-with-the-leaf", "PADDING", "tree_buffers", ("theory A4",), "Repeats the leaf to the end of its row.", ("TRB-008",)),
    Fault("tree-taken-for-a-chain", "TREE", "verify_tree_greedy", ("B089",), "Goes on to the next node in the span, whatever hangs under what.", ("TRG-002",)),
    Fault("path-from-the-leaf-up", "TREE", "verify_tree_greedy", ("theory A3",), "Gives the path in the order in which parents are followed.", ("TRG-002",)),
    Fault("agrees-by-itself", "TREE", "verify_tree_greedy", ("theory A5",), "Takes the deepest node that agrees, whether those above it agree or not.", ("TRG-003",)),
    Fault("agreements-counted", "TREE", "verify_tree_greedy", ("B026", "theory A3"), "Counts the nodes of a branch that agree, those behind a mismatch too.", ("TRG-003",)),
    Fault("judged-by-its-own-row", "TREE", "verify_tree_greedy", ("B037", "theory A6"), "Holds a node against its own row instead of that above it.", ("TRG-003",)),
    Fault("next-token-of-the-last-node", "TREE", "verify_tree_greedy", ("B087",), "Takes the next token from the last row, as of a chain.", ("TRG-003",)),
    Fault("next-token-of-the-depth", "TREE", "verify_tree_greedy", ("B087", "B092"), "Takes the row whose index is the accepted length.", ("TRG-003",)),
    Fault("ragged-branches-read-token-0", "PADDING", "verify_tree_greedy", ("B081", "B090"),
          "Compares the places behind a short branch as token 0, with the last node's row.", ("TRG-003",)),
    Fault("ragged-branches-read-the-last-token", "PADDING", "verify_tree_greedy", ("B079",),
          "Looks the pad -1 behind a short branch up in the row: the last token's entry.", ("TRG-002", "TRG-003")),
    Fault("pads-clamped-to-token-0", "PADDING", "verify_tree_greedy", ("B079", "B081"), "Clamps the tokens of pads to 0, and compares them.", ("TRG-007",)),
    Fault("pads-read-from-the-end", "PADDING", "verify_tree_greedy", ("B079",), "Reads the row's entry at the pad -1: the last token's.", ("TRG-007",)),
    Fault("next-token-of-the-last-slot", "PADDING", "verify_tree_greedy", ("B083",), "Takes the row of the last slot where a branch was accepted to its leaf.",
          ("TRG-003", "TRG-007")),
)
