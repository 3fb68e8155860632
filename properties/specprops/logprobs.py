"""Properties of `logprobs`: entry i is log p_i(x_i), of the row that token i was drawn from, and there are as many as tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import logit_rows, rows
from specprops.hygiene import inputs_unchanged, leaves_nothing_behind, same_objects_again, writes_into_nothing
from specprops.readings import Judge, Line, Reading, explained
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.arrays import EPS, SMALLEST_NORMAL
from specverify.contracts.logprobs import KINDS, PAD
from specverify.contracts.nodes import numbers

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "faults L14, "
TEMPERATURES = (0.5, 2.0, 4.0)
SINGLE = "float32"
"""Log-probabilities are told in single precision at best, whatever the rows are."""
STEPS = 8
"""Roundings of a log-softmax beside those of its sum: the quotient, two differences, exp, log, and the result, some twice."""
LARGE = 32_000

LINES: tuple[Line, ...] = ((2, 0, 1, -1), (-1, 2, 0, 1), (1, -1, 2, 0), (0, 1, -1, 2))
"""Each row gives each token another log-probability than the other rows do."""


def _of_p(subject: Description) -> bool:
    return subject.conventions.get("rows") == "p"


def _case(subject: Description, lines: Sequence[Line], tokens: Sequence[int], temperature: float = 1.0, top: int = 0, dtype: str = "") -> Case:
    """A case of as many emitted tokens as are given."""
    dtype = dtype or subject.dtypes[0]
    held = [rows.normalised(logit_rows.softmax(line), dtype) for line in lines] if _of_p(subject) else lines
    return {
        "rows": array(dtype, (len(lines), len(lines[0])), (x for line in held for x in line)),
        "tokens": array("int64", (len(lines),), (*tokens, *[PAD] * (len(lines) - len(tokens)))),
        "emitted": len(tokens),
        "temperature": 1.0 if _of_p(subject) else temperature,
        "top": top,
    }


def first(subject: Description) -> list[Case]:
    """None accepted; some; all but the last."""
    given = ((2, (3,)), (2, (1,)), (3, (0, 0)), (3, (1, 2)), (4, (2,)), (4, (0, 3, 3)))
    return [_case(subject, LINES[:n], tokens) for n, tokens in given]


def accepted(subject: Description) -> list[Case]:
    """All accepted, as in a plain step too: the last row tells of the bonus token."""
    return [_case(subject, LINES[:n], tokens) for n, tokens in ((1, (0,)), (2, (0, 0)), (2, (1, 2)), (3, (0, 1, 0)), (4, (0, 1, 2, 3)), (4, (3, 3, 3, 3)))]


def warm(subject: Description) -> list[Case]:
    """Temperatures other than 1."""
    return [_case(subject, LINES[:n], tokens, t) for t in TEMPERATURES for n, tokens in ((1, (0,)), (2, (1, 1)), (3, (0, 3)))]


@st.composite
def drawn(draw: st.DrawFn, subject: Description, *, bonus: bool | None = None, temperatures: tuple[float, ...] = (1.0,), top: bool = False) -> Case:
    """Up to five rows over up to six tokens, with a bonus token always, never, or at times; emitted tokens are such as have a logit."""
    v, n = draw(st.integers(2, 6)), draw(st.integers(1 + (bonus is False), 5))
    lines = [draw(logit_rows.row(v)) for _ in range(n)]
    emitted = n if bonus else draw(st.integers(1, n - (bonus is False)))
    tokens = [draw(st.sampled_from([t for t, x in enumerate(line) if x > -math.inf])) for line in lines[:emitted]]
    most = min(sum(x > -math.inf for x in line) for line in lines[:emitted])
    chosen, dtype = draw(st.sampled_from(temperatures)), draw(st.sampled_from(subject.dtypes))
    return _case(subject, lines, tokens, chosen, draw(st.integers(1, most)) if top else 0, dtype)


def everything(subject: Description) -> list[Case]:
    """Of what is emitted: some, and all."""
    return [*first(subject), *accepted(subject)]


def all_cases(subject: Description) -> st.SearchStrategy[Case]:
    """Any number of tokens, at temperature 1."""
    return drawn(subject)


def cases(subject: Description) -> st.SearchStrategy[Case]:
    """A token takes the place of a rejected one."""
    return drawn(subject, bonus=False)


def accepted_cases(subject: Description) -> st.SearchStrategy[Case]:
    """All accepted."""
    return drawn(subject, bonus=True)


def warm_cases(subject: Description) -> st.SearchStrategy[Case]:
    """Any number of tokens, at other temperatures."""
    return drawn(subject, temperatures=TEMPERATURES)


def laws(subject: Description, case: Case) -> dict[str, list[list[float]]]:
    """The log-probabilities of each row of the emitted tokens, by what they may be of."""
    lines = list(array_of(case, "rows").rows())[: _emitted(case)]
    if _of_p(subject):
        return {"p": [[math.log(x) if x else -math.inf for x in line] for line in lines]}
    declared = subject.conventions.get("kind")
    temperatures = {"raw": 1.0, "processed": float(str(case["temperature"]))}
    return {kind: [_log_softmax(line, temperatures[kind]) for line in lines] for kind in ([str(declared)] if declared else KINDS)}


def _log_softmax(line: Sequence[float], temperature: float) -> list[float]:
    scaled = [x / temperature for x in line]
    top = max(scaled)
    total = math.log(math.fsum(math.exp(x - top) for x in scaled))
    return [x - top - total for x in scaled]


def _emitted(case: Case) -> int:
    return int(str(case["emitted"]))


def _near(case: Case) -> Judge:
    """Entries may be off by rounding; below the smallest normal probability of the dtype anything that small will do, -inf included."""
    eps, width, dtype = _eps(case), array_of(case, "rows").shape[1], array_of(case, "rows").dtype
    least = math.log(max(SMALLEST_NORMAL[dtype], SMALLEST_NORMAL[SINGLE])) + 1
    spread = 2 * max(abs(x) for x in array_of(case, "rows").values if x > -math.inf) / min(1.0, float(str(case["temperature"])))

    def near(found: Line, wanted: Line) -> bool:
        slack = (width + STEPS) * eps * (1 + spread + math.log(width))
        return all(abs(a - b) <= slack + eps * abs(b) or (b < least and a < least) for a, b in zip(found, wanted, strict=True))

    return Judge(near, lambda line: ", ".join(f"{x:.4g}" for x in line), lambda off: "bonus" if off == [array_of(case, "rows").shape[0] - 1] else "row")


def _eps(case: Case) -> float:
    return max(EPS[array_of(case, "rows").dtype], EPS[SINGLE])


def _found(trial: Trial, case: Case) -> tuple[float, ...]:
    """The entries of the emitted tokens."""
    entries, _ = trial.value(case).outcome
    return tuple(entries[: _emitted(case)])


@prop("LGP-001", "There are as many log-probabilities as emitted tokens, and none is NaN or above 0.", source=SOURCE + "B158", guards="well-formed", first=everything,
      cases=all_cases, limit=30)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    entries, _ = trial.value(case).outcome
    pad, emitted, n = trial.subject.conventions.get("pad"), _emitted(case), array_of(case, "rows").shape[0]
    behind = [pad] * (n - emitted) if pad is not None else []
    if list(entries[emitted:]) != behind or len(entries) != emitted + len(behind):
        told = Row("entries", f"{len(entries)}: {[round(x, 4) for x in entries]}", f"{emitted}" + (f", then {pad}" * bool(behind)))
        raise Violation(f"{emitted} tokens were emitted, and the result is not as long.", (told,), kind="length")
    slack = (array_of(case, "rows").shape[1] + STEPS) * _eps(case)
    if not all(x <= slack for x in entries[:emitted]):
        raise Violation("An entry is no logarithm of a probability.", (Row("entries", str(list(entries)), "at most 0 each"),), kind="no logarithm")


def _judge(trial: Trial, case: Case) -> None:
    tokens = numbers(case, "tokens")
    found = [(x,) for x in _found(trial, case)]
    readings = [
        Reading(frozenset({f"they are {kind}"}), [(line[t],) for line, t in zip(law, tokens, strict=False)]) for kind, law in laws(trial.subject, case).items()
    ]
    explained(trial, found, readings, _near(case), "An entry is not the log-probability of its token in its own row.")


@prop("LGP-002", "Entry i is log p_i(x_i), of accepted tokens and of the one that takes a rejected one's place.", source=SOURCE + "B155, B156", guards="position",
      after=("LGP-001",), first=first, cases=cases, limit=80)  # fmt: skip
def test_value(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("LGP-003", "The bonus token's entry is of the bonus row.", source=SOURCE + "B155", guards="position", after=("LGP-002",), first=accepted, cases=accepted_cases,
      limit=40)  # fmt: skip
def test_bonus(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("LGP-004", "All entries are of the logits, or all of the law that tokens are drawn from, as declared.", source="faults L14, L15, B138", guards="position",
      after=("LGP-003",), first=warm, cases=warm_cases, limit=40, applies=lambda s: "rows are p as they are" if _of_p(s) else None)  # fmt: skip
def test_kind(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("LGP-005", "Rows behind the last emitted token change no entry.", source=SOURCE + "B156; faults L8", guards="position", after=("LGP-002",), first=first,
      cases=cases, limit=30)  # fmt: skip
def test_rows_behind(trial: Trial, case: Case) -> None:
    given, emitted = array_of(case, "rows"), _emitted(case)
    lines = list(given.rows())
    other = [*lines[:emitted], *(line[::-1] for line in lines[emitted:])]
    changed = {**case, "rows": array(given.dtype, given.shape, (x for line in other for x in line))}
    once, again = [(x,) for x in _found(trial, case)], [(x,) for x in _found(trial, changed)]
    explained(trial, again, [Reading(frozenset(), once)], _near(case), "With other rows behind the last emitted token, an entry is another.")


def lists(subject: Description) -> list[Case]:
    """One token and all of them, with some accepted and with all."""
    return [_case(subject, LINES[:n], tokens, top=top) for top in (1, 2, 4) for n, tokens in ((1, (0,)), (2, (3,)), (3, (0, 1, 2)))]


def list_cases(subject: Description) -> st.SearchStrategy[Case]:
    """Lists of the likeliest tokens, at any temperature."""
    return drawn(subject, temperatures=(1.0, *TEMPERATURES), top=True)


@prop("LGP-006", "The lists hold the likeliest tokens of each emitted token's own row, with their log-probabilities.", source=SOURCE + "B155", guards="position",
      after=("LGP-003",), first=lists, cases=list_cases, limit=40, applies=lambda s: None if "top" in s.supports else "the subject declares no lists")  # fmt: skip
def test_lists(trial: Trial, case: Case) -> None:
    _, (ids, values) = trial.value(case).outcome
    _judge_ids(case, ids)
    known = laws(trial.subject, case)
    readings = [
        Reading(frozenset({f"they are {kind}"}), [tuple(line[t] for t in row) for line, row in zip(law, ids, strict=False)]) for kind, law in known.items()
    ]
    found = [tuple(row) for row in values[: _emitted(case)]]
    if [len(row) for row in found] != [len(row) for row in readings[0].rows]:
        raise Violation("There are not as many log-probabilities as ids.", kind="length")
    explained(trial, found, readings, _near(case), "A listed log-probability is not that of its token in its own row.")


def _judge_ids(case: Case, ids: Sequence[Sequence[int]]) -> None:
    """Each list of the right length, different tokens, the likeliest; ties at the border are free."""
    top, lines = int(str(case["top"])), list(array_of(case, "rows").rows())
    if len(ids) < _emitted(case):
        raise Violation("There are fewer lists than emitted tokens.", (Row("lists", str(len(ids)), str(_emitted(case))),), kind="length")
    for i, (line, row) in enumerate(zip(lines[: _emitted(case)], ids, strict=False)):
        told = logit_rows.top_k(line, top).refuses(frozenset(row)) if len(row) == len(set(row)) == top else f"there are {len(set(row))} tokens"
        if told is not None:
            raise Violation(f"In the list of row {i} {told}.", (Row(f"of {logit_rows.show(line)}", str(list(row)), f"the {top} likeliest"),), kind="list")


def large(subject: Description) -> list[Case]:
    """Rows over 32,000 tokens in which ids that are near, or one modulo a power of two, have other logits; the first token, the last, and others."""
    lines = [tuple((5 * t + 4 * i) % 13 / 2 for t in range(LARGE)) for i in range(3)]
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    return [_case(subject, lines, tokens, dtype=dtype) for tokens in ((0,), (LARGE - 1, 2**14 + 1, 0))]


@prop(
    "LGP-007", "Over a large vocabulary too, entry i is log p_i(x_i).", source=SOURCE + "B155; faults B228", guards="position", after=("LGP-003",), first=large
)
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("LGP-008", "A second call with the same objects gives the same.", source="faults L17, B157", guards="position", after=("LGP-001",), first=lambda s: [*everything(s), *warm(s)],
      applies=writes_into_nothing)  # fmt: skip
def test_same_objects_again(trial: Trial, case: Case) -> None:
    same_objects_again(trial, case)


@prop("LGP-009", "Another step in between changes nothing: no entry is left of it.", source=SOURCE + "B157", guards="position", after=("LGP-001",), first=first)
def test_nothing_left_behind(trial: Trial, case: Case) -> None:
    leaves_nothing_behind(trial, case, _case(trial.subject, LINES[::-1], (1, 2, 1, 0)))


@prop(
    "LGP-010",
    "The call leaves its arguments as they were.",
    source="contracts, hygiene",
    guards="hygiene",
    severity="advisory",
    after=("LGP-001",),
    first=first,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
