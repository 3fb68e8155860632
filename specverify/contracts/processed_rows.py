"""`processed_rows`: logits to p rows, through what depends on the tokens so far: penalties, n-gram blocking, a least length.

`parameters` holds all of PARAMETERS, neutral where a subject does not support them, so that an adapter reads what it needs:

    @sv.subject("processed_rows", supports=("repetition_penalty", "temperature"))
    def rows(logits, prefix, draft, parameters):
        return engine.process(logits, prefix, draft, parameters["repetition_penalty"], parameters["temperature"])

Where several are on, their order is the subject's; masked tokens stay masked in every order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Parameter, check_names, outside
from specverify.contracts.logits import logit_rows, logits_result
from specverify.contracts.nodes import is_int

NAME = "processed_rows"
NEUTRAL: dict[str, object] = {
    "temperature": 1.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "no_repeat_ngram_size": 0,
    "min_tokens": 0,
    "logit_bias": [],
}
"""What each processor is where it is off; what `supports` may name."""
PARAMETERS = (*NEUTRAL, "prompt_length", "eos_token_id")
SPANS = ("prompt and generated", "generated")


def _check(case: Case) -> None:
    check_names(NAME, case, ("logits", "prefix", "draft", "parameters"))
    logits, parameters = logit_rows(NAME, case), case["parameters"]
    prefix, draft = (_ids(case, name) for name in ("prefix", "draft"))
    if len(logits.shape) != 2 or draft.shape != (logits.shape[0] - 1,) or not prefix.values:  # noqa: PLR2004
        raise outside(NAME, "logits must have shape (gamma + 1, V), draft (gamma,) and prefix at least one token")
    if any(token not in range(logits.shape[1]) for token in (*prefix.values, *draft.values)):
        raise outside(NAME, "prefix and draft must be ids of the vocabulary")
    if not isinstance(parameters, Mapping) or set(parameters) != set(PARAMETERS):
        raise outside(NAME, f"parameters must hold {', '.join(PARAMETERS)}")
    _check_parameters(parameters, len(prefix.values), logits.shape[1])


def _ids(case: Case, name: str) -> Array:
    value = case[name]
    if not isinstance(value, Array) or value.dtype != "int64" or len(value.shape) != 1:
        raise outside(NAME, f"{name} must be int64, of one dimension")
    return value


def _check_parameters(parameters: Mapping[str, object], length: int, width: int) -> None:
    """Refuse what no processor takes."""
    for name in ("temperature", "repetition_penalty", "presence_penalty", "frequency_penalty"):
        value = parameters[name]
        if not isinstance(value, float) or not math.isfinite(value) or (value <= 0 and name in ("temperature", "repetition_penalty")):
            raise outside(NAME, f"{name} must be a finite float, above 0 where it divides")
    bounds = {"no_repeat_ngram_size": math.inf, "min_tokens": math.inf, "prompt_length": length, "eos_token_id": width - 1}
    for name, most in bounds.items():
        value = parameters[name]
        if not is_int(value) or not 0 <= value <= most:  # type: ignore[operator]
            raise outside(NAME, f"{name} must be an int from 0 to {most}")
    bias = parameters["logit_bias"]
    if not isinstance(bias, list) or not all(isinstance(pair, list) and pair[0] in range(width) and math.isfinite(pair[1]) for pair in bias):
        raise outside(NAME, "logit_bias must be a list of [token, finite number]")


def _span(what: str) -> Convention:
    return Convention(f"which tokens {what} looks at; undeclared, one of the two", SPANS)


CONTRACT = Contract(
    name=NAME,
    prefix="PRC",
    sentence="Turns the target's logits into the rows that tokens are drawn from, by what depends on the tokens so far.",
    parameters=(
        Parameter("logits", "(gamma + 1, V)", "rows of the target, -inf allowed"),
        Parameter("prefix", "(t,)", "the prompt and what was generated so far, int64, t >= 1"),
        Parameter("draft", "(gamma,)", "draft tokens, int64"),
        Parameter("parameters", "mapping", f"by name: {', '.join(PARAMETERS)}"),
    ),
    returns="(gamma + 1, V), rows of probabilities; or logits, where that is declared",
    right="row i is processed with the tokens of prefix and the first i drafts, once each, as plain decoding would: "
    "repetition divides positive logits and multiplies negative ones; frequency is subtracted for each occurrence, presence once; n-grams do not come twice; "
    "no EOS before min_tokens; the order is free",
    random=False,
    check=_check,
    outcome=logits_result,
    smoke={
        "logits": array("float32", (2, 3), (0, 2, 1, 3, 1, 0)),
        "prefix": array("int64", (1,), (2,)),
        "draft": array("int64", (1,), (1,)),
        "parameters": {**NEUTRAL, "prompt_length": 1, "eos_token_id": 0},
    },
    conventions={
        "returns": Convention("what comes back; probabilities if nothing is declared", ("probabilities", "logits")),
        "repetition_over": _span("the repetition penalty"),
        "penalties_over": _span("presence and frequency"),
        "ngrams_over": _span("no_repeat_ngram_size"),
        "min_tokens_over": _span("min_tokens"),
    },
    equivalents=("apply_penalties", "LogitsProcessorList", "Penalizer"),
    features=tuple(NEUTRAL),
)
