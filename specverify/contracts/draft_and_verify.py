"""`draft_and_verify`: a round of a loop, drafter and verifier together.

    @sv.subject("draft_and_verify")
    def draft_and_verify(target, draft, prefix, gamma):
        drafted, q = ...                       # ids, and the rows that they were drawn from
        tokens = ...                           # those accepted, and one more
        return tokens, q, drafted              # or (tokens, q), or {"tokens": …, "q": …, "drafted": …}

`target` and `draft` are called with a prefix, any sequence of ids, and give the row (V,) behind it. Several rounds follow each other on the text with the tokens that
were emitted. Each call has a seed of its own, where seeds are taken; with `rng="counter"` all rounds of a text have one, since numbers are a function of seed and position then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import (
    Case,
    Contract,
    Convention,
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
from specverify.contracts.nodes import are_ids, is_int
from specverify.contracts.picks import Pick
from specverify.contracts.results import float_array_result, of_one
from specverify.contracts.table_models import Prefix, Table, TableModel
from specverify.contracts.verify_chain import emitted_tokens
from specverify.law import Outcome

NAME = "draft_and_verify"
PARTS = ("tokens", "q", "drafted")
NOWHERE = -1
"""The place of a draft token that the q reported gives no probability."""


def tables(case: Case) -> tuple[Table, Table]:
    """Target and draft of a case."""
    text = _ids(case["prefix"])
    return Table(array_of(case, "target"), text), Table(array_of(case, "draft"), text)


def length(case: Case) -> int:
    """Tokens that all rounds emit at most."""
    return _number(case, "rounds") * (_number(case, "gamma") + 1)


def _number(case: Case, name: str) -> int:
    value = case[name]
    assert isinstance(value, int)
    return value


def _ids(value: object) -> Prefix:
    assert isinstance(value, list)
    return tuple(value)


def _check(case: Case) -> None:
    """A case carries the rows of both tables, the text, gamma, how many rounds follow each other, and into how many places draft tokens are sorted, or 0."""
    check_names(NAME, case, ("target", "draft", "prefix", "gamma", "rounds", "places"))
    target, draft = probability_rows(NAME, case, "target"), probability_rows(NAME, case, "draft")
    if len(target.shape) != 2 or target.shape != draft.shape or target.dtype != draft.dtype:  # noqa: PLR2004
        raise outside(NAME, "target and draft must have shape (n, V), both of one dtype")
    prefix, least = case["prefix"], {"gamma": 0, "rounds": 1, "places": 0}
    if not prefix or not are_ids(prefix) or not all(token < target.shape[1] for token in _ids(prefix)):
        raise outside(NAME, "prefix must be a list of ids of the vocabulary, and not empty")
    if any(not is_int(case[name]) or _number(case, name) < low for name, low in least.items()):
        raise outside(NAME, "gamma and places must be ints of at least 0, and rounds one of at least 1")


def _prepare(case: Case) -> Case:
    """Tables as models, and the text as a tuple."""
    target, draft = tables(case)
    return {**case, "target": TableModel(target), "draft": TableModel(draft), "prefix": target.text}


def _play(case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> list[Any]:
    """All rounds, each on the text that the ones before have left: [result, prefixes that the target was asked for, those of the draft] of each."""
    target, draft, prefix, gamma = values
    told: list[Any] = []
    for _ in range(_number(case, "rounds")):
        target.forget()
        draft.forget()
        result = _split(subject(target, draft, prefix, gamma))
        told.append([result, list(target.asked), list(draft.asked)])
        emitted = _readable(result, target.width)
        if emitted is None:
            break
        prefix = (*prefix, *emitted)
    return told


def _split(result: Any) -> Any:
    """A mapping as its parts; anything else as it is."""
    if isinstance(result, Mapping) and {"tokens", "q"} <= result.keys() <= set(PARTS):
        return [result.get(part) for part in PARTS]
    return result


def _readable(result: Any, width: int) -> list[int] | None:
    """The ids that a round emitted, of a batch of one too, or none where it is no round's result; `_outcome` says why."""
    try:
        tokens = result[0].tolist() if hasattr(result[0], "tolist") else list(result[0])
        emitted = [int(token) for token in (tokens[0] if tokens and isinstance(tokens[0], list) else tokens)]
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return emitted if all(0 <= token < width for token in emitted) else None


def _outcome(case: Case, result: object) -> Outcome:
    """((tokens, drafted or None, q, prefixes asked of the target, those of the draft), …), a round each."""
    assert isinstance(result, list)
    return tuple(_round(case, *one) for one in result)


def _round(case: Case, result: object, *asked: list[list[int]]) -> Outcome:
    if not isinstance(result, (list, tuple)) or not 2 <= len(result) <= len(PARTS):  # noqa: PLR2004
        raise Malformed(f"the result is no (tokens, q) or (tokens, q, drafted) but {kind_of(result)}")
    keys = [part[0] for part in result if isinstance(part, list) and part and isinstance(part[0], str)]
    if keys:
        raise Malformed(f"the result is a mapping with {', '.join(keys)}; the keys are tokens, q and, where drafts are told, drafted")
    width, gamma = array_of(case, "target").shape[-1], _number(case, "gamma")
    q = _rows(result[1], width)
    if q.shape[0] > gamma:
        raise Malformed(f"q has {q.shape[0]} rows, and {gamma} tokens were to be drafted at most")
    drafted = None if len(result) == 2 or result[2] is None else tuple(token_list(result[2]))  # noqa: PLR2004
    if drafted is not None and (len(drafted) != q.shape[0] or not all(0 <= token < width for token in drafted)):
        raise Malformed(f"{len(drafted)} draft tokens are told beside {q.shape[0]} rows of q; each is an id of 0 … {width - 1} and has a row")
    return (emitted_tokens(result[0], q.shape[0], width), drafted, q, *(tuple(map(tuple, one)) for one in asked))


def _rows(value: object, width: int) -> Array:
    """Q as (drafted tokens, V) floats; None where nothing was drafted."""
    value = of_one(value)
    if not isinstance(value, (Array, list, tuple)) and value is not None:
        raise Malformed(f"q came as {kind_of(value)}, not as rows of floats")
    count = 0 if value is None else len(value) if not isinstance(value, Array) else next(iter(value.shape), 0)
    if not count:
        return array("float64", (0, width), ())
    rows = float_array_result((count, width), value, "a row for each draft token")
    if not all(math.isfinite(x) and x >= 0 for x in rows.values):
        raise Malformed("q holds numbers that are not finite, or below 0")
    return rows


def _stream(case: Case) -> Stream:
    """Completions from the target; outcome (((tokens, drafted or None), …), places of all draft tokens, tokens of all rounds and those that complete them)."""
    target, places, gamma = tables(case)[0], _number(case, "places"), _number(case, "gamma")
    sums = [list(itertools.accumulate(line)) for line in target.lines]

    def finish(pick: Pick, _drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        if not isinstance(outcome[0], tuple):
            return outcome
        tokens: Prefix = tuple(token for one in outcome for token in one[0])
        found = tuple(place for one in outcome for place in sorted_in(pick, one[1], one[2], gamma, places)) if places else ()
        while len(tokens) < length(case):
            tokens = (*tokens, pick(sums[target.number((*target.text, *tokens))]))
        return tuple(one[:2] for one in outcome), found, tokens

    return Stream(finish=finish)


def sorted_in(pick: Pick, drafted: Prefix | None, q: Array, gamma: int, places: int) -> Prefix:
    """The place of each draft token among equal parts of its row's cumulative sum, drawn where a token lies in several.

    Where each token follows the row reported, whatever that depends on, places are uniform and independent (the probability integral transform). A token that was not
    drafted has a place that is drawn; of drafts that are not told there are none.
    """
    if drafted is None:
        return ()
    found = [_place(pick, row, token, places) for row, token in zip(q.rows(), drafted, strict=True)]
    uniform = [float(part + 1) for part in range(places)]
    return (*found, *(pick(uniform) for _ in range(gamma - len(found))))


def _place(pick: Pick, row: Sequence[float], token: int, places: int) -> int:
    low = math.fsum(row[:token])
    high = low + row[token]
    inside = [max(0.0, min(high, (part + 1) / places) - max(low, part / places)) for part in range(places)]
    return pick(list(itertools.accumulate(inside))) if any(inside) else NOWHERE


def _outcomes(case: Case) -> int:
    """Drafts and tokens of all rounds."""
    return int(array_of(case, "target").shape[-1] ** (length(case) + _number(case, "rounds") * _number(case, "gamma")))


def _table(values: Sequence[float]) -> Array:
    return array("float32", (3, 2), values)


CONTRACT = Contract(
    name=NAME,
    prefix="DRV",
    sentence="Drafts tokens behind a text, accepts the first of them and emits one token more.",
    parameters=(
        Parameter("target", "prefix -> (V,)", "the target: row of probabilities behind a prefix, any sequence of ids"),
        Parameter("draft", "prefix -> (V,)", "the draft model, in the same way"),
        Parameter("prefix", "tuple of ints", "the text so far"),
        Parameter("gamma", "int", "tokens to draft, or fewer; 0 is a plain decoding step"),
    ),
    returns="token ids (n + 1,), q (drafted tokens, V), and, if it tells them, the drafted ids",
    right="draft tokens follow the q reported; over several rounds, the tokens completed by the target follow the target",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={
        "target": _table((0.5, 0.5, 0.25, 0.75, 0.75, 0.25)), "draft": _table((0.75, 0.25, 0.5, 0.5, 0.5, 0.5)), "prefix": [1], "gamma": 1,
        "rounds": 1, "places": 0,
    },
    conventions={
        "drafting": Convention("whether gamma tokens are drawn from the rows that the draft gives, as they are, or by a law of its own, which q then holds", ("rows", "own")),
        "without_drafts": Convention("what a round without drafts is, gamma = 0; undeclared, it may be refused", ("plain",)),
    },
    stream=_stream,
    outcomes=_outcomes,
    prepare=_prepare,
    play=_play,
)  # fmt: skip
