"""`logprobs`: the log-probability of each emitted token, from the row that it was drawn from.

`tokens` is as long as there are rows, with -1 behind the emitted ones, as a padded step leaves it. A subject that wants the emitted ones alone cuts in an adapter:

    @sv.subject("logprobs", conventions={"kind": "raw"})
    def logprobs(rows, tokens, emitted, temperature, top):
        return engine.gather(rows.log_softmax(-1), tokens[:emitted])

One that supports "top" returns the lists of the `top` likeliest tokens of each emitted token's row as well, (ids (emitted, top), log-probabilities (emitted, top)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, check_names, float_array, kind_of, outside
from specverify.contracts.nodes import is_int, listed, numbers
from specverify.law import Outcome

NAME = "logprobs"
KINDS = ("raw", "processed")
ROWS = ("logits", "p")
PAD = -1
"""Stands in `tokens` behind the emitted ones."""


def _check(case: Case) -> None:
    check_names(NAME, case, ("rows", "tokens", "emitted", "temperature", "top"))
    rows, tokens, emitted, temperature, top = float_array(NAME, case, "rows"), case["tokens"], case["emitted"], case["temperature"], case["top"]
    if len(rows.shape) != 2 or not isinstance(tokens, Array) or tokens.dtype != "int64" or tokens.shape != rows.shape[:1]:  # noqa: PLR2004
        raise outside(NAME, "rows must have shape (gamma + 1, V) and tokens (gamma + 1,), int64")
    if not isinstance(emitted, int) or not 1 <= emitted <= rows.shape[0] or any(t not in range(rows.shape[1]) for t in numbers(case, "tokens")[:emitted]):
        raise outside(NAME, "emitted must be 1 … gamma + 1, and as many tokens ids of the vocabulary")
    if not isinstance(temperature, (int, float)) or not 0 < temperature < math.inf or not is_int(top) or not 0 <= top <= rows.shape[1]:  # type: ignore[operator]
        raise outside(NAME, "temperature must be above 0, and top 0 … V")


def _outcome(case: Case, result: object) -> Outcome:
    """(log-probabilities, none or (ids, their log-probabilities)), as nested tuples."""
    top = case["top"]
    result = listed(result)
    if not top:
        return _floats(result), None
    match result:
        case [entries, [ids, values]]:
            return _floats(entries), _lists(ids, values)
        case _:
            raise Malformed("the result is no pair of log-probabilities and (ids, log-probabilities) of the likeliest tokens")


def _floats(value: object) -> tuple[float, ...]:
    """A flat list of numbers, or a column."""
    if not isinstance(value, list):
        raise Malformed(f"log-probabilities came as {kind_of(value)}")
    flat = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value]
    if not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in flat):
        raise Malformed("log-probabilities are no flat list of numbers")
    return tuple(map(float, flat))


def _lists(ids: object, values: object) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[float, ...], ...]]:
    """Lists of the likeliest tokens: ids and log-probabilities, row by row."""
    if not isinstance(ids, list) or not isinstance(values, list) or len(ids) != len(values):
        raise Malformed("the likeliest tokens are no two lists of rows")
    return tuple(map(_ids, ids)), tuple(_floats(row) for row in values)


def _ids(row: object) -> tuple[int, ...]:
    if not isinstance(row, Sequence) or not all(map(is_int, row)):
        raise Malformed("a row of the likeliest tokens holds something else than ids")
    return tuple(row)


CONTRACT = Contract(
    name=NAME,
    prefix="LGP",
    sentence="Tells the log-probability of each emitted token.",
    parameters=(
        Parameter("rows", "(gamma + 1, V)", "logits of the target, -inf allowed; or rows of p, as declared"),
        Parameter("tokens", "(gamma + 1,)", "the emitted tokens, int64, then -1"),
        Parameter("emitted", "int", "how many were emitted: the accepted ones, and the one behind them"),
        Parameter("temperature", "float", "that the tokens were drawn with; 1 where rows are p"),
        Parameter("top", "int", "how many of the likeliest tokens to list; 0 unless that is supported"),
    ),
    returns="(emitted,), floats; with `top`, also ids and log-probabilities, (emitted, top) each",
    right="entry i is log p_i(x_i): of the logits (raw), or of the logits over the temperature (processed)",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"rows": array("float32", (2, 3), (0, 2, 1, 3, 1, 0)), "tokens": array("int64", (2,), (1, 0)), "emitted": 2, "temperature": 1.0, "top": 0},
    conventions={
        "kind": Convention("of which law they are: the softmax of the logits, or that which tokens are drawn from; undeclared, one of the two", KINDS),
        "rows": Convention("what rows hold; logits if nothing is declared", ROWS),
        "pad": Convention("the number that fills the result up to gamma + 1 entries; without it there are as many as were emitted"),
    },
    equivalents=("gather_logprobs", "get_logprobs", "compute_logprobs"),
    features=("top",),
)
