"""Properties of `kv_cache`: after any history a cache holds the rows of the committed tokens, in order, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops.histories import Move, Operation, finished, judged, moves, operations, sentence, shown
from specprops.hygiene import inputs_unchanged, leaves_nothing_behind
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array, array_of
from specverify.law import Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "contracts, D; theory L5; "
WIDTH = 2
"""Entries of a row: two, so that rows and entries are told apart."""
CAPACITY = 6
"""Of most cases: a prompt, a draft of three, and a row more."""
CAPACITIES = (3, 8)
"""Of cases that are drawn."""
Rows = list[int]


class Read(NamedTuple):
    """What was read of a cache: its length, its rows, and these as they are when all is over."""

    length: int
    k: Sequence[Outcome]
    v: Sequence[Outcome]
    k_later: Sequence[Outcome]
    v_later: Sequence[Outcome]


def _case(subject: Description, given: Iterable[Operation], *, capacity: int = CAPACITY, dtype: str | None = None) -> Case:
    """Row i holds the whole numbers that follow 2 i, keys above 0 and values below: exact in every dtype, and all different."""
    history = finished(given)
    count = sum(one[2] for one in history if one[0] == "append")
    numbers = [float(x + 1) for x in range(count * WIDTH)]
    told = {name: array(dtype or subject.dtypes[0], (count, WIDTH), [sign * x for x in numbers]) for name, sign in (("k", 1), ("v", -1))}
    return {"capacity": capacity, **told, "operations": history}


def held(case: Case) -> list[Rows]:
    """The rows that the cache of each operation must hold after it, as numbers of what was appended."""
    caches, at, found = dict[int, Rows](), 0, []
    for name, which, *rest in operations(case):
        rows = caches.setdefault(which, [])
        if name == "append":
            rows += range(at, at + rest[0])
            at += rest[0]
        elif name == "rollback":
            del rows[max(0, rest[0]) :]
        elif name == "select":
            rows[:] = [rows[row] for row in rest[0] if row < len(rows)]
        elif name == "reset":
            rows.clear()
        found.append(list(rows))
    return found


def drawn(kinds: Sequence[str], *, caches: int = 1) -> Callable[[Description], st.SearchStrategy[Case]]:
    """Histories of these operations, as far as the subject has them; each lawful where it stands."""

    @st.composite
    def strategy(draw: st.DrawFn, subject: Description) -> Case:
        known = [kind for kind in kinds if kind not in {"select", "reset"} or kind in subject.supports]
        capacity = draw(st.integers(*CAPACITIES))
        return _case(subject, _lawful(draw(moves(caches)), known, capacity), capacity=capacity, dtype=draw(st.sampled_from(subject.dtypes)))

    return strategy


def _lawful(given: Iterable[Move], kinds: Sequence[str], capacity: int) -> list[Operation]:
    """Moves as operations: one that cannot be, as an append to a full cache, is left out, and so is one that would do nothing."""
    lengths, history = dict[int, int](), list[Operation]()
    for which, kind, much in given:
        name, length = kinds[kind % len(kinds)], lengths.get(which, 0)
        if length == (capacity if name == "append" else 0):
            continue
        operation, lengths[which] = _operation(name, which, length, 1 + much % (capacity - length if name == "append" else length), much)
        history.append(operation)
    return history or [["append", 0, 1]]


def _operation(name: str, which: int, length: int, count: int, much: int) -> tuple[Operation, int]:
    """An operation and the length behind it: `count` rows are appended or rolled back, the bits of `much` tell which of the others are not kept."""
    kept = [row for row in range(length) if row == count - 1 or not much >> row & 1]
    return {
        "append": (["append", which, count], length + count),
        "rollback": (["rollback", which, length - count], length - count),
        "select": (["select", which, kept], len(kept)),
        "reset": (["reset", which], 0),
        "read": (["read", which], length),
    }[name]


def given(*histories: Sequence[Operation]) -> Callable[[Description], list[Case]]:
    """Histories as cases, those left out that need what a subject does not have."""
    return lambda subject: [_case(subject, one) for one in histories if {o[0] for o in one} - {"append", "rollback", "read"} <= set(subject.supports)]


def has(feature: str) -> Callable[[Description], str | None]:
    """Why histories with an operation are not tried, or none."""
    return lambda subject: None if feature in subject.supports else f"the subject declares no {feature}"


APPENDS = ((["append", 0, 1],), (["append", 0, 3],), (["append", 0, 2], ["append", 0, 1]), (["append", 0, 1], ["read", 0], ["append", 0, 3], ["append", 0, 2]))
"""A row, a prompt, a row behind it; up to the capacity."""
ROLLBACKS = (
    (["append", 0, 3], ["rollback", 0, 2]), (["append", 0, 3], ["rollback", 0, 3]), (["append", 0, 2], ["rollback", 0, 0]),
    (["append", 0, 3], ["rollback", 0, 1], ["append", 0, 1]), (["append", 0, 2], ["append", 0, 3], ["rollback", 0, 2], ["append", 0, 2]),
    (["append", 0, 3], ["rollback", 0, 3], ["append", 0, 2]), (["append", 0, 4], ["rollback", 0, 1], ["append", 0, 1], ["read", 0], ["append", 0, 1]),
    (["append", 0, 3], ["rollback", 0, 2], ["rollback", 0, 1], ["append", 0, 2]), (["append", 0, 6], ["rollback", 0, 1], ["append", 0, 5]),
)  # fmt: skip
"""Some drafts rejected, none, all; and what follows, fewer rows than were rolled back, as many, more."""
BORDERS = 16, 64
"""Rows of a page, as engines have them."""


def at_borders(subject: Description) -> list[Case]:
    """Rollbacks to the border of a page, over it and from it, and what follows."""
    ends = ((-2, 0), (-2, -1), (-4, -1), (-1, 1))
    told = [(page + before, page + to) for page in BORDERS for before, to in ends]
    histories: list[list[Operation]] = [[["append", 0, first], ["append", 0, 4], ["rollback", 0, to], ["append", 0, 2]] for first, to in told]
    return [_case(subject, one, capacity=max(BORDERS) + CAPACITY) for one in histories]


SELECTIONS = (
    (["append", 0, 3], ["select", 0, [0, 2]]), (["append", 0, 3], ["select", 0, [0, 1, 2]]), (["append", 0, 3], ["select", 0, [0]]), (["append", 0, 2], ["select", 0, [1]]),
    (["append", 0, 2], ["append", 0, 4], ["select", 0, [0, 1, 3, 5]]), (["append", 0, 2], ["append", 0, 3], ["select", 0, [0, 1, 2, 4]], ["append", 0, 1]),
    (["append", 0, 4], ["select", 0, [0, 3]], ["select", 0, [1]]), (["append", 0, 4], ["select", 0, [0, 2, 3]], ["rollback", 0, 2], ["append", 0, 2]),
)  # fmt: skip
"""A branch of a tree behind a prompt, all of it, its root; and what follows."""
RESETS = (
    (["append", 0, 2], ["reset", 0]), (["append", 0, 2], ["reset", 0], ["append", 0, 1]), (["append", 0, 6], ["reset", 0], ["append", 0, 6]), (["reset", 0], ["append", 0, 2]),
    (["append", 0, 3], ["rollback", 0, 1], ["reset", 0], ["append", 0, 2], ["rollback", 0, 1]),
)  # fmt: skip
"""Emptied; used again, up to the capacity too; emptied before its first row."""
NEIGHBOURS = (
    (["append", 0, 2], ["read", 1]), (["append", 0, 2], ["append", 1, 2]), (["append", 0, 3], ["append", 1, 1], ["rollback", 0, 1], ["append", 1, 2]),
    (["append", 0, 2], ["rollback", 0, 0], ["append", 1, 1], ["append", 0, 1]), (["append", 0, 6], ["append", 1, 6]),
)  # fmt: skip
"""A second cache that is made when the first holds rows; both in turns; both full."""


@prop("KVC-001", "length() is a whole number, and rows() gives keys and values of as many rows and of their width.", source=SOURCE + "contracts, common rules",
      guards="well-formed", first=given(*APPENDS), cases=drawn(("append",)), limit=10)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    judged(case, trial.value(case).outcome, lambda place, told: _lengths(held(case)[place], Read(*told)))


def _lengths(right: Rows, read: Read) -> list[Row]:
    told = (("length()", read.length), ("keys", len(read.k)), ("values", len(read.v)))
    return [Row(name, f"{found} rows", f"{len(right)} rows") for name, found in told if found != len(right)]


def _holds(trial: Trial, case: Case) -> None:
    """Every read shows the rows that must be there."""
    right, outcome = held(case), trial.value(case).outcome
    judged(case, outcome, lambda place, told: [*_lengths(right[place], Read(*told)), *_foreign(case, right[place], Read(*told))])


def _foreign(case: Case, right: Rows, read: Read) -> list[Row]:
    told = ((name, _numbers(case, name, rows)) for name, rows in (("k", read.k), ("v", read.v)))
    return [Row(f"rows of {name}", _shown(found), _shown(right)) for name, found in told if found != right]


def _numbers(case: Case, name: str, rows: Sequence[Outcome]) -> list[int | None]:
    """Rows by their numbers; none for one that was never appended."""
    known = {tuple(row): number for number, row in enumerate(array_of(case, name).rows())}
    return [known.get(tuple(row)) for row in rows]


def _shown(rows: Sequence[int | None]) -> str:
    return " ".join("foreign" if row is None else f"#{row}" for row in rows) or "none"


@prop("KVC-002", "What was appended stands there in the order in which it came, keys and values alike.", source=SOURCE + "theory A7", guards="position", after=("KVC-001",),
      first=given(*APPENDS), cases=drawn(("append", "read")), limit=20)  # fmt: skip
def test_append(trial: Trial, case: Case) -> None:
    _holds(trial, case)


@prop("KVC-003", "After a rollback the first rows are left, and what is appended stands behind them.", source=SOURCE + "faults B095, B098, B105", guards="position",
      after=("KVC-002",), first=lambda s: given(*ROLLBACKS)(s) + at_borders(s), cases=drawn(("append", "rollback", "read")), limit=60)  # fmt: skip
def test_rollback(trial: Trial, case: Case) -> None:
    _holds(trial, case)


@prop("KVC-004", "After a selection the rows that are kept stand there, in their order and without gaps.", source=SOURCE + "theory A7; faults TREE", guards="position",
      after=("KVC-003",), first=given(*SELECTIONS), cases=drawn(("append", "select", "read")), limit=60, applies=has("select"))  # fmt: skip
def test_select(trial: Trial, case: Case) -> None:
    _holds(trial, case)


@prop("KVC-005", "A reset leaves a cache that is as a new one.", source=SOURCE + "faults B122, B125", guards="position", after=("KVC-003",), first=given(*RESETS),
      cases=drawn(("append", "reset", "read")), limit=30, applies=has("reset"))  # fmt: skip
def test_reset(trial: Trial, case: Case) -> None:
    _holds(trial, case)


@prop("KVC-006", "Two caches never share a row: what one does, the other does not see.", source=SOURCE + "faults B125", guards="requests", after=("KVC-003",),
      first=given(*NEIGHBOURS), cases=drawn(("append", "rollback", "read"), caches=2), limit=40)  # fmt: skip
def test_apart(trial: Trial, case: Case) -> None:
    _holds(trial, case)


@prop("KVC-007", "After any history of two caches, each holds the rows of its committed tokens and no other.", source=SOURCE + "theory A7", guards="position",
      after=("KVC-003",), cases=drawn(("append", "append", "rollback", "select", "reset", "read"), caches=2), limit=100)  # fmt: skip
def test_any_history(trial: Trial, case: Case) -> None:
    _holds(trial, case)


def overfull(subject: Description) -> list[Case]:
    """A row too many for a full cache, a draft of which some fits in, more than ever fits in, and a cache that is full again."""
    histories: tuple[list[Operation], ...] = (
        [["append", 0, 2], ["append", 0, 1]], [["append", 0, 1], ["append", 0, 3]], [["append", 0, 3]], [["append", 0, 2], ["rollback", 0, 1], ["append", 0, 1], ["append", 0, 2]],
    )  # fmt: skip
    return [_case(subject, one, capacity=2) for one in histories]


@prop("KVC-008", "Rows beyond the capacity are refused, or the cache grows: nothing is overwritten and nothing lost.", source=SOURCE + "faults B097", guards="position",
      after=("KVC-002",), first=overfull)  # fmt: skip
def test_capacity(trial: Trial, case: Case) -> None:
    *_, last, read = trial.value(case).outcome
    before, after = held(case)[-3] if len(held(case)) > 2 else [], held(case)[-1]  # noqa: PLR2004
    refused = last[0] == "raised"
    right = before if refused else after
    off = [Row("reading", sentence(read), "the rows")] if read[0] == "raised" else [*_lengths(right, Read(*read)), *_foreign(case, right, Read(*read))]
    told = shown(operations(case)[:-1])
    if off and refused:
        raise Violation(f"{told}: this is refused, and what was there before is changed.", tuple(off), kind="refused and changed", severity="advisory")
    if off:
        raise Violation(f"{told}: rows beyond a capacity of {case['capacity']} are taken, and rows are lost.", tuple(off), kind="overwritten")
    if not refused and trial.subject.conventions.get("full") != "grows":
        raise Violation(f"The cache grows beyond a capacity of {case['capacity']}.", kind="grows", severity="advisory")


@prop(
    "KVC-009",
    "Histories of other caches in between change nothing.",
    source=SOURCE + "faults B122",
    guards="position",
    after=("KVC-003",),
    first=given(*APPENDS, *ROLLBACKS[:4]),
)
def test_nothing_left_behind(trial: Trial, case: Case) -> None:
    other = _case(trial.subject, [["append", 0, 4], ["rollback", 0, 3], ["append", 1, 2]], capacity=CAPACITY + 1)
    leaves_nothing_behind(trial, case, other)
    _holds(trial, case)


def senseless(subject: Description) -> list[Case]:
    """A rollback to a length below 0, one to a length that is not there, or no longer; a row to keep that is not there."""
    histories: list[list[Operation]] = [
        [["append", 0, 2], ["rollback", 0, -1]],
        [["append", 0, 2], ["rollback", 0, 3]],
        [["append", 0, 3], ["rollback", 0, 1], ["rollback", 0, 2]],
    ]
    return [_case(subject, one) for one in [*histories, *([[["append", 0, 2], ["select", 0, [0, 2]]]] if "select" in subject.supports else [])]]


@prop("KVC-010", "A rollback to a length that is not there is refused, and so is the choice of a row that is not there.", source=SOURCE + "contracts, common rules", guards="hygiene",
      severity="advisory", after=("KVC-003",), first=senseless)  # fmt: skip
def test_refused(trial: Trial, case: Case) -> None:
    if trial.value(case).outcome[-2][0] != "raised":
        severity = "finding" if trial.subject.refuses else "advisory"
        raise Violation(f"{shown(operations(case)[:-1])}: this is not refused.", kind="not refused", severity=severity)


@prop("KVC-011", "What rows() gave stays as it was, whatever comes later.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("KVC-003",),
      first=given((["append", 0, 2], ["read", 0], ["append", 0, 1]), (["append", 0, 3], ["read", 0], ["rollback", 0, 1], ["append", 0, 2]), (["append", 0, 3], ["read", 0], ["select", 0, [0, 2]]),
                  (["append", 0, 2], ["read", 0], ["reset", 0], ["append", 0, 2])),
      applies=lambda subject: "the subject declares that rows() gives views" if subject.conventions.get("rows") == "views" else None)  # fmt: skip
def test_rows_stay(trial: Trial, case: Case) -> None:
    reads = [Read(*told) for told in trial.value(case).outcome if told[0] not in {"done", "raised"}]
    for read in reads:
        if (read.k, read.v) != (read.k_later, read.v_later):
            table = (Row("keys", _shown(_numbers(case, "k", read.k_later)), _shown(_numbers(case, "k", read.k))),)
            raise Violation(f"{shown(operations(case))}: what was read first has changed at the end.", table, kind="views")


@prop("KVC-012", "Keys and values that are handed over are left as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("KVC-002",),
      first=given(*ROLLBACKS, *SELECTIONS, *RESETS))  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
