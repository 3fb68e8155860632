"""`generate`: a whole loop, target and draft models in, new token ids out.

    @sv.subject("generate", models="module", supports=("temperature", "eos"))
    def generate(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        ...
        return ids                             # the new ones alone, EOS included

`models=` declares the form of both models; `"whisper"` gets the prompt as features (1, mels, frames), since its models hear. `supports=` declares which parameters it heeds, where it does not heed all: the others come at their neutral value
(temperature 1, top_k V, top_p 1, eos None), and what needs them is not judged. Several prompts follow each other on the same two model objects, a call each; each call has
a seed of its own, where seeds are taken, but with `rng="counter"`.

    @sv.subject("generate", models="module", batch=True, conventions={"padding": "right"})

With `batch=True` a call has several prompts: `prompt` is then (ids (B, S), lengths (B,)), and the result B rows, of lists or of a matrix filled with `sentinel=`, or these and
their lengths (B,). `conventions={"context": 64}`: ids of prompt and text together, at which a text ends.

A case is about tables, or about real models with random weights (`weights`). What such a model's rows are is known where it runs alone: a case that carries `texts` asks for them, and does not call
the subject.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import (
    Case,
    Contract,
    Convention,
    Malformed,
    Opaque,
    Parameter,
    array_of,
    check_names,
    kind_of,
    outside,
    probability_rows,
    token_list,
)
from specverify.contracts.heard import heard
from specverify.contracts.nodes import are_ids, is_int
from specverify.contracts.ragged import Expected, with_counts
from specverify.contracts.table_models import Prefix, Table, TableModel
from specverify.contracts.weights import VOCABULARY, Weights, is_weights
from specverify.law import Outcome

NAME = "generate"
FEATURES = ("greedy", "temperature", "top_k", "top_p", "eos")
"""What a loop may heed: temperature 0, other temperatures than 1, the filters, an id that ends the text."""
NUMBERS = ("gamma", "max_new_tokens", "temperature", "top_k", "top_p", "eos")
"""Of a call, beside prompt and models."""
ARGUMENTS = ("target", "draft", "prompts", *NUMBERS)
EXPLORED = 512
"""Tokens of a case and drafts of as many rounds, up to which its law is explored: three tokens of two with two drafts each are 512. What is more takes longer than draws."""


def tables(case: Case) -> tuple[Table, Table]:
    """Target and draft of a case; their rows follow its last prompt."""
    text = prompts(case)[-1]
    return Table(array_of(case, "target"), text), Table(array_of(case, "draft"), text)


def calls(case: Case) -> list[list[Prefix]]:
    """The prompts of each call, in order: one, or those of a batch."""
    found = case["prompts"]
    assert isinstance(found, list)
    return [[tuple(row) for row in one] if isinstance(one[0], list) else [tuple(one)] for one in found]


def prompts(case: Case) -> list[Prefix]:
    """Of all calls and their rows, in order."""
    return [prompt for call in calls(case) for prompt in call]


def room(case: Case, prompt: Prefix) -> int:
    """New ids behind a prompt: as many as were asked for, or as the context has room for."""
    most = number(case, "max_new_tokens")
    return min(most, number(case, "context") - len(prompt)) if "context" in case else most


def number(case: Case, name: str) -> int:
    """An argument that is an int."""
    value = case[name]
    assert isinstance(value, int)
    return value


def of_weights(case: Case) -> bool:
    """Whether its models are real ones."""
    return is_weights(case.get("target"))


def weights(case: Case) -> tuple[Weights, Weights]:
    """Of target and draft."""
    target, draft = (Weights(*numbers, dtype=str(case["dtype"])) for numbers in (case["target"], case["draft"]))  # type: ignore[misc]
    return target, draft


def texts(case: Case) -> list[Prefix]:
    """What a real model's rows are asked for, behind each prompt; none where the subject is called."""
    found = case.get("texts", [])
    assert isinstance(found, list)
    return [tuple(one) for one in found]


def _check(case: Case) -> None:
    """A case carries the rows of both tables, or what real models are made of, the prompt of each call, and the numbers of a call."""
    width = _check_weights(case) if of_weights(case) else _check_tables(case)
    given = case["prompts"]
    if not isinstance(given, list) or not given or not all(_is_call(one, width) for one in given):
        raise outside(NAME, "prompts must be lists of ids of the vocabulary, or of such lists for a batch, at least one, and none empty")
    if any(not is_int(case[name]) or number(case, name) < 1 for name in ("gamma", "max_new_tokens", "top_k")) or number(case, "top_k") > width:
        raise outside(NAME, "gamma, max_new_tokens and top_k must be ints of at least 1, and top_k of V at most")
    temperature, top_p = float(str(case["temperature"])), float(str(case["top_p"]))
    if not temperature >= 0 or not 0 < top_p <= 1:
        raise outside(NAME, "temperature must be at least 0, and top_p above 0 and 1 at most")
    if case["eos"] is not None and (not is_int(case["eos"]) or not 0 <= number(case, "eos") < width):
        raise outside(NAME, "eos must be an id of the vocabulary, or None")
    if "context" in case and (not is_int(case["context"]) or number(case, "context") <= max(map(len, prompts(case)))):
        raise outside(NAME, "context must be an int above the length of each prompt")


def _is_call(one: object, width: int) -> bool:
    """Whether it is a prompt, or the prompts of a batch."""
    each = one if isinstance(one, list) and one and isinstance(one[0], list) else [one]
    return all(isinstance(prompt, list) and bool(prompt) and are_ids(prompt) and max(prompt) < width for prompt in each)


def _check_tables(case: Case) -> int:
    """V."""
    check_names(NAME, {name: case[name] for name in case if name != "context"}, ARGUMENTS)
    target, draft = probability_rows(NAME, case, "target"), probability_rows(NAME, case, "draft")
    if len(target.shape) != 2 or target.shape != draft.shape or target.dtype != draft.dtype:  # noqa: PLR2004
        raise outside(NAME, "target and draft must have shape (n, V), both of one dtype")
    return target.shape[1]


def _check_weights(case: Case) -> int:
    """V."""
    check_names(NAME, case, (*ARGUMENTS, "dtype", "texts"))
    if not is_weights(case["draft"]) or case["dtype"] not in FLOATS:
        raise outside(NAME, "target and draft must both be a seed and a percentage, and dtype one of floats")
    if texts(case) and [bool(one) and are_ids(list(one)) and max(one) < VOCABULARY for one in texts(case)] != [True] * len(prompts(case)):
        raise outside(NAME, "texts must be lists of ids, one behind each prompt, and none empty")
    return VOCABULARY


def _prepare(case: Case) -> Case:
    """Tables or weights, which become models of the subject's form, and prompts as arrays."""
    target, draft = weights(case) if of_weights(case) else tables(case)
    return {**case, "target": target, "draft": draft, "prompt": [_handed(case, call) for call in calls(case)]}


def _handed(case: Case, call: list[Prefix]) -> Array | list[Array]:
    """One prompt (S,), or its features where the models hear it; to a loop that takes batches, ids (B, S), filled up on the declared side, and lengths (B,)."""
    if case.get("models") == "whisper":
        return heard(call[0])
    if not case.get("many"):
        return array("int64", (len(call[0]),), call[0])
    longest, pad = max(map(len, call)), int(str(case.get("pad", 0)))
    fills = [(pad,) * (longest - len(prompt)) for prompt in call]
    rows = [(*fill, *prompt) if case.get("padding") == "left" else (*prompt, *fill) for prompt, fill in zip(call, fills, strict=True)]
    return [array("int64", (len(call), longest), [token for row in rows for token in row]), array("int64", (len(call),), [len(prompt) for prompt in call])]


def _play(case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> list[Any]:
    """All calls on the same models: [result, calls of the target, calls of the draft] of each; a model that is called for rows counts each."""
    each, target, draft, *numbers = values
    if texts(case):
        return [target.scored(prompt, text, number(case, "gamma") + 1) for prompt, text in zip(prompts(case), texts(case), strict=True)]
    for model in (target, draft):
        if isinstance(model, TableModel):
            model.forget()
    told: list[Any] = []
    for prompt in each:
        before = _calls(target), _calls(draft)
        result = subject(prompt, target, draft, *numbers)
        told.append([result, _calls(target) - before[0], _calls(draft) - before[1]])
    return told


def _calls(model: Any) -> int:
    return len(model.asked) if isinstance(model, TableModel) else int(model.calls)


def _outcome(case: Case, result: object) -> Outcome:
    """((new ids, calls of the target, calls of the draft), …), a row of a call each; of texts (rows of the oracle, of steps, of blocks), rows as tuples."""
    assert isinstance(result, list)
    if texts(case):
        return tuple(tuple(tuple(rows.rows()) for rows in one) for one in result)
    width, most = _width(case), number(case, "max_new_tokens")
    each = [
        (row, prompt, counts)
        for (one, *counts), call in zip(result, calls(case), strict=True)
        for row, prompt in zip(_rows(case, one, len(call)), call, strict=True)
    ]
    return tuple((new_ids(row, prompt, width, most), *counts) for row, prompt, counts in each)


def _width(case: Case) -> int:
    """V."""
    return VOCABULARY if of_weights(case) else array_of(case, "target").shape[-1]


def _rows(case: Case, result: object, count: int) -> list[object]:
    """Of a batch the rows, without what fills them; of one prompt the result."""
    if not case.get("many"):
        return [result]
    width, sentinel = _width(case), case.get("sentinel")
    fills = sentinel if isinstance(sentinel, int) else None
    known = None if fills is None or 0 <= fills < width else fills
    rows = with_counts(result, Expected([()] * count, width, sentinel=known))
    return [_unfilled(row, case["eos"], fills, told=not isinstance(result, Array)) for row in rows]


def _unfilled(row: list[int], eos: object, sentinel: int | None, *, told: bool) -> list[int]:
    """A row without what fills a matrix behind its end where that is an id; such an id must be declared, unless each row has its own length (`told`)."""
    behind = row[row.index(eos) + 1 :] if eos in row else []
    if sentinel is None and not told and len(set(behind)) == 1:
        raise Malformed(
            f"id {behind[0]} stands {len(behind)} times behind the end of a row; declare sentinel={behind[0]} if it fills up, or return a list of rows"
        )
    return row[: len(row) - len(behind)] if set(behind) == {sentinel} else row


def new_ids(result: object, prompt: Prefix, width: int, most: int) -> Prefix:
    """The new ids of a result, or Malformed with what an adapter should do."""
    if isinstance(result, str) and not isinstance(result, Opaque):
        raise Malformed("text came back, not token ids; return the ids before they are decoded")
    if isinstance(result, Opaque):
        raise Malformed(f"an object of type {kind_of(result)} came back, not token ids; return its ids alone")
    ids = _flat(result)
    if len(ids) > most and tuple(ids[: len(prompt)]) == prompt and len(ids) - len(prompt) <= most:
        raise Malformed("the prompt comes first in the result; return what follows it, ids[len(prompt):]")
    strange = [token for token in ids if not 0 <= token < width]
    if strange:
        raise Malformed(f"token id {strange[0]} is outside 0 … {width - 1}")
    return tuple(ids)


def _flat(result: object) -> list[int]:
    """Of a row, or of a batch of one."""
    if isinstance(result, Array):
        if len(result.shape) > 1 and any(size != 1 for size in result.shape[:-1]):
            raise Malformed(f"the result has shape {result.shape}; return one row of new ids, (n,) or (1, n)")
        return token_list(result)
    if isinstance(result, list) and any(isinstance(one, (Array, list)) for one in result):
        if len(result) != 1:
            raise Malformed(f"{len(result)} values came back, such as a tuple or a mapping; return the new ids alone")
        return _flat(result[0])
    return token_list(result)


def _outcomes(case: Case) -> int:
    """Tokens of all calls, and the drafts of as many rounds."""
    tokens = number(case, "max_new_tokens") * len(prompts(case))
    return int(array_of(case, "target").shape[-1] ** (tokens + tokens * number(case, "gamma")))


def _table(values: Sequence[float]) -> Array:
    return array("float32", (3, 2), values)


CONTRACT = Contract(
    name=NAME,
    prefix="GEN",
    sentence="Continues a prompt with a target model, helped by a draft model.",
    parameters=(
        Parameter("prompt", "(S,)", "token ids, int64; of a batch, ids (B, S) and lengths (B,); of the form whisper, features (1, mels, frames)"),
        Parameter("target", "a model", "the target, in the form that models= declares"),
        Parameter("draft", "a model", "the draft model, in the same form"),
        Parameter("gamma", "int", "tokens to draft in a round, or fewer"),
        Parameter("max_new_tokens", "int", "length at which the text ends"),
        Parameter("temperature", "float", "0 is greedy"),
        Parameter("top_k", "int", "1 … V; V keeps all"),
        Parameter("top_p", "float", "in (0, 1]; 1 keeps all"),
        Parameter("eos", "int or None", "the id that ends the text"),
    ),
    returns="the new token ids alone, (n,) or (1, n), EOS included; B rows of them for a batch",
    right="over all rounds, the new ids follow the target as plain decoding does, and end where it ends",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={
        "target": _table((0.5, 0.5, 0.25, 0.75, 0.75, 0.25)), "draft": _table((0.75, 0.25, 0.5, 0.5, 0.5, 0.5)), "prompts": [[1]], "gamma": 1,
        "max_new_tokens": 2, "temperature": 1.0, "top_k": 2, "top_p": 1.0, "eos": None,
    },
    equivalents=("speculative_generate", "speculative_sampling", "assisted_decoding"),
    features=FEATURES,
    conventions={
        "padding": Convention("the side on which the prompts of a batch are filled up to the longest; of one length if nothing is declared", ("right", "left")),
        "pad": Convention("the id that fills them up, a number; 0 if nothing is declared"),
        "context": Convention("ids of prompt and text together, at which a text ends, a number"),
    },
    outcomes=_outcomes,
    calls=lambda case: len(calls(case)),
    prepare=_prepare,
    play=_play,
    widest=EXPLORED,
)  # fmt: skip
