"""`verify_chain`: accept a prefix of a chain of draft tokens and emit one token more."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from specverify.contracts import coins
from specverify.contracts.arrays import Array, array
from specverify.contracts.base import (
    Case,
    Contract,
    Malformed,
    Parameter,
    Stream,
    array_of,
    check_names,
    outside,
    probability_rows,
    token_list,
)
from specverify.contracts.copies import Copies, sure
from specverify.contracts.picks import Pick
from specverify.law import Outcome


def _check(case: Case) -> None:
    """A case carries p and q, and a draft unless the stream is to draw it."""
    check_names("verify_chain", case, ("p", "q", "draft") if "draft" in case else ("p", "q"))
    p, q = probability_rows("verify_chain", case, "p"), probability_rows("verify_chain", case, "q")
    if len(p.shape) != 2 or q.shape != (p.shape[0] - 1, p.shape[1]) or p.dtype != q.dtype:  # noqa: PLR2004
        raise outside("verify_chain", "p must have shape (gamma + 1, V), q (gamma, V), both of one dtype")
    draft = case.get("draft")
    if draft is None:
        return
    if not isinstance(draft, Array) or draft.shape != q.shape[:1] or not all(token in range(q.shape[1]) for token in draft.values):
        raise outside("verify_chain", "draft must have shape (gamma,) and hold ids of the vocabulary")


def _outcome(case: Case, result: object) -> Outcome:
    gamma, width = array_of(case, "q").shape
    return emitted_tokens(result, gamma, width)


def emitted_tokens(result: object, gamma: int, width: int) -> Outcome:
    """A step's result as a tuple of 1 to gamma + 1 token ids below `width`, or Malformed."""
    tokens = token_list(result)
    if not 1 <= len(tokens) <= gamma + 1:
        raise Malformed(f"{len(tokens)} tokens came back for {gamma} draft token{'s' * (gamma != 1)}; 1 to {gamma + 1} are possible")
    if not all(0 <= token < width for token in tokens):
        raise Malformed(f"token id {next(t for t in tokens if not 0 <= t < width)} is outside 0 … {width - 1}")
    return tuple(tokens)


def _stream(case: Case) -> Stream:
    """Drafts drawn from q, completions from p, both by the tool; outcome (draft, n, gamma + 1 tokens)."""
    p, q = cumulative(array_of(case, "p")), cumulative(array_of(case, "q"))
    fixed = array_of(case, "draft") if "draft" in case else None

    def draw(pick: Pick) -> dict[str, object]:
        return {} if fixed is not None else {"draft": array("int64", (len(q),), [pick(row) for row in q])}

    def finish(pick: Pick, drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        draft = drawn.get("draft", fixed)
        assert isinstance(draft, Array)
        return completed(pick, draft.values, outcome, p)

    return Stream(draw, finish)


def _copies(case: Case) -> Copies:
    p, q = cumulative(array_of(case, "p")), cumulative(array_of(case, "q"))
    fixed = [sure(int(token), len(p[0])) for token in array_of(case, "draft").values] if "draft" in case else q
    return Copies(tuple(fixed), tuple(p))


def completed(pick: Pick, draft: Sequence[float], outcome: Outcome, p: list[list[float]]) -> Outcome:
    """(draft, n, tokens completed from p); an exception or a malformed result as it is."""
    if not isinstance(outcome[0], int):
        return outcome
    rest = tuple(pick(row) for row in p[len(outcome) :])
    return (tuple(draft), len(outcome) - 1, outcome + rest)


def cumulative(rows: Array) -> list[list[float]]:
    """Cumulative sums of each row."""
    return [list(itertools.accumulate(row)) for row in rows.rows()]


CONTRACT = Contract(
    name="verify_chain",
    prefix="CHN",
    sentence="Accepts a prefix of the draft tokens and emits one token more.",
    parameters=(
        Parameter("p", "(gamma + 1, V)", "rows of the target"),
        Parameter("q", "(gamma, V)", "rows of the draft"),
        Parameter("draft", "(gamma,)", "draft token ids, int64"),
    ),
    returns="token ids, (n + 1,), n the accepted length",
    right="with the draft drawn from q, the emitted tokens completed from p follow the product of p's rows",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={
        "p": array("float32", (2, 2), (0.5, 0.5, 0.25, 0.75)),
        "q": array("float32", (1, 2), (0.75, 0.25)),
        "draft": array("int64", (1,), (0,)),
    },
    equivalents=("speculative_sampling", "rejection_sample"),
    stream=_stream,
    copies=_copies,
    coins=coins.Coins("(gamma + 1,)", lambda case: array_of(case, "p").shape[0], coins.chain),
)
