"""`recurrent_state`: the state of a recurrent model (RNN, state space, linear attention), through drafts and rejections.

    @sv.subject("recurrent_state")
    class State:
        def __init__(self): ...                    # before the first token
        def advance(self, tokens): ...             # read tokens (n,)
        def rollback(self, to_length): ...         # be as after the first to_length tokens
        def state(self): ...                       # an array, a number, or (nested) lists of them

In each round tokens are read, drafts among them, and the rejected ones are rolled back, all of the round's if none was accepted: `to_length` lies in what the last `advance` has read, and
there is one rollback for each. What is read first is the prompt, which stays. `supports=("history",)` says that any length before is possible at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Opaque, Parameter, array_of, check_names, outside
from specverify.contracts.histories import Objects, as_now, attempt, check_operations, count, nothing, number, step
from specverify.contracts.nodes import listed
from specverify.law import Outcome, freeze

NAME = "recurrent_state"
VOCABULARY = 4
"""Where none is declared."""
OPERATIONS = {"advance": count, "rollback": number, "read": nothing}
"""What stands behind the state's number: tokens to read, a length, nothing."""


def _check(case: Case) -> None:
    """A case carries the tokens that are read one after another, whatever the state, and the operations."""
    check_names(NAME, case, ("tokens", "operations"))
    check_operations(NAME, case, OPERATIONS)
    tokens, operations = case["tokens"], case["operations"]
    if not isinstance(tokens, Array) or tokens.dtype != "int64" or len(tokens.shape) != 1 or min(tokens.values, default=0) < 0:
        raise outside(NAME, "tokens must be ids, int64, of shape (n,)")
    if sum(one[2] for one in operations if one[0] == "advance") > tokens.shape[0]:  # type: ignore[attr-defined]
        raise outside(NAME, "tokens must hold all that are read")


def _play(case: Case, values: Sequence[Any], subject: Callable[..., Any]) -> list[Any]:
    """What each operation gave; beside a state that was read, that of a new object which has read the committed tokens, one by one."""
    (tokens,), at, told = values, 0, []
    states, committed = Objects(subject), dict[int, list[int]]()
    operations: Any = case["operations"]
    for name, which, *rest in operations:
        text = committed.setdefault(which, [])
        given = rest
        if name == "advance":
            given = [tokens[at : at + rest[0]]]
            text += range(at, at + rest[0])
            at += rest[0]
        elif name == "rollback":
            del text[rest[0] :]
        told.append(attempt(_done, states, which, name, given))
        if told[-1][0] == "read":
            told[-1].append(_replayed(subject(), tokens, text))
    return told


def _done(states: Objects, which: int, name: str, given: Sequence[Any]) -> list[Any]:
    state = states[which]
    if name == "read":
        return ["read", as_now(state.state())]
    getattr(state, name)(*given)
    return ["done"]


def _replayed(state: Any, tokens: Any, text: Sequence[int]) -> Any:
    for place in text:
        state.advance(tokens[place : place + 1])
    return as_now(state.state())


def _outcome(_case: Case, result: object) -> Outcome:
    """("done",), ("raised", type, message, place) or (state, that of the replay) of each operation, as nested tuples."""
    assert isinstance(result, list)
    return tuple(step(told, lambda read: tuple(freeze(_state(one)) for one in read)) for told in result)


def _state(value: object) -> Any:
    found = listed(value)
    if not _numbers(found):
        raise Malformed("the state is no array, number or list of them" + (f" but {found.strip('<>')}" if isinstance(found, Opaque) else ""))
    return found


def _numbers(value: object) -> bool:
    return all(map(_numbers, value)) if isinstance(value, list) else isinstance(value, (int, float))


def tokens_of(case: Case) -> tuple[int, ...]:
    """The tokens of a case."""
    return tuple(int(x) for x in array_of(case, "tokens").values)


CONTRACT = Contract(
    name=NAME,
    prefix="REC",
    sentence="Keeps the state of a recurrent model: makes an object that advances over tokens and is rolled back to what was accepted.",
    parameters=(),
    returns="an object with advance(tokens), rollback(to_length), state()",
    right="after every pattern of accepted drafts, none included, the state of one that has read the committed tokens alone",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"tokens": array("int64", (1,), (0,)), "operations": [["advance", 0, 1], ["read", 0]]},
    conventions={"vocabulary": Convention(f"token ids that it takes, from 0 on; {VOCABULARY} if nothing is declared")},
    equivalents=("MambaCache", "GatedDeltaNet state", "conv_state, ssm_state"),
    features=("history",),
    play=_play,
    material=(Parameter("tokens", "(n,)", "token ids to read, int64"),),
)
