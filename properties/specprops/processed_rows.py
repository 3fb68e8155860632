"""Properties of `processed_rows`: row i is processed with the prefix and i drafts, once each, as plain decoding would; and nothing is left for the next step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import logit_rows, processors, rows
from specprops.hygiene import inputs_unchanged, leaves_nothing_behind, same_objects_again, writes_into_nothing
from specprops.processors import active, parameters_of
from specprops.readings import Judge, Line, Reading, explained
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Array, Case, array, array_of
from specverify.contracts.arrays import EPS
from specverify.contracts.nodes import numbers
from specverify.contracts.processed_rows import NEUTRAL
from specverify.law import show_probability
from specverify.stats import GRID
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "faults L7, "
SINGLE = EPS["float32"]
"""Rows are processed in single precision at best, whatever the logits are."""
STEPS = 16
"""Roundings on the way: those of a softmax, and two for each of four processors."""
LONG, OVER_A_BYTE, WIDE, OFTEN = 600, 300, 5_000, 19
"""Tokens of a long prefix; how often one of them comes, more than a byte counts; tokens of its vocabulary; the one, whose logit is among the largest."""

LINES: tuple[Line, ...] = ((2, -1, 0.5, -0.5, 0), (-1, 1, 2, 0.5, 0), (0.5, 2, -2, 1, -1), (1, 1.5, -0.5, -1, 2))
"""Logits above and below 0, other ones in each row."""
STRENGTHS: dict[str, tuple[object, ...]] = {
    "temperature": (2.0, 0.5),
    "repetition_penalty": (2.0, 0.5, 1.25),
    "presence_penalty": (1.0, -0.5),
    "frequency_penalty": (0.5, -1.0),
    "no_repeat_ngram_size": (2, 3),
    "min_tokens": (1, 2, 3, 4),
    "logit_bias": ([[0, 1.5]], [[1, -2.0], [3, 0.5]]),
}
"""Of each processor, values that are exact in every dtype and tell."""


def _case(subject: Description, lines: Sequence[Line], prefix: Sequence[int], draft: Sequence[int], on: dict[str, object]) -> Case:
    """A case; the prompt is the first token of the prefix unless `on` says otherwise."""
    dtype = rows.wide(subject)[0]
    return {
        "logits": array(dtype, (len(lines), len(lines[0])), (x for line in lines for x in line)),
        "prefix": array("int64", (len(prefix),), prefix),
        "draft": array("int64", (len(draft),), draft),
        "parameters": {**NEUTRAL, "prompt_length": 1, "eos_token_id": 0, **on},
    }


def _processors(subject: Description) -> list[str]:
    return [name for name in NEUTRAL if name in subject.supports]


def _applies(subject: Description) -> str | None:
    return rows.needs_wide(subject) or (None if _processors(subject) else "the subject declares no processor in supports")


TEXTS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((1,), ()),
    ((1, 0), ()),
    ((1,), (0,)),
    ((3, 0, 1), (1,)),
    ((0, 1), (0, 2)),
    ((3, 0, 1), (0, 0, 2)),
)
"""Prefix and draft: a prompt alone, text after it, drafts that repeat it, each other, or nothing."""


def first(subject: Description) -> list[Case]:
    """Each processor alone, on few tokens."""
    texts = [(text, name, value) for text in TEXTS for name in _processors(subject) for value in STRENGTHS[name]]
    return [_case(subject, LINES[: len(draft) + 1], prefix, draft, {name: value}) for (prefix, draft), name, value in texts]


@st.composite
def drawn(draw: st.DrawFn, subject: Description, *, most: int = 1) -> Case:
    """Up to `most` processors at once, over up to six tokens and four drafts; a prompt of any length; no row is emptied in any reading."""
    v, gamma = draw(st.integers(3, 6)), draw(st.integers(0, 4))
    lines = [draw(logit_rows.row(v)) for _ in range(gamma + 1)]
    tokens = st.integers(0, v - 1)
    prefix = draw(st.lists(tokens, min_size=1, max_size=6))
    names = draw(st.lists(st.sampled_from(_processors(subject)), min_size=1, max_size=most, unique=True))
    on: dict[str, object] = {name: draw(st.sampled_from([value for value in STRENGTHS[name] if _fits(value, v)])) for name in names}
    on |= {"prompt_length": draw(st.integers(0, len(prefix))), "eos_token_id": draw(tokens)}
    case = _case(subject, lines, prefix, draw(st.lists(tokens, min_size=gamma, max_size=gamma)), on)
    masks = {"no_repeat_ngram_size": 0, "min_tokens": 0}
    return case if _none_emptied(subject, case) else {**case, "parameters": {**parameters_of(case), **masks}}


def _fits(value: object, v: int) -> bool:
    return not isinstance(value, list) or all(token < v for token, _ in value)


def _none_emptied(subject: Description, case: Case) -> bool:
    return all(max(row) > -math.inf for reading in processors.readings(subject, case) for row in reading.rows)


def cases(subject: Description) -> st.SearchStrategy[Case]:
    """One processor at a time."""
    return drawn(subject)


def several(subject: Description) -> st.SearchStrategy[Case]:
    """Up to four at once."""
    return drawn(subject, most=4)


def _logits_come_back(subject: Description) -> bool:
    return subject.conventions.get("returns") == "logits"


def _found(trial: Trial, case: Case) -> list[Line]:
    """The rows of probabilities that the subject gives, or that its logits stand for."""
    found: Array = trial.value(case).outcome
    return [processors.probabilities(row) if _logits_come_back(trial.subject) else row for row in found.rows()]


def _judge(case: Case, *readings: Reading) -> Judge:
    """Entries may be off by rounding, which grows with the largest logit on the way."""
    parameters = parameters_of(case)
    given = [x for x in array_of(case, "logits").values if x > -math.inf]
    scale = max(1.0, float(str(parameters["repetition_penalty"]))) * max(1.0, 1 / float(str(parameters["temperature"])))
    added = sum(abs(float(str(parameters[name]))) for name in ("presence_penalty", "frequency_penalty")) * len(processors.histories(case)[-1])
    largest = scale * (max(map(abs, given)) + added + max(map(abs, processors.biases(parameters).values()), default=0.0))
    slack = (len(readings[0].rows[0]) + STEPS + STEPS * largest) * SINGLE

    def near(found: Line, wanted: Line) -> bool:
        return all(abs(a - b) <= slack * b + GRID for a, b in zip(found, wanted, strict=True))

    def shown(line: Line) -> str:
        return f"({', '.join(show_probability(x, 'float32') for x in line)})"

    last = len(readings[0].rows) - 1
    return Judge(near, shown, lambda off: "row 0" if 0 in off else "bonus row" if off == [last] else "row")


@prop("PRC-001", "There is a row for the prefix and one for each draft, each a distribution.", source="theory S11", guards="well-formed", first=first, cases=cases,
      limit=30, applies=_applies)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    found: Array = trial.value(case).outcome
    for given, row in zip(array_of(case, "logits").rows(), found.rows(), strict=True):
        if _logits_come_back(trial.subject):
            wrong = any(math.isnan(x) or x == math.inf for x in row) or max(row) == -math.inf
        else:
            wrong = not all(0 <= x <= 1 for x in row) or abs(math.fsum(row) - 1) > (len(row) + STEPS) * max(SINGLE, EPS[found.dtype])
        if wrong:
            told = "logits" if _logits_come_back(trial.subject) else "a distribution"
            raise Violation(f"A row is not {told}.", (Row(f"of {logit_rows.show(given)}", logit_rows.show(row), told),), kind="no distribution")


def _explained(trial: Trial, case: Case, message: str, count: int | None = None) -> None:
    """One reading must explain the first `count` rows, or all."""
    laws = [Reading(one.facts, [processors.probabilities(row) for row in one.rows[:count]]) for one in processors.readings(trial.subject, case)]
    explained(trial, _found(trial, case)[:count], laws, _judge(case, *laws), message)


@prop("PRC-002", "Row 0 is processed with the tokens of the prefix, once each.", source=SOURCE + "B138, B139, B140", guards="position", after=("PRC-001",), first=first,
      cases=cases, limit=60, applies=_applies)  # fmt: skip
def test_prefix(trial: Trial, case: Case) -> None:
    _explained(trial, case, "Row 0 is not what the prefix makes of it.", 1)


@prop("PRC-003", "Row i is processed with the prefix and the first i drafts, the bonus row with all of them.", source=SOURCE + "L6, B138, B144", guards="position",
      after=("PRC-002",), first=first, cases=cases, limit=100, applies=_applies)  # fmt: skip
def test_drafts(trial: Trial, case: Case) -> None:
    _explained(trial, case, "A row is not what the prefix and the drafts before it make of it.")


def pairs(subject: Description) -> list[Case]:
    """Two processors at once."""
    names = _processors(subject)
    chosen = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return [_case(subject, LINES, (3, 0, 1), (0, 0, 2), {name: STRENGTHS[name][0] for name in pair}) for pair in chosen]


def _has_several(subject: Description) -> str | None:
    return _applies(subject) or (None if len(_processors(subject)) > 1 else "the subject declares one processor")


@prop("PRC-004", "With several processors one order explains all rows.", source=SOURCE + "B141; theory C1", guards="position", after=("PRC-003",), first=pairs,
      cases=several, limit=60, applies=_has_several)  # fmt: skip
def test_several(trial: Trial, case: Case) -> None:
    _explained(trial, case, "No order of the processors makes these rows of the logits.")


@prop("PRC-005", "Row i is row 0 of the same text without drafts: what plain decoding draws from.", source="faults L6, L7, B144; theory S11", guards="position",
      after=("PRC-001",), first=first, cases=several, limit=40, applies=_applies)  # fmt: skip
def test_plain_decoding(trial: Trial, case: Case) -> None:
    reply = trial.call(_plain(case, 0))
    if isinstance(reply, Raised):
        raise Violation(f"Without a draft, the subject {reply}.", kind="refused", severity="advisory")
    plain = Reading(frozenset(), [_found(trial, _plain(case, i))[0] for i in range(len(numbers(case, "draft")) + 1)])
    explained(trial, _found(trial, case), [plain], _judge(case, plain), "A row is not what the same text gives without drafts.")


def _plain(case: Case, i: int) -> Case:
    """The step that decodes after i drafts, as plain decoding makes it."""
    logits, history = array_of(case, "logits"), processors.histories(case)[i]
    line = list(logits.rows())[i]
    return {**case, "logits": array(logits.dtype, (1, len(line)), line), "prefix": array("int64", (len(history),), history), "draft": array("int64", (0,), ())}


def masked(subject: Description) -> list[Case]:
    """Masked tokens that were seen, were not, and that a bias names."""
    lines = ((-math.inf, 1, 0, -1, 0.5), (1, -math.inf, -math.inf, 0, 2))
    return [_case(subject, lines, (1, 0), (1,), {name: value}) for name in _processors(subject) for value in STRENGTHS[name]]


@prop("PRC-006", "A token that is masked stays masked.", source="faults L2, B141", guards="support", after=("PRC-001",), first=masked, cases=several, limit=40,
      applies=_applies)  # fmt: skip
def test_masked(trial: Trial, case: Case) -> None:
    for given, row in zip(array_of(case, "logits").rows(), _found(trial, case), strict=True):
        revived = [token for token, (x, a) in enumerate(zip(given, row, strict=True)) if x == -math.inf and a > 0]
        if revived:
            raise Violation(
                f"The masked token {revived[0]} may be drawn.", (Row(f"of {logit_rows.show(given)}", logit_rows.show(row), "0 there"),), kind="revived"
            )


def long(subject: Description) -> list[Case]:
    """A long text in which a token comes more often than a byte counts, beside ids of a larger vocabulary."""
    prefix = [OFTEN] * OVER_A_BYTE + [WIDE - 1 - i for i in range(LONG - OVER_A_BYTE)]
    line = tuple(((i * 37) % 64 - 32) / 8 for i in range(WIDE))
    given = {"repetition_penalty": 2.0, "presence_penalty": 1.0, "frequency_penalty": 2.0**-7, "no_repeat_ngram_size": 2}
    return [_case(subject, (line, line[::-1]), prefix, (WIDE - 1,), {name: value}) for name, value in given.items() if name in subject.supports]


@prop("PRC-007", "In a long text over many tokens too, each row sees what comes before it, once each.", source=SOURCE + "B139, B228", guards="position",
      after=("PRC-003",), first=long, applies=_applies)  # fmt: skip
def test_long(trial: Trial, case: Case) -> None:
    _explained(trial, case, "A row is not what the text before it makes of it.")


@prop("PRC-008", "A second call with the same objects gives the same: drafts are not left in the text, nor penalties in the logits.",
      source="faults L17, B141, B142; contracts, F", guards="position", after=("PRC-001",), first=first, cases=cases, limit=30,
      applies=lambda s: _applies(s) or writes_into_nothing(s))  # fmt: skip
def test_same_objects_again(trial: Trial, case: Case) -> None:
    same_objects_again(trial, case)


@prop("PRC-009", "Other steps in between change nothing: no token that was looked at is counted in the next step.", source=SOURCE + "B142, B170", guards="position",
      after=("PRC-001",), first=first, applies=_applies)  # fmt: skip
def test_nothing_left_behind(trial: Trial, case: Case) -> None:
    on = {name: parameters_of(case)[name] for name in active(parameters_of(case))}
    leaves_nothing_behind(trial, case, _case(trial.subject, LINES[:3], (2, 4), (2, 2), on), _case(trial.subject, LINES[:1], (1, 4), (), on))


@prop("PRC-010", "The call leaves its arguments as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("PRC-001",), first=first,
      applies=_applies)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
