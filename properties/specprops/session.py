"""Properties of `session`: after any pattern of accepted drafts it has seen exactly the committed tokens, and drafts what follows these."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.histories import Move, Operation, finished, judged, moves, operations, shown
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.contracts.table_models import Table
from specverify.law import Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "contracts, F; theory S7; faults, DRAFT-STATE; "
WIDTH = 4
"""Ids of the model: two contexts agree on a draft by chance in one case of four, and on three drafts in one of 64."""
POINTS = (1, 3, 0, 2, 2, 0, 3, 1, 0, 1, 2, 3)
"""The token that each row of the model is sure of: each as often as the others."""
PROMPTS = ([2, 0], [1, 3, 3])
GAMMA = 3
LONGEST_DRAFT = 4


def _case(subject: Description, given: Iterable[Operation], prompts: Sequence[Sequence[int]] = PROMPTS) -> Case:
    """A history over a model whose rows are points."""
    dtype = subject.dtypes[0]
    rows = [float(token == point) for point in POINTS for token in range(WIDTH)]
    return {"model": array(dtype, (len(POINTS), WIDTH), rows), "prompts": [list(one) for one in prompts], "operations": finished(given)}


def rounds(pattern: Iterable[tuple[int, int, int]], which: int = 0) -> list[Operation]:
    """For each (tokens to draft, drafts accepted, token behind them) a round, whose committed text is read."""
    return [step for gamma, n, token in pattern for step in (["draft", which, gamma], ["accept", which, n, token], ["read", which])]


def beginnings(subject: Description) -> list[Case]:
    """The prompts alone."""
    return [_case(subject, [["begin", 0, number]]) for number in range(len(PROMPTS))]


def rounds_of_one(subject: Description) -> list[Case]:
    """A beginning and a round, of one draft and of many."""
    return [_case(subject, [["begin", 0, 0], *rounds([(gamma, 0, 1)])]) for gamma in (1, LONGEST_DRAFT)]


def patterns(subject: Description) -> list[Case]:
    """Every number of accepted drafts, none and all included, and every two of them behind each other; a last draft shows the context."""
    alone = [[(gamma, n, 1)] for gamma in range(1, LONGEST_DRAFT) for n in range(gamma + 1)]
    after = [[(GAMMA, a, 3), (1, b, 0), (GAMMA, c, 2)] for a, b, c in itertools.product((0, 1, GAMMA), (0, 1), (0, 2, GAMMA))]
    return [_case(subject, [["begin", 0, 0], *rounds(one), *rounds([(LONGEST_DRAFT, 0, 1)])]) for one in (*alone, *after)]


@st.composite
def drawn(draw: st.DrawFn, subject: Description, *, objects: int = 1, anew: bool = False) -> Case:
    """Rounds of any lengths behind any prompts, begun anew now and then where that is looked at."""
    prompt = st.lists(st.integers(0, WIDTH - 1), min_size=1, max_size=4)
    return _case(subject, _lawful(draw(moves(objects)), anew=anew), draw(st.lists(prompt, min_size=2, max_size=2)))


def _lawful(given: Iterable[Move], *, anew: bool) -> list[Operation]:
    """Moves as rounds; a session begins when it is first used."""
    history, begun = list[Operation](), set[int]()
    for which, kind, much in given:
        if which not in begun or (anew and kind % 3 == 0):
            history.append(["begin", which, much % 2])
            begun.add(which)
        gamma = 1 + much % LONGEST_DRAFT
        history += rounds([(gamma, kind % (gamma + 1), much % WIDTH)], which)
    return history or [["begin", 0, 0]]


Judge = Callable[[Case, Operation, Outcome], list[Row]]
"""What is wrong with what an operation gave, as rows of a table."""


def _committed(_case: Case, operation: Operation, told: Outcome) -> list[Row]:
    return [Row("state()", str(told[0]), str(told[1]))] if operation[0] == "read" and told[0] != told[1] else []


def _of_the_model(case: Case, operation: Operation, told: Outcome) -> list[Row]:
    """Drafts against the model's sure continuation of the committed text; fewer of them are lawful."""
    if operation[0] != "draft":
        return []
    drafts, text, *_ = told
    right = continuation(case, text, len(drafts))
    return [] if drafts == right else [Row(f"draft() behind {text}", str(drafts), str(right))]


def continuation(case: Case, text: Sequence[int], count: int) -> tuple[int, ...]:
    """The `count` tokens that the model of a case is sure of behind a text."""
    table, found = Table(array_of(case, "model"), ()), tuple(text)
    for _ in range(count):
        found += (max(enumerate(table.line(found)), key=lambda one: one[1])[0],)
    return found[len(text) :]


def _all_judged(trial: Trial, case: Case, wrong: Judge) -> None:
    """Refuse the first operation that raises, or that `wrong` has rows of a table to show of."""
    given = operations(case)
    judged(case, trial.value(case).outcome, lambda place, told: wrong(case, given[place], told), reading=("read", "draft"))


def _uses_the_model(subject: Description) -> str | None:
    return "it brings heads of its own" if _own(subject) else None


def _has_its_own(subject: Description) -> str | None:
    return None if _own(subject) else "its drafts are the model's, and known"


def _own(subject: Description) -> bool:
    return subject.conventions.get("model") == "own"


@prop("SES-001", "It begins, drafts token ids of the vocabulary, no more than were asked for, is told what was accepted, and goes on.", source=SOURCE + "B122", guards="well-formed",
      first=rounds_of_one)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    _all_judged(trial, case, lambda *_: [])


@prop("SES-002", "When it has begun, the committed text is the prompt.", source=SOURCE + "B122", guards="position", after=("SES-001",), first=beginnings)
def test_prompt(trial: Trial, case: Case) -> None:
    _all_judged(trial, case, _committed)


@prop("SES-003", "After every number of accepted drafts, none and all included, the committed text is what was accepted and the token behind it.", source=SOURCE + "B121, B124", guards="position",
      after=("SES-002",), first=patterns, cases=drawn, limit=30)  # fmt: skip
def test_committed(trial: Trial, case: Case) -> None:
    _all_judged(trial, case, _committed)


@prop("SES-004", "It drafts what its model says behind the committed text: it has read every committed token, and no rejected one.", source=SOURCE + "B121, B124, B126", guards="position",
      after=("SES-001",), first=patterns, cases=drawn, limit=30, applies=_uses_the_model)  # fmt: skip
def test_context(trial: Trial, case: Case) -> None:
    _all_judged(trial, case, _of_the_model)


def again(subject: Description) -> list[Case]:
    """A second prompt in the middle of a text."""
    return [
        _case(subject, [["begin", 0, a], *rounds([(GAMMA, n, 1)]), ["begin", 0, b], ["read", 0], *rounds([(GAMMA, 0, 1)])])
        for a, b, n in ((0, 1, 0), (1, 0, GAMMA), (0, 0, 1))
    ]


@prop("SES-005", "A new beginning forgets the text before.", source=SOURCE + "B122, B125", guards="requests", after=("SES-003", "SES-004"), first=again,
      cases=lambda subject: drawn(subject, anew=True), limit=20)  # fmt: skip
def test_begins_anew(trial: Trial, case: Case) -> None:
    _all_judged(trial, case, _both(trial))


def _both(trial: Trial) -> Judge:
    """The committed text, and of a model that is known the drafts too."""
    return lambda *given: _committed(*given) or ([] if _own(trial.subject) else _of_the_model(*given))


def neighbours(subject: Description) -> list[Case]:
    """A second session that begins, drafts and commits between the operations of the first."""
    other = ["begin", 1, 1]
    between = [
        ["begin", 0, 0],
        ["draft", 0, GAMMA],
        other,
        ["draft", 1, GAMMA],
        ["accept", 0, 1, 2],
        ["read", 0],
        ["accept", 1, GAMMA, 0],
        *rounds([(GAMMA, 0, 1)]),
    ]
    return [_case(subject, [["begin", 0, 0], other, ["read", 0], *rounds([(GAMMA, 2, 1)]), *rounds([(GAMMA, 0, 3)], 1)]), _case(subject, between)]


@prop("SES-006", "Two sessions never share a text: what one commits, the other does not see.", source=SOURCE + "B125", guards="requests", after=("SES-003", "SES-004"), first=neighbours,
      cases=lambda subject: drawn(subject, objects=2), limit=20)  # fmt: skip
def test_apart(trial: Trial, case: Case) -> None:
    _all_judged(trial, case, _both(trial))


@prop("SES-010", "Heads of its own draft what a new session's do that has begun with the committed text: nothing was left unread.", source=SOURCE + "B126", guards="efficiency",
      severity="advisory", after=("SES-003",), first=patterns, applies=_has_its_own)  # fmt: skip
def test_replay(trial: Trial, case: Case) -> None:
    as_anew(case, trial.value(case).outcome)


@prop("SES-011", "In many rounds it drafts something.", source="contracts, F; faults EFFICIENCY", guards="efficiency", severity="advisory", after=("SES-001",),
      first=lambda s: patterns(s)[-1:])  # fmt: skip
def test_drafts(trial: Trial, case: Case) -> None:
    ever_drafted(case, trial.value(case).outcome)


def ever_drafted(case: Case, outcome: Outcome) -> None:
    """Refuse a history without any draft, of which nothing else tells a drafter that forgets to return them."""
    drafts = [told[0] for operation, told in zip(operations(case), outcome, strict=True) if operation[0] == "draft"]
    if not any(drafts):
        raise Violation(
            f"No id is drafted in {len(drafts)} rounds; draft() must return the drafted ids.", (Row("drafted ids", "none", "some"),), kind="no drafts"
        )


def as_anew(case: Case, outcome: Outcome) -> None:
    """Refuse the first drafts that are not those of a session which has begun with the committed text; two of these that differ draw at random, and tell nothing."""
    given = operations(case)
    drafts = [(place, told) for place, told in enumerate(outcome) if given[place][0] == "draft"]
    repeatable = all(told[2] == told[3] for _, told in drafts)
    for place, (found, text, right, _) in drafts if repeatable else ():
        if found != right:
            table = (Row(f"draft() behind {text}", str(found), str(right)),)
            raise Violation(f"After {shown(given[:place])}, it drafts otherwise than a session that has begun with the committed text.", table, kind="stale")
