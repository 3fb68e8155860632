"""Planted faults of `processed_rows`. Each is a subject; the catalogue says what is wrong with it."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import specverify as sv

Rows = list[list[float]]
Ids = list[int]
Parameters = Mapping[str, Any]
COUNTS: Counter[int] = Counter()
"""What one penalizer has counted for all steps."""
MET: list[tuple[int, ...]] = []
"""Prefixes of the steps before."""
PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")
OVER_ALL = {"repetition_over": "prompt and generated", "penalties_over": "prompt and generated"}
BYTE = 256
FLOOR = 20
"""How far below the largest logit others are clamped."""


def softmax(row: Sequence[float]) -> list[float]:
    """The law of a row."""
    top = max(row)
    weights = [math.exp(x - top) for x in row]
    total = sum(weights)
    return [weight / total for weight in weights]


def penalised(row: Sequence[float], counts: Mapping[int, int], parameters: Parameters) -> list[float]:
    """A row after the three penalties, by how often each token was counted."""
    by, presence, frequency = (parameters[name] for name in PENALTIES)
    scaled = [(x / by if x > 0 else x * by) if counts.get(token, 0) else x for token, x in enumerate(row)]
    return [x - presence * (counts.get(token, 0) > 0) - frequency * counts.get(token, 0) for token, x in enumerate(scaled)]


def rows_of(logits: Rows, counted: Callable[[int], Sequence[int]], parameters: Parameters) -> Rows:
    """Rows of p, row i penalised by the tokens `counted(i)`."""
    return [softmax(penalised(row, Counter(counted(i)), parameters)) for i, row in enumerate(logits)]


@sv.subject("processed_rows", name="penalties-ignored", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def penalties_ignored(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    return [softmax(row) for row in logits]


@sv.subject("processed_rows", name="history-of-row-0", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def history_of_row_0(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    return rows_of(logits, lambda _: prefix, parameters)


@sv.subject("processed_rows", name="all-drafts-in-every-row", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def all_drafts_in_every_row(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    return rows_of(logits, lambda _: [*prefix, *draft], parameters)


@sv.subject("processed_rows", name="draft-of-its-own-row-counted", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def draft_of_its_own_row_counted(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    return rows_of(logits, lambda i: [*prefix, *draft[: i + 1]], parameters)


@sv.subject("processed_rows", name="drafts-counted-twice", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def drafts_counted_twice(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    return rows_of(logits, lambda i: [*prefix, *draft[:i], *draft[:i]], parameters)


@sv.subject("processed_rows", name="last-token-of-the-block-alone", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def last_token_of_the_block_alone(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    return rows_of(logits, lambda i: [*prefix, *draft[max(0, i - 1) : i]], parameters)


@sv.subject("processed_rows", name="penalties-on-the-prompt-alone", arrays="list", supports=PENALTIES)
def penalties_on_the_prompt_alone(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    return rows_of(logits, lambda _: prefix[: parameters["prompt_length"]], parameters)


@sv.subject("processed_rows", name="penalties-on-the-first-row-alone", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def penalties_on_the_first_row_alone(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    return [*rows_of(logits[:1], lambda _: prefix, parameters), *map(softmax, logits[1:])]


@sv.subject("processed_rows", name="bonus-row-unprocessed", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def bonus_row_unprocessed(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    rows = rows_of(logits, lambda i: [*prefix, *draft[:i]], parameters)
    return [*rows[:-1], softmax(logits[-1])] if draft else rows


@sv.subject("processed_rows", name="bonus-row-without-temperature", arrays="list", supports=("temperature",))
def bonus_row_without_temperature(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    return [softmax([x / parameters["temperature"] for x in row] if i < len(draft) or not draft else row) for i, row in enumerate(logits)]


@sv.subject("processed_rows", name="logits-divided-whatever-their-sign", arrays="list", supports=("repetition_penalty",))
def logits_divided_whatever_their_sign(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    by = parameters["repetition_penalty"]
    return [softmax([x / by if token in (*prefix, *draft[:i]) else x for token, x in enumerate(row)]) for i, row in enumerate(logits)]


@sv.subject("processed_rows", name="presence-for-each-occurrence", arrays="list", supports=("presence_penalty",))
def presence_for_each_occurrence(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    penalty = {**parameters, "presence_penalty": 0.0, "frequency_penalty": parameters["presence_penalty"]}
    return rows_of(logits, lambda i: [*prefix, *draft[:i]], penalty)


@sv.subject("processed_rows", name="occurrences-in-a-byte", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def occurrences_in_a_byte(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    counts = [{token: n % BYTE for token, n in Counter([*prefix, *draft[:i]]).items()} for i in range(len(logits))]
    return [softmax(penalised(row, seen, parameters)) for row, seen in zip(logits, counts, strict=True)]


@sv.subject("processed_rows", name="penalizer-shared-by-steps", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def penalizer_shared_by_steps(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    if tuple(prefix) not in MET:
        MET.append(tuple(prefix))
        COUNTS.update(prefix)
    rows = []
    for row, token in zip(logits, [*draft, None], strict=True):
        rows.append(softmax(penalised(row, COUNTS, parameters)))
        COUNTS.update([] if token is None else [token])
    return rows


@sv.subject("processed_rows", name="rejected-drafts-left-in-the-text", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def rejected_drafts_left_in_the_text(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    length = len(prefix)
    prefix.extend(draft)
    return rows_of(logits, lambda i: prefix[: length + i], parameters)


@sv.subject("processed_rows", name="penalties-left-in-the-logits", arrays="list", supports=PENALTIES, conventions=OVER_ALL)
def penalties_left_in_the_logits(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    for i, row in enumerate(logits):
        row[:] = penalised(row, Counter([*prefix, *draft[:i]]), parameters)
    return [softmax(row) for row in logits]


@sv.subject("processed_rows", name="masked-tokens-revived", arrays="list", supports=("temperature", "logit_bias"))
def masked_tokens_revived(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    bias = dict(map(tuple, parameters["logit_bias"]))
    added = [[x / parameters["temperature"] + bias.get(token, 0) for token, x in enumerate(row)] for row in logits]
    return [softmax([max(x, max(row) - FLOOR) for x in row]) for row in added]


@sv.subject("processed_rows", name="end-allowed-one-early", arrays="list", supports=("min_tokens",), conventions={"min_tokens_over": "generated"})
def end_allowed_one_early(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    done, least, eos = len(prefix) - parameters["prompt_length"], parameters["min_tokens"], parameters["eos_token_id"]
    return [softmax([-math.inf if token == eos and done + i + 1 < least else x for token, x in enumerate(row)]) for i, row in enumerate(logits)]


@sv.subject("processed_rows", name="least-length-counts-steps", arrays="list", supports=("min_tokens",), conventions={"min_tokens_over": "generated"})
def least_length_counts_steps(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:  # noqa: ARG001
    early = len(prefix) - parameters["prompt_length"] < parameters["min_tokens"]
    return [softmax([-math.inf if token == parameters["eos_token_id"] and early else x for token, x in enumerate(row)]) for row in logits]


@sv.subject("processed_rows", name="n-grams-of-the-prefix-alone", arrays="list", supports=("no_repeat_ngram_size",))
def n_grams_of_the_prefix_alone(logits: Rows, prefix: Ids, draft: Ids, parameters: Parameters) -> Rows:
    n = parameters["no_repeat_ngram_size"]
    grams = [tuple(prefix[i : i + n]) for i in range(len(prefix) - n + 1)] if n else []
    last = [tuple([*prefix, *draft[:i]][1 - n :]) if n > 1 else () for i in range(len(logits))]
    return [softmax([-math.inf if (*last[i], token) in grams else x for token, x in enumerate(row)]) for i, row in enumerate(logits)]
