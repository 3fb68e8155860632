"""`verify_deterministic_draft`: the step for a draft that was not drawn (n-grams, prompt lookup): q is one-hot."""

from __future__ import annotations

from collections.abc import Mapping

from specverify.contracts import coins
from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Parameter, Stream, array_of, check_names, outside, probability_rows
from specverify.contracts.copies import Copies, sure
from specverify.contracts.picks import Pick
from specverify.contracts.verify_chain import completed, cumulative, emitted_tokens
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("verify_deterministic_draft", case, ("p", "draft"))
    p, draft = probability_rows("verify_deterministic_draft", case, "p"), case["draft"]
    if len(p.shape) != 2 or not isinstance(draft, Array) or draft.shape != (p.shape[0] - 1,):  # noqa: PLR2004
        raise outside("verify_deterministic_draft", "p must have shape (gamma + 1, V) and draft (gamma,)")


def _outcome(case: Case, result: object) -> Outcome:
    rows, width = array_of(case, "p").shape
    return emitted_tokens(result, rows - 1, width)


def _stream(case: Case) -> Stream:
    """Completions from p, by the tool; outcome (draft, n, gamma + 1 tokens)."""
    p, draft = cumulative(array_of(case, "p")), array_of(case, "draft").values

    def finish(pick: Pick, _drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        return completed(pick, draft, outcome, p)

    return Stream(finish=finish)


def _copies(case: Case) -> Copies:
    p = cumulative(array_of(case, "p"))
    return Copies(tuple(sure(int(token), len(p[0])) for token in array_of(case, "draft").values), tuple(p))


CONTRACT = Contract(
    name="verify_deterministic_draft",
    prefix="DET",
    sentence="Accepts a prefix of a draft that was looked up, not drawn, and emits one token more.",
    parameters=(Parameter("p", "(gamma + 1, V)", "rows of the target"), Parameter("draft", "(gamma,)", "draft token ids, int64")),
    returns="token ids, (n + 1,), n the accepted length",
    right="the emitted tokens completed from p follow the product of p's rows, for every draft",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={"p": array("float32", (2, 2), (0.5, 0.5, 0.25, 0.75)), "draft": array("int64", (1,), (0,))},
    equivalents=("n-gram and prompt-lookup verification",),
    stream=_stream,
    copies=_copies,
    coins=coins.Coins("(gamma + 1,)", lambda case: array_of(case, "p").shape[0], coins.chain),
)
