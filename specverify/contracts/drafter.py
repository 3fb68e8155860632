"""`drafter`: the tokens that a verifier is to judge, with the rows that they were drawn from.

    @sv.subject("drafter", models="module", conventions={"drafting": "rows"})
    def drafter(context, source, gamma):
        ...
        return tokens, q                       # ids, and a row of q for each; or (tokens, None), or tokens alone

`source` is a draft model in the form that `models=` declares; with `conventions={"source": "corpus"}` it is a list of documents, and with `"context"` an empty list: what is
drafted then stands in the context. A subject with `supports=("id_map",)` is called with the keyword `id_map` as well: the target's id of each draft id, or None; the context and the tokens are
target ids, the model reads draft ids, and q is over these. Several contexts follow each other on the same source, a call each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import (
    Case,
    Contract,
    Convention,
    Generator,
    Malformed,
    Parameter,
    Stream,
    array_of,
    check_names,
    kind_of,
    outside,
    probability_rows,
    token_list,
)
from specverify.contracts.draft_and_verify import sorted_in
from specverify.contracts.nodes import are_ids, is_int, numbers
from specverify.contracts.picks import Pick
from specverify.contracts.results import float_array_result, of_one
from specverify.contracts.table_models import Prefix, Table, TableModel
from specverify.law import Outcome

NAME = "drafter"
PAIR = 2
"""Tokens, and q."""


def contexts(case: Case) -> list[Prefix]:
    """Of all calls, in order."""
    found = case["contexts"]
    assert isinstance(found, list)
    return [tuple(one) for one in found]


def amount(case: Case) -> int:
    """Tokens that are asked for."""
    value = case["gamma"]
    assert isinstance(value, int)
    return value


def targets(case: Case) -> Prefix:
    """The target's id of each id of the source; of documents, whose ids are the target's, none."""
    if isinstance(case["source"], list):
        return ()
    return tuple(range(array_of(case, "source").shape[-1])) if case["id_map"] is None else numbers(case, "id_map")


def model(case: Case) -> Table:
    """The draft model of a case; its rows follow the last context, in draft ids."""
    known = targets(case)
    return Table(array_of(case, "source"), [known.index(token) for token in contexts(case)[-1]])


def _check(case: Case) -> None:
    """A case carries what is drafted from, the context of each call, and into how many places drafts are sorted, or 0."""
    check_names(NAME, case, ("source", "contexts", "gamma", "id_map", "places"))
    source, given, known = case["source"], case["contexts"], case["id_map"]
    if not isinstance(given, list) or not given or not all(one and are_ids(one) for one in given):
        raise outside(NAME, "contexts must be lists of ids, at least one, and none empty")
    if not is_int(case["gamma"]) or not is_int(case["places"]) or amount(case) < 1 or int(str(case["places"])) < 0:
        raise outside(NAME, "gamma must be an int of at least 1, and places one of at least 0")
    if isinstance(source, list):
        if not all(map(are_ids, source)) or known is not None:
            raise outside(NAME, "documents must be lists of ids, without an id map")
        return
    rows = probability_rows(NAME, case, "source")
    if len(rows.shape) != 2 or (known is not None and (not isinstance(known, Array) or known.shape != rows.shape[1:])):  # noqa: PLR2004
        raise outside(NAME, "source must have shape (n, V), and id_map (V,)")
    if not {token for one in given for token in one} <= set(targets(case)):
        raise outside(NAME, "every id of a context must be one that the draft model has")


def _prepare(case: Case) -> Case:
    """Rows as a table, which becomes a model of the subject's form, and contexts as arrays."""
    source = case["source"] if isinstance(case["source"], list) else model(case)
    return {**case, "source": source, "context": [array("int64", (len(one),), one) for one in contexts(case)]}


def _play(_case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> list[Any]:
    """What each call gave, all on the same source."""
    each, source, gamma = values
    if isinstance(source, TableModel):
        source.forget()
    return [subject(context, source, gamma) for context in each]


def _outcome(case: Case, result: object) -> Outcome:
    """((tokens, q or None), …), a call each."""
    assert isinstance(result, list)
    return tuple(_call(case, one) for one in result)


def _call(case: Case, result: object) -> Outcome:
    if isinstance(result, list) and result and isinstance(result[0], list) and result[0] and isinstance(result[0][0], str):
        raise Malformed("a mapping came back; return (tokens, q), or tokens alone")
    told, q = result if _is_pair(result) else (result, None)
    tokens, known = tuple(token_list([] if told is None else told)), targets(case)
    strange = [token for token in tokens if token < 0 or (known and token not in known)]
    if strange:
        raise Malformed(
            f"token {strange[0]} is drafted, which is none of the ids of the drafter" + (", in the target's numbers" if case["id_map"] is not None else "")
        )
    return tokens, None if q is None else _rows(q, len(tokens), len(known) or _width(q))


def _is_pair(result: object) -> TypeGuard[list[object]]:
    """Whether it is (tokens, q), and not two tokens, each an array (1,)."""
    if not isinstance(result, list) or len(result) != PAIR or not (result[0] is None or isinstance(result[0], (Array, list))):
        return False
    return not isinstance(result[1], Array) or result[1].dtype in FLOATS


def _width(q: object) -> int:
    """Of q behind documents, whose vocabulary nobody tells."""
    return q.shape[-1] if isinstance(q, Array) and q.shape else len(q[0]) if isinstance(q, list) and q and isinstance(q[0], (list, tuple)) else 0


def _rows(value: object, count: int, width: int) -> Array:
    value = of_one(value)
    if not isinstance(value, (Array, list)):
        raise Malformed(f"q came as {kind_of(value)}, not as rows of floats")
    if not count and not (value.values if isinstance(value, Array) else value):
        return array("float64", (0, width), ())
    rows = float_array_result((count, width), value, "a row for each draft token")
    if not all(math.isfinite(x) and x >= 0 for x in rows.values):
        raise Malformed("q holds numbers that are not finite, or below 0")
    return rows


def _stream(case: Case) -> Stream:
    """Where places are asked for, the outcome of a draw is the place of each draft token among equal parts of its row (`draft_and_verify.sorted_in`), and () where q is none."""
    places, gamma = int(str(case["places"])), amount(case)

    def finish(pick: Pick, _drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        if not places or not isinstance(outcome[0], tuple):
            return outcome
        return tuple(itertools.chain(*(sorted_in(pick, tokens, q, gamma, places) for tokens, q in outcome if q is not None)))

    return Stream(finish=finish)


def _keywords(case: Case, _rng: Generator) -> dict[str, object]:
    return {"id_map": case["id_map"]}


def _outcomes(case: Case) -> int:
    """Drafts of all calls."""
    return int(array_of(case, "source").shape[-1] ** (amount(case) * len(contexts(case)))) if not isinstance(case["source"], list) else 1


CONTRACT = Contract(
    name=NAME,
    prefix="DRF",
    sentence="Drafts tokens behind a context, from a draft model or from documents, and tells the rows that they were drawn from.",
    parameters=(
        Parameter("context", "(S,)", "token ids, int64"),
        Parameter("source", "a model, or documents", "the draft model in the form that models= declares, or a list of lists of ids"),
        Parameter("gamma", "int", "tokens to draft, at least 1"),
    ),
    optional=(Parameter("id_map", "(V_draft,)", "int64, the target's id of each draft id; or None, where both have the same"),),
    returns="draft ids (n,), and q (n, V_draft) or None; fewer than gamma ids, or none, where nothing more is found",
    right="each token follows the row of q that is told for it, whatever was drafted before; what comes from documents stands there behind the context's end",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={"source": array("float32", (3, 2), (0.75, 0.25, 0.5, 0.5, 0.25, 0.75)), "contexts": [[1]], "gamma": 1, "id_map": None, "places": 0},
    conventions={
        "source": Convention("what is drafted from; a model if nothing is declared", ("model", "corpus", "context")),
        "drafting": Convention(
            "whether drafts are drawn from the model's rows, as they are, or by a law of the drafter's own, which q then holds", ("rows", "own")
        ),
        "amount": Convention("whether a model's drafts are always gamma, or may end early", ("gamma", "at most")),
    },
    equivalents=("CandidateGenerator", "get_candidates", "propose"),
    features=("id_map",),
    stream=_stream,
    outcomes=_outcomes,
    prepare=_prepare,
    keywords=_keywords,
    play=_play,
)
