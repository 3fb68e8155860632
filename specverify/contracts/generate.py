"""`generate`: a whole loop, target and draft models in, new token ids out.

    @sv.subject("generate", models="module", supports=("temperature", "eos"))
    def generate(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        ...
        return ids                             # the new ones alone, EOS included

`models=` declares the form of both models. `supports=` declares which parameters it heeds, where it does not heed all: the others come at their neutral value
(temperature 1, top_k V, top_p 1, eos None), and what needs them is not judged. Several prompts follow each other on the same two model objects, a call each; each call has
a seed of its own, where seeds are taken, but with `rng="counter"`.

A case is about tables, or about real models with random weights (`weights`). What such a model's rows are is known where it runs alone: a case that carries `texts` asks for them, and does not call
the subject.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import Case, Contract, Malformed, Opaque, Parameter, array_of, check_names, kind_of, outside, probability_rows, token_list
from specverify.contracts.nodes import are_ids, is_int
from specverify.contracts.table_models import Prefix, Table, TableModel
from specverify.contracts.weights import VOCABULARY, Weights, is_weights
from specverify.law import Outcome

NAME = "generate"
FEATURES = ("greedy", "temperature", "top_k", "top_p", "eos")
"""What a loop may heed: temperature 0, other temperatures than 1, the filters, an id that ends the text."""
ARGUMENTS = ("target", "draft", "prompts", "gamma", "max_new_tokens", "temperature", "top_k", "top_p", "eos")
EXPLORED = 512
"""Tokens of a case and drafts of as many rounds, up to which its law is explored: three tokens of two with two drafts each are 512. What is more takes longer than draws."""


def tables(case: Case) -> tuple[Table, Table]:
    """Target and draft of a case; their rows follow its last prompt."""
    text = prompts(case)[-1]
    return Table(array_of(case, "target"), text), Table(array_of(case, "draft"), text)


def prompts(case: Case) -> list[Prefix]:
    """Of all calls, in order."""
    found = case["prompts"]
    assert isinstance(found, list)
    return [tuple(one) for one in found]


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
    if not isinstance(given, list) or not given or not all(one and are_ids(one) and max(one) < width for one in given):
        raise outside(NAME, "prompts must be lists of ids of the vocabulary, at least one, and none empty")
    if any(not is_int(case[name]) or number(case, name) < 1 for name in ("gamma", "max_new_tokens", "top_k")) or number(case, "top_k") > width:
        raise outside(NAME, "gamma, max_new_tokens and top_k must be ints of at least 1, and top_k of V at most")
    temperature, top_p = float(str(case["temperature"])), float(str(case["top_p"]))
    if not temperature >= 0 or not 0 < top_p <= 1:
        raise outside(NAME, "temperature must be at least 0, and top_p above 0 and 1 at most")
    if case["eos"] is not None and (not is_int(case["eos"]) or not 0 <= number(case, "eos") < width):
        raise outside(NAME, "eos must be an id of the vocabulary, or None")


def _check_tables(case: Case) -> int:
    """V."""
    check_names(NAME, case, ARGUMENTS)
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
    return {**case, "target": target, "draft": draft, "prompt": [array("int64", (len(one),), one) for one in prompts(case)]}


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
    """((new ids, calls of the target, calls of the draft), …), a call each; of texts (rows of the oracle, of steps, of blocks), rows as tuples."""
    assert isinstance(result, list)
    if texts(case):
        return tuple(tuple(tuple(rows.rows()) for rows in one) for one in result)
    width, most = VOCABULARY if of_weights(case) else array_of(case, "target").shape[-1], number(case, "max_new_tokens")
    return tuple((new_ids(one, prompt, width, most), *calls) for (one, *calls), prompt in zip(result, prompts(case), strict=True))


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
        Parameter("prompt", "(S,)", "token ids, int64"),
        Parameter("target", "a model", "the target, in the form that models= declares"),
        Parameter("draft", "a model", "the draft model, in the same form"),
        Parameter("gamma", "int", "tokens to draft in a round, or fewer"),
        Parameter("max_new_tokens", "int", "length at which the text ends"),
        Parameter("temperature", "float", "0 is greedy"),
        Parameter("top_k", "int", "1 … V; V keeps all"),
        Parameter("top_p", "float", "in (0, 1]; 1 keeps all"),
        Parameter("eos", "int or None", "the id that ends the text"),
    ),
    returns="the new token ids alone, (n,) or (1, n), EOS included",
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
    outcomes=_outcomes,
    prepare=_prepare,
    play=_play,
    widest=EXPLORED,
)  # fmt: skip
