"""`prefill`: the rows of a prompt, read in one pass or in chunks, and of a draft tree behind it.

    @sv.subject("prefill", models="module", supports=("chunks",))
    def prefill(model, tokens, chunks, parents):
        ...
        return logits                          # (T, V): a row behind each token, (1, T, V) too

The first S = T - n tokens are the prompt, n the length of `parents`; `chunks` are the lengths in which it is to be read, and add up to S. The others are the nodes of a tree: node i, the token S + i, hangs
under node parents[i], or under the prompt where that is -1. A subject that does not support "chunks" is given (S,), one that does not support "tree" no parents. Several requests follow
each other on one model object, a call each; the last one's rows are judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, array_of, check_names, outside, probability_rows
from specverify.contracts.nodes import CONVENTIONS, ROOT, are_ids, is_int
from specverify.contracts.results import float_array_result, of_one
from specverify.contracts.table_models import Prefix, Table, TableModel

NAME = "prefill"
RETURNS = ("logits", "log-probabilities", "probabilities")


class Request(NamedTuple):
    """One call: all tokens, the lengths in which the prompt is read, and the parents of the nodes behind it."""

    tokens: Prefix
    chunks: tuple[int, ...]
    parents: tuple[int, ...]


def requests(case: Case) -> list[Request]:
    """Of all calls, in order."""
    found: Any = case["requests"]
    return [Request(*map(tuple, one)) for one in found]


def table(case: Case) -> Table:
    """The model's rows; row 0 stands behind the empty text."""
    return Table(array_of(case, "model"), ())


def _check(case: Case) -> None:
    check_names(NAME, case, ("model", "requests"))
    rows, given = probability_rows(NAME, case, "model"), case["requests"]
    if len(rows.shape) != 2:  # noqa: PLR2004
        raise outside(NAME, "model must have shape (n, V)")
    if not isinstance(given, list) or not given or not all(isinstance(one, list) and len(one) == len(Request._fields) for one in given):
        raise outside(NAME, "requests must be lists [tokens, chunks, parents], at least one")
    for tokens, chunks, parents in given:
        if not are_ids(tokens) or not all(token < rows.shape[1] for token in tokens):
            raise outside(NAME, "tokens must be ids of the vocabulary")
        if not isinstance(parents, list) or not all(is_int(one) and ROOT <= one < node for node, one in enumerate(parents)):
            raise outside(NAME, "parents must be -1 or a node before")
        if not isinstance(chunks, list) or not chunks or not all(is_int(one) and one > 0 for one in chunks) or sum(chunks) != len(tokens) - len(parents):
            raise outside(NAME, "chunks must be ints of at least 1, and add up to the prompt's length, of at least 1 too")


def _prepare(case: Case) -> Case:
    """A table, which becomes a model of the subject's form, and the arguments of each call."""
    given = requests(case)
    return {
        "model": table(case),
        "tokens": [array("int64", (len(one.tokens),), one.tokens) for one in given],
        "chunks": [list(one.chunks) for one in given],
        "parents": [array("int64", (len(one.parents),), one.parents) for one in given],
    }


def _play(_case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> Any:
    """What the last call gave; buffers that it shares with those before may be written into."""
    model, *given = values
    if isinstance(model, TableModel):
        model.forget()
    return [subject(model, *one) for one in zip(*given, strict=True)][-1]


def _outcome(case: Case, result: object) -> Array:
    """Rows (T, V) as they came, -inf allowed."""
    shape = len(requests(case)[-1].tokens), array_of(case, "model").shape[-1]
    rows = float_array_result(shape, of_one(result), "a row behind each token")
    if any(math.isnan(x) or x == math.inf for x in rows.values):
        raise Malformed("the rows hold NaN or inf")
    return rows


CONTRACT = Contract(
    name=NAME,
    prefix="PRE",
    sentence="Runs a model over a prompt, in one pass or in chunks, and over a draft tree behind it.",
    parameters=(
        Parameter("model", "a model", "in the form that models= declares"),
        Parameter("tokens", "(T,)", "the prompt's ids and then those of the nodes, int64"),
        Parameter("chunks", "list of int", "lengths in which the prompt is read; one, where chunks are not supported"),
        Parameter("parents", "(n,)", "the node above each node, int64, -1 under the prompt; empty where trees are not supported"),
    ),
    returns="(T, V), a row behind each token",
    right="each row is the model's behind the text that ends there: of a prompt however it is cut, of a node behind its own path",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"model": array("float32", (3, 2), (0.5, 0.5, 0.25, 0.75, 0.75, 0.25)), "requests": [[[0, 1], [2], []]]},
    conventions={
        "returns": Convention("what the rows hold, logits up to a number added to a whole row; undeclared, any of them", RETURNS),
        "order": CONVENTIONS["order"],
    },
    equivalents=("initialize_logits", "tree_decoding", "tree_forward"),
    features=("chunks", "tree"),
    prepare=_prepare,
    play=_play,
)
