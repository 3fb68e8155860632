"""What depends on the tokens so far, by its definition: penalties, n-gram blocking, a least length; with the orders in which they may be applied.

Repetition: 1909.05858, section 4.1, with the sign of the logit looked at; frequency and presence: subtracted for each occurrence, and once.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from specprops.logit_rows import softmax
from specprops.readings import Line, Reading
from specverify.contracts import Case, array_of
from specverify.contracts.nodes import numbers
from specverify.contracts.processed_rows import NEUTRAL, SPANS

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Parameters = Mapping[str, object]
Spans = Mapping[str, str]
"""Convention to one of SPANS."""

LOOKS_OVER = {
    "repetition_penalty": "repetition_over",
    "presence_penalty": "penalties_over",
    "frequency_penalty": "penalties_over",
    "no_repeat_ngram_size": "ngrams_over",
    "min_tokens": "min_tokens_over",
}
"""The convention that tells which tokens a processor looks at."""
SCALERS = ("repetition", "penalties", "bias", "temperature")
"""What does not commute: masks do, with everything."""


def processed(line: Sequence[float], history: Sequence[int], parameters: Parameters, spans: Spans, order: Sequence[str]) -> Line:
    """One row of logits after all that is on."""
    seen = {convention: _over(history, parameters, span) for convention, span in spans.items()}
    found = list(line)
    for scaler in order:
        found = _scaled(found, scaler, parameters, seen)
    banned = _banned(parameters, seen)
    return tuple(-math.inf if token in banned else x for token, x in enumerate(found))


def _over(history: Sequence[int], parameters: Parameters, span: str) -> Sequence[int]:
    return history if span == SPANS[0] else history[int(str(parameters["prompt_length"])) :]


def _scaled(row: list[float], scaler: str, parameters: Parameters, seen: Mapping[str, Sequence[int]]) -> list[float]:
    if scaler == "repetition":
        by, met = _number(parameters, "repetition_penalty"), set(seen["repetition_over"])
        return [(x / by if x > 0 else x * by) if token in met else x for token, x in enumerate(row)]
    if scaler == "penalties":
        counts = Counter(seen["penalties_over"])
        presence, frequency = _number(parameters, "presence_penalty"), _number(parameters, "frequency_penalty")
        return [x - frequency * counts[token] - presence * (token in counts) for token, x in enumerate(row)]
    if scaler == "bias":
        added = biases(parameters)
        return [x + added.get(token, 0.0) for token, x in enumerate(row)]
    return [x / _number(parameters, "temperature") for x in row]


def _number(parameters: Parameters, name: str) -> float:
    return float(str(parameters[name]))


def biases(parameters: Parameters) -> dict[int, float]:
    """What is added to the logit of each token that is named."""
    pairs = parameters["logit_bias"]
    assert isinstance(pairs, list)
    return {int(token): float(value) for token, value in pairs}


def _banned(parameters: Parameters, seen: Mapping[str, Sequence[int]]) -> set[int]:
    """Tokens that may not come: those that would repeat an n-gram, and EOS too early."""
    n, least = int(str(parameters["no_repeat_ngram_size"])), int(str(parameters["min_tokens"]))
    early = {int(str(parameters["eos_token_id"]))} if len(seen["min_tokens_over"]) < least else set()
    return early | _repeating(seen["ngrams_over"], n)


def _repeating(history: Sequence[int], n: int) -> set[int]:
    """Tokens that end an n-gram which the history holds already."""
    if n == 0 or len(history) < n:
        return set()
    last = tuple(history[len(history) - n + 1 :])
    return {history[i + n - 1] for i in range(len(history) - n + 1) if tuple(history[i : i + n - 1]) == last}


def histories(case: Case) -> list[tuple[int, ...]]:
    """The tokens that each row must see: the prefix and the drafts before it."""
    prefix, draft = numbers(case, "prefix"), numbers(case, "draft")
    return [(*prefix, *draft[:i]) for i in range(len(draft) + 1)]


def parameters_of(case: Case) -> Parameters:
    """The argument, as a mapping."""
    given = case["parameters"]
    assert isinstance(given, Mapping)
    return given


def active(parameters: Parameters) -> list[str]:
    """The processors that are on."""
    return [name for name, off in NEUTRAL.items() if parameters[name] != off]


def readings(subject: Description, case: Case) -> list[Reading]:
    """Every row after all that is on, by each order and each choice of the tokens that are looked at that the subject leaves open."""
    parameters, lines, seen = parameters_of(case), list(array_of(case, "logits").rows()), histories(case)
    return [
        Reading(_facts(spans, order), [processed(line, history, parameters, spans, order) for line, history in zip(lines, seen, strict=True)])
        for spans in _spans(subject, parameters)
        for order in itertools.permutations(_scalers(parameters))
    ]


def _scalers(parameters: Parameters) -> list[str]:
    names = {
        "repetition_penalty": "repetition",
        "presence_penalty": "penalties",
        "frequency_penalty": "penalties",
        "logit_bias": "bias",
        "temperature": "temperature",
    }
    on = {names[name] for name in active(parameters) if name in names}
    return [scaler for scaler in SCALERS if scaler in on]


def _spans(subject: Description, parameters: Parameters) -> Iterator[dict[str, str]]:
    """All choices that are not declared, of what is on; the others are of no matter."""
    matters = {LOOKS_OVER[name] for name in active(parameters) if name in LOOKS_OVER}
    conventions = sorted(set(LOOKS_OVER.values()))
    choices = [(str(subject.conventions[one]),) if one in subject.conventions else SPANS if one in matters else SPANS[:1] for one in conventions]
    for chosen in itertools.product(*choices):
        yield dict(zip(conventions, chosen, strict=True))


def _facts(spans: Spans, order: Sequence[str]) -> frozenset[str]:
    """What a reading says of the spans, and of each two scalers."""
    before = (f"{one} before {other}" for one, other in itertools.combinations(order, 2))
    return frozenset({*before, *(f"{convention}: {span}" for convention, span in spans.items())})


def probabilities(row: Sequence[float]) -> Line:
    """The law of a row of logits."""
    return tuple(softmax(row))
