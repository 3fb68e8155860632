"""`verify_tree_greedy`: the path of a draft tree that the target's argmax agrees with, and its next token."""

from __future__ import annotations

from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Parameter, array_of, check_names, outside
from specverify.contracts.logits import logit_rows
from specverify.contracts.nodes import CONVENTIONS, check_nodes, path_and_token
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("verify_tree_greedy", case, ("logits", "parents", "tokens"))
    logits = logit_rows("verify_tree_greedy", case)
    if len(logits.shape) != 2 or logits.shape[0] != check_nodes("verify_tree_greedy", case, logits.shape[1]) + 1:  # noqa: PLR2004
        raise outside("verify_tree_greedy", "logits must have shape (n + 1, V) for n nodes")


def _outcome(case: Case, result: object) -> Outcome:
    rows, width = array_of(case, "logits").shape
    return path_and_token(result, rows - 1, width)


CONTRACT = Contract(
    name="verify_tree_greedy",
    prefix="TRG",
    sentence="Accepts the path of a draft tree that the target's argmax agrees with and emits the argmax after it.",
    parameters=(
        Parameter("logits", "(n + 1, V)", "rows of the target: row 0 after the context, row i + 1 after node i"),
        Parameter("parents", "(n,)", "the node above each, int64; -1 is the context"),
        Parameter("tokens", "(n,)", "the token of each node, int64"),
    ),
    returns="path of node numbers, next token; pads below 0 may fill the path up",
    right="the deepest path whose tokens are argmaxes, each of the row above it, then the argmax of the row behind it; no randomness",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={
        "logits": array("float32", (3, 3), (0, 2, 1, 3, 1, 0, 0, 1, 2)),
        "parents": array("int64", (2,), (-1, -1)),
        "tokens": array("int64", (2,), (2, 1)),
    },
    conventions=CONVENTIONS,
)
