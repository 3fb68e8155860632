"""Planted faults of `logprobs`. Each is a subject; the catalogue says what is wrong with it."""

import math

import specverify as sv

Rows = list[list[float]]
Ids = list[int]
Lists = tuple[list[Ids], Rows]
BUFFER: list[float] = []
"""What the last step told."""
KEPT: dict[tuple[int, ...], list[float]] = {}
"""What was told of tokens."""


def law(row: list[float], temperature: float = 1.0) -> list[float]:
    """The right log-probabilities of a row."""
    top, off = max(row), normaliser(row, temperature)
    return [(x - top) / temperature - off for x in row]


def normaliser(row: list[float], temperature: float = 1.0) -> float:
    """The logarithm of the sum."""
    top = max(row)
    return math.log(sum(math.exp((x - top) / temperature) for x in row))


def told(rows: Rows, tokens: Ids, emitted: int) -> list[float]:
    """The right entries."""
    return [law(row)[token] for row, token in zip(rows, tokens[:emitted], strict=False)]


@sv.subject("logprobs", name="logprobs-of-the-row-before", arrays="list")
def logprobs_of_the_row_before(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return told([rows[0], *rows[:-1]], tokens, emitted)


@sv.subject("logprobs", name="logprobs-of-the-first-row", arrays="list")
def logprobs_of_the_first_row(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return told([rows[0]] * len(rows), tokens, emitted)


@sv.subject("logprobs", name="logprobs-from-the-end", arrays="list")
def logprobs_from_the_end(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return [law(row)[token] if row[token] > -math.inf else -math.inf for row, token in zip(rows[-emitted:], tokens, strict=False)]


@sv.subject("logprobs", name="bonus-from-the-row-before", arrays="list")
def bonus_from_the_row_before(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return told([*rows[:-1], rows[max(0, len(rows) - 2)]], tokens, emitted)


@sv.subject("logprobs", name="as-many-logprobs-as-rows", arrays="list")
def as_many_logprobs_as_rows(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return told(rows, tokens, len(rows))


@sv.subject("logprobs", name="no-logprob-for-the-last", arrays="list")
def no_logprob_for_the_last(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return told(rows, tokens, emitted - 1)


@sv.subject("logprobs", name="logits-for-logprobs", arrays="list")
def logits_for_logprobs(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return [row[token] - max(row) for row, token in zip(rows, tokens[:emitted], strict=False)]


@sv.subject("logprobs", name="normalised-by-the-first-row", arrays="list")
def normalised_by_the_first_row(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    off = max(rows[0]) + normaliser(rows[0])
    return [min(0.0, row[token] - off) for row, token in zip(rows, tokens[:emitted], strict=False)]


@sv.subject("logprobs", name="processed-is-raw", arrays="list", conventions={"kind": "processed"})
def processed_is_raw(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return told(rows, tokens, emitted)


@sv.subject("logprobs", name="bonus-raw-among-processed", arrays="list", conventions={"kind": "processed"})
def bonus_raw_among_processed(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    last = emitted - 1
    return [law(row, temperature if i < last else 1.0)[token] for i, (row, token) in enumerate(zip(rows, tokens[:emitted], strict=False))]


@sv.subject("logprobs", name="logprobs-kept-by-tokens", arrays="list")
def logprobs_kept_by_tokens(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    return KEPT.setdefault(tuple(tokens), told(rows, tokens, emitted))


@sv.subject("logprobs", name="first-logprob-of-the-step-before", arrays="list")
def first_logprob_of_the_step_before(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    found = told(rows, tokens, emitted)
    before = BUFFER[0] if BUFFER else found[0]
    BUFFER[:] = found
    return [before, *found[1:]]


@sv.subject("logprobs", name="logits-normalised-in-place", arrays="list", conventions={"kind": "processed"})
def logits_normalised_in_place(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float]:  # noqa: ARG001
    for row in rows:
        row[:] = [x / temperature for x in row]
    return told(rows, tokens, emitted)


@sv.subject("logprobs", name="lists-of-the-first-row", arrays="list", conventions={"kind": "raw"}, supports=("top",))
def lists_of_the_first_row(rows: Rows, tokens: Ids, emitted: int, temperature: float, top: int) -> list[float] | tuple[list[float], Lists]:  # noqa: ARG001
    found = told(rows, tokens, emitted)
    likeliest = sorted(range(len(rows[0])), key=lambda token: -rows[0][token])[:top]
    lists = [likeliest] * emitted, [[law(rows[0])[token] for token in likeliest]] * emitted
    return (found, lists) if top else found
