"""`session`: a drafter with a state of its own (draft models with caches, heads, multi-token prediction), through rounds of accepted and rejected drafts.

    @sv.subject("session", models="module")
    class Session:
        def __init__(self, model): ...             # the draft model, in the form that models= declares
        def begin(self, prompt): ...               # forget everything, and read a prompt (S,)
        def draft(self, gamma): ...                # up to gamma token ids, or these and the rows they were drawn from
        def accept(self, n, token): ...            # the first n of the last drafts are committed, and the token behind them
        def state(self): ...                       # the committed ids, the prompt's included

Each draft is followed by one `accept`. The model's rows are points, so that drafts are known whether they are drawn or not. A session that brings heads of its own leaves the model aside and declares
`conventions={"model": "own"}`: what it drafts is held against a new session's that has begun with the committed text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, array_of, check_names, kind_of, outside, probability_rows, token_list
from specverify.contracts.histories import Objects, attempt, check_operations, count, nothing, number, step
from specverify.contracts.nodes import are_ids, is_int
from specverify.contracts.table_models import Prefix, Table
from specverify.law import Outcome

NAME = "session"


def _accepted(rest: Sequence[object]) -> bool:
    """Of an operation with a number of drafts and a token."""
    return len(rest) == 2 and all(is_int(one) and int(str(one)) >= 0 for one in rest)  # noqa: PLR2004


OPERATIONS = {"begin": number, "draft": count, "accept": _accepted, "read": nothing}
"""What stands behind the session's number: which prompt; how many tokens; how many of the last drafts, and the token behind them; nothing."""


def prompts(case: Case) -> list[Prefix]:
    """Those of a case, by number."""
    found: Any = case["prompts"]
    return [tuple(one) for one in found]


def _check(case: Case) -> None:
    """A case carries the rows of the model, prompts, and the operations; a draft lies between a beginning and its acceptance."""
    check_names(NAME, case, ("model", "prompts", "operations"))
    check_operations(NAME, case, OPERATIONS)
    model, given, operations = probability_rows(NAME, case, "model"), case["prompts"], case["operations"]
    if len(model.shape) != 2:  # noqa: PLR2004
        raise outside(NAME, "model must have shape (n, V)")
    if not isinstance(given, list) or not given or not all(one and are_ids(one) and max(one) < model.shape[1] for one in given):
        raise outside(NAME, "prompts must be lists of ids of the vocabulary, at least one, and none empty")
    assert isinstance(operations, list)
    if any((one[0] == "begin" and one[2] not in range(len(given))) or (one[0] == "accept" and one[3] >= model.shape[1]) for one in operations):
        raise outside(NAME, "a beginning names a prompt of the case, and an accepted token is one of the vocabulary")
    if not _in_turn(operations):
        raise outside(NAME, "each session begins first, and drafts and accepts in turns")


def _in_turn(operations: Sequence[Sequence[Any]]) -> bool:
    """Whether every draft follows a beginning or an acceptance of its session, and every acceptance a draft."""
    before: dict[int, str] = {}
    allowed = {"draft": ("begin", "accept"), "accept": ("draft",), "read": ("begin", "accept")}
    for name, which, *_ in operations:
        if name != "begin" and before.get(which) not in allowed[name]:
            return False
        before[which] = before[which] if name == "read" else name
    return True


def _prepare(case: Case) -> Case:
    """A table, which becomes a model of the subject's form, and all ids, of which its texts are made."""
    model = array_of(case, "model")
    return {**case, "model": Table(model, ()), "ids": array("int64", model.shape[1:], range(model.shape[1]))}


def _play(case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> list[Any]:
    """What each operation gave, with the committed text beside what was read; beside a draft also what two new sessions draft that have begun with that text."""
    model, ids = values
    sessions, told = _Sessions(lambda: subject(model), [_text(ids, one) for one in prompts(case)]), list[list[Any]]()
    operations: Any = case["operations"]
    for name, which, *rest in operations:
        told.append(attempt(sessions.done, name, which, rest))
    for (name, _, *rest), one in zip(operations, told, strict=True):
        if name == "draft" and one[0] == "read":
            one += [attempt(_anew, subject(model), _text(ids, one[2]), rest[0]) for _ in range(2)]
    return told


class _Sessions:
    """The sessions of a history, with the text that each has been told to commit."""

    def __init__(self, make: Callable[[], Any], given: Sequence[Any]) -> None:
        self._sessions, self._prompts = Objects(make), given
        self._texts, self._drafts = dict[int, list[int]](), dict[int, list[int]]()

    def done(self, name: str, which: int, rest: Sequence[int]) -> list[Any]:
        """One operation."""
        session, text = self._sessions[which], self._texts.setdefault(which, [])
        if name == "read":
            return ["read", deepcopy(session.state()), list(text)]
        if name == "draft":
            result = session.draft(rest[0])
            self._drafts[which] = _tokens(result)
            return ["read", result, list(text)]
        if name == "begin":
            text[:] = map(int, self._prompts[rest[0]])
            session.begin(self._prompts[rest[0]])
        else:
            n, token = self._lawful(which, *rest)
            text += [*self._drafts[which][:n], token]
            session.accept(n, token)
        return ["done"]

    def _lawful(self, which: int, n: int, token: int) -> tuple[int, int]:
        """No more than were drafted; and behind a rejected one another token than that."""
        drafts = self._drafts[which]
        n = min(n, len(drafts))
        return n, token ^ 1 if n < len(drafts) and drafts[n] == token else token


def _anew(session: Any, text: Any, gamma: int) -> list[Any]:
    session.begin(text)
    return ["read", session.draft(gamma)]


def _text(ids: Any, text: Sequence[int]) -> Any:
    """A text as the subject's kind of array."""
    return [ids[token] for token in text] if isinstance(ids, list) else ids[list(text)]


def _tokens(result: Any) -> list[int]:
    """The drafted ids of a result, of a batch of one too; none where it has none: `_outcome` says why."""
    if isinstance(result, tuple) and result and not _is_id(result[0]):
        result = result[0]
    found = result.tolist() if hasattr(result, "tolist") else list(result or ())
    return [int(token) for token in (found[0] if found and isinstance(found[0], list) else found)]


def _is_id(value: Any) -> bool:
    """Whether it is a number: an int, or an array without axes."""
    return isinstance(value, int) or getattr(value, "ndim", None) == 0


def _outcome(case: Case, result: object) -> Outcome:
    """("done",), ("raised", type, message, place), or the ids that were read, those committed, and of drafts what two new sessions draft, None where one raises."""
    assert isinstance(result, list)
    width = array_of(case, "model").shape[1]
    operations: Any = case["operations"]
    most = [one[2] if one[0] == "draft" else None for one in operations]
    return tuple(step(told, partial(_read, most=limit, width=width)) for told, limit in zip(result, most, strict=True))


def _read(read: Sequence[Any], *, most: int | None, width: int) -> Outcome:
    if most is None:
        return _ids("state()", read[0], None, width), tuple(read[1])
    anew = [None if told[0] == "raised" else _ids("draft()", told[1], most, width) for told in read[2:]]
    return _ids("draft()", read[0], most, width), tuple(read[1]), *anew


def _ids(what: str, value: object, most: int | None, width: int) -> Prefix:
    """Ids as they come, alone or before the rows of q, of a batch of one too, None where nothing is drafted; or Malformed."""
    if isinstance(value, list) and value and (value[0] is None or isinstance(value[0], (Array, list))):
        value = value[0]
    if value is None and most is not None:
        return ()
    if isinstance(value, Array) and len(value.shape) == 2 and value.shape[0] == 1:  # noqa: PLR2004
        value = value.nested()[0]  # type: ignore[index]
    if not isinstance(value, (Array, list)):
        raise Malformed(f"{what} gave {kind_of(value)}, not token ids")
    found = token_list(value)
    if most is not None and len(found) > most:
        raise Malformed(f"{what} gave {len(found)} tokens, and {most} were asked for at most")
    strange = [token for token in found if not 0 <= token < width]
    if strange:
        raise Malformed(f"{what} gave token {strange[0]}, which is outside 0 … {width - 1}")
    return tuple(found)


CONTRACT = Contract(
    name=NAME,
    prefix="SES",
    sentence="Drafts with a state of its own: makes an object that begins with a prompt, drafts, and is told what was accepted.",
    parameters=(Parameter("model", "a model", "the draft model, in the form that models= declares"),),
    returns="an object with begin(prompt), draft(gamma), accept(n, token), state()",
    right="after every pattern of accepted drafts, none and all included, it has seen exactly the committed tokens, and drafts what follows these",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={
        "model": array("float32", (2, 2), (1, 0, 0, 1)),
        "prompts": [[0]],
        "operations": [["begin", 0, 0], ["draft", 0, 1], ["accept", 0, 1, 1], ["read", 0]],
    },
    conventions={"model": Convention("whose drafts they are: the model's that it is given, or those of heads of its own", ("given", "own"))},
    equivalents=("DraftModel", "EagleProposer", "MedusaHeads", "HuggingFaceDrafter"),
    prepare=_prepare,
    play=_play,
    material=(Parameter("ids", "(V,)", "all token ids, int64, of which prompts are made"),),
)
