"""Properties of `recurrent_state`: after any pattern of accepted drafts the state is that of the committed tokens alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.alike import ROUNDINGS, difference
from specprops.histories import Move, Operation, finished, judged, moves
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array
from specverify.contracts.arrays import EPS
from specverify.contracts.recurrent_state import VOCABULARY
from specverify.law import Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "contracts, D; faults L5, "
LONGEST_BLOCK = 4
"""Tokens of a round at most: one, and three drafts."""


def _case(subject: Description, given: Iterable[Operation], tokens: Sequence[int] | None = None) -> Case:
    """Tokens that come again in no short period, so that a text tells how long it is."""
    history = finished(given)
    count = sum(one[2] for one in history if one[0] == "advance")
    size = int(subject.conventions.get("vocabulary", VOCABULARY))
    chosen = tokens or [(i * i + i // 3 + 1) % size for i in range(count)]
    return {"tokens": array("int64", (count,), chosen[:count]), "operations": history}


def rounds(pattern: Iterable[tuple[int, int]], which: int = 0) -> list[Operation]:
    """A prompt of two tokens; then for each (tokens read, tokens kept) a round, which is read behind a rollback."""
    history, length = [["advance", which, 2]], 2
    for many, kept in pattern:
        length += kept
        history += [["advance", which, many], ["rollback", which, length], ["read", which]]
    return history


def prompts(subject: Description) -> list[Case]:
    """One token, a block, blocks of several lengths."""
    return [_case(subject, [["advance", 0, n] for n in blocks]) for blocks in ((1,), (2,), (3, 1), (1, 4, 2))]


def patterns(subject: Description) -> list[Case]:
    """Every number of kept tokens of a block, none and all included; and every two of them behind each other, with a round of one token in between."""
    alone = [[(many, kept)] for many in range(1, LONGEST_BLOCK + 1) for kept in range(many + 1)]
    after = [[(3, a), (1, 1), (2, b)] for a, b in itertools.product(range(4), range(3))]
    return [_case(subject, rounds(one)) for one in (*alone, *after)]


@st.composite
def drawn(draw: st.DrawFn, subject: Description, *, objects: int = 1) -> Case:
    """Rounds of any lengths, any of which is kept up to any token."""
    history = _lawful(draw(moves(objects)), deep="history" in subject.supports)
    size = int(subject.conventions.get("vocabulary", VOCABULARY))
    count = sum(one[2] for one in history if one[0] == "advance")
    return _case(subject, history, draw(st.lists(st.integers(0, size - 1), min_size=count, max_size=count)))


def _lawful(given: Iterable[Move], *, deep: bool) -> list[Operation]:
    """Moves as operations; where no other is supported, a rollback reaches into the last block alone, which is not the prompt, and there is one for each."""
    block, lengths, history = dict[int, int](), dict[int, int](), list[Operation]()
    for which, kind, much in given:
        length, last = lengths.get(which, 0), block.pop(which, 0)
        if kind % 2 and last and (deep or length > last):
            lengths[which] = length - much % (1 + (length if deep else last))
            history += [["rollback", which, lengths[which]], ["read", which]]
        else:
            block[which] = 1 + much % LONGEST_BLOCK
            lengths[which] = length + block[which]
            history.append(["advance", which, block[which]])
    return history or [["advance", 0, 1]]


def _is_the_replay(trial: Trial, case: Case) -> None:
    dtype = max(trial.subject.dtypes, key=EPS.__getitem__)

    def wrong(_place: int, told: Outcome) -> list[Row]:
        state, replay = told
        slack = ROUNDINGS * EPS[dtype] * max(map(abs, _numbers(replay)), default=0.0)
        words = difference(state, replay, slack)
        return [Row("state", words, "that of one that has read the committed tokens alone")] if words else []

    judged(case, trial.value(case).outcome, wrong)


def _numbers(value: Outcome) -> list[float]:
    return [x for one in value for x in _numbers(one)] if isinstance(value, tuple) else [value]


@prop("REC-001", "The state can be read after any block, an array of numbers or several.", source=SOURCE + "B118", guards="well-formed", first=prompts)
def test_well_formed(trial: Trial, case: Case) -> None:
    judged(case, trial.value(case).outcome, lambda _place, told: [Row("state", "NaN", "numbers")] if any(x != x for x in _numbers(told[0])) else [])  # noqa: PLR0124


@prop("REC-002", "A block leaves the state that its tokens leave one by one.", source=SOURCE + "B118", guards="position", after=("REC-001",), first=prompts)
def test_blocks(trial: Trial, case: Case) -> None:
    _is_the_replay(trial, case)


@prop("REC-003", "After every number of accepted tokens, none included, the state is that of the committed tokens alone.", source=SOURCE + "B113, B116", guards="position",
      after=("REC-002",), first=patterns, cases=drawn, limit=40)  # fmt: skip
def test_rollback(trial: Trial, case: Case) -> None:
    _is_the_replay(trial, case)


def neighbours(subject: Description) -> list[Case]:
    """A second object that reads between a block of the first and its rollback."""
    begun = [["advance", 0, 2], ["advance", 1, 1]]
    return [
        _case(subject, [["advance", 0, 2], ["advance", 1, 1], ["read", 0]]),
        _case(subject, [*begun, ["advance", 0, 3], ["advance", 1, 2], ["rollback", 0, 3], ["read", 0], ["rollback", 1, 2]]),
        _case(subject, [*begun, ["advance", 0, 2], ["advance", 1, 4], ["rollback", 0, 2], ["advance", 0, 1]]),
    ]


@prop("REC-004", "Two objects never share a state: what one reads, the other does not see.", source=SOURCE + "B113", guards="requests", after=("REC-002",), first=neighbours,
      cases=lambda subject: drawn(subject, objects=2), limit=30)  # fmt: skip
def test_apart(trial: Trial, case: Case) -> None:
    _is_the_replay(trial, case)


def others(subject: Description) -> list[Case]:
    """Texts of one token, one each."""
    return [_case(subject, [["advance", 0, 1], ["advance", 1, 1]], [0, 1])]


@prop("REC-010", "Two texts that differ in their last token have different states: the state tells something.", source="contracts, D", guards="hygiene", severity="advisory",
      after=("REC-001",), first=others)  # fmt: skip
def test_tells_something(trial: Trial, case: Case) -> None:
    one, other = (told[0] for told in trial.value(case).outcome[-2:])
    if one == other:
        raise Violation("The texts [0] and [1] have one state: what follows says little of it.", (Row("states", "equal", "different"),), kind="equal")
