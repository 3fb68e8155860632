"""`sample`: draw a token from each row."""

from __future__ import annotations

import itertools
import math

from specverify.contracts import coins
from specverify.contracts.arrays import array
from specverify.contracts.base import Case, Contract, Malformed, Parameter, array_of, check_names, probability_rows, token_list
from specverify.contracts.copies import Copies
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("sample", case, ("probs",))
    probability_rows("sample", case, "probs")


def _outcome(case: Case, result: object) -> Outcome:
    """One id for one row, a flat tuple for more; an axis of length one at the end (torch.multinomial's) is welcome."""
    shape = array_of(case, "probs").shape
    tokens, rows, width = token_list(result), math.prod(shape[:-1]), shape[-1]
    if len(tokens) != rows:
        raise Malformed(f"{rows} row{'s' * (rows != 1)} gave {len(tokens)} token ids")
    if not all(0 <= token < width for token in tokens):
        raise Malformed(f"token id {next(t for t in tokens if not 0 <= t < width)} is outside 0 … {width - 1}")
    return tuple(tokens) if len(shape) > 1 else tokens[0]


def _copies(case: Case) -> Copies:
    return Copies((), tuple(list(itertools.accumulate(row)) for row in array_of(case, "probs").rows()))


CONTRACT = Contract(
    name="sample",
    prefix="SMP",
    sentence="Draws one token id from each row of probabilities.",
    parameters=(Parameter("probs", "(..., V)", "rows of probabilities"),),
    returns="token ids, (...) or (..., 1)",
    right="token law equal to probs, rows and calls independent",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={"probs": array("float32", (3,), (0.25, 0.5, 0.25))},
    equivalents=("sample", "gumbel_sample", "multinomial"),
    copies=_copies,
    row_parameters=("probs",),
    coins=coins.Coins("(rows,)", lambda case: math.prod(array_of(case, "probs").shape[:-1]), coins.rows),
)
