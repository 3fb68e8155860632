"""`verify_chain_greedy`: the longest prefix that the target's argmax agrees with, and its next token."""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Parameter, array_of, check_names, float_array, outside
from specverify.contracts.verify_chain import emitted_tokens
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("verify_chain_greedy", case, ("logits", "draft"))
    logits, draft = float_array("verify_chain_greedy", case, "logits"), case["draft"]
    if len(logits.shape) != 2 or not isinstance(draft, Array) or draft.shape != (logits.shape[0] - 1,):  # noqa: PLR2004
        raise outside("verify_chain_greedy", "logits must have shape (gamma + 1, V) and draft (gamma,)")


def _outcome(case: Case, result: object) -> Outcome:
    rows, width = array_of(case, "logits").shape
    return emitted_tokens(result, rows - 1, width)


CONTRACT = Contract(
    name="verify_chain_greedy",
    prefix="GRD",
    sentence="Accepts the draft tokens that the target's argmax agrees with and emits the argmax after them.",
    parameters=(Parameter("logits", "(gamma + 1, V)", "rows of the target"), Parameter("draft", "(gamma,)", "draft token ids, int64")),
    returns="token ids, (n + 1,), n the accepted length",
    right="the longest prefix equal to the argmax, then the argmax; no randomness",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"logits": array("float32", (2, 3), (0, 2, 1, 3, 1, 0)), "draft": array("int64", (1,), (1,))},
)
