"""Histories of caches and states, by hand: what runs in the worker, what is drawn, what must come out."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings

from specprops import kv_cache, recurrent_state, session
from specprops.histories import judged, operations
from specprops.violation import Violation
from specverify.contracts import CONTRACTS, Case
from specverify.contracts.histories import as_now
from specverify.subjects import trial
from specverify.subjects.declare import Declaration
from specverify.subjects.subject import Description

CACHE = Description("x", "kv_cache", "lossless", dtypes=("float32", "bfloat16"), supports=("select", "reset"))
STATE = Description("x", "recurrent_state", "lossless")


class Listed:
    """A right cache of lists, but for `extra` rows that a rollback leaves."""

    extra = 0

    def __init__(self, capacity: int) -> None:
        self.capacity, self.pairs = capacity, []

    def append(self, k: list, v: list) -> None:
        if len(self.pairs) + len(k) > self.capacity:
            raise ValueError("full")
        self.pairs += zip(k, v, strict=True)

    def length(self) -> int:
        return len(self.pairs)

    def rollback(self, to_length: int) -> None:
        del self.pairs[to_length + self.extra :]

    def select(self, kept: list) -> None:
        self.pairs = [self.pairs[row] for row in kept]

    def reset(self) -> None:
        self.pairs = []

    def rows(self) -> tuple:
        return [k for k, _ in self.pairs], [v for _, v in self.pairs]


def outcome(contract: str, subject: Callable, case: Case) -> tuple:
    bound = trial.Bound(Declaration(subject, contract, "x", arrays="list"), CONTRACTS[contract])
    reply = trial.call(bound, case)
    assert reply["is"] == "value", reply
    return reply["value"]


def test_the_rows_that_a_cache_must_hold() -> None:
    case = kv_cache._case(CACHE, [["append", 0, 3], ["append", 1, 1], ["rollback", 0, 2], ["append", 0, 2], ["select", 0, [0, 3]], ["reset", 1]])
    assert kv_cache.held(case) == [[0, 1, 2], [3], [0, 1], [0, 1, 4, 5], [0, 5], [], [0, 5], []]
    assert operations(case)[-2:] == [["read", 0], ["read", 1]]


def test_a_history_is_run_operation_by_operation() -> None:
    case = kv_cache._case(CACHE, [["append", 0, 2], ["read", 0], ["rollback", 0, 1], ["append", 0, 6]])
    first, read, back, full, last = outcome("kv_cache", Listed, case)
    assert first == back == ("done",)
    assert read == (2, *(((1, 2), (3, 4)), ((-1, -2), (-3, -4))) * 2)
    assert full[:3] == ("raised", "ValueError", "full")
    assert last[:3] == (1, ((1, 2),), ((-1, -2),))


def test_what_was_read_is_kept_and_looked_at_again() -> None:
    class Same(Listed):
        def __init__(self, capacity: int) -> None:
            self.k, self.v = [], []

        def append(self, k: list, v: list) -> None:
            self.k += k
            self.v += v

        def length(self) -> int:
            return len(self.k)

        def rows(self) -> tuple:
            return self.k, self.v

    read = kv_cache.Read(*outcome("kv_cache", Same, kv_cache._case(CACHE, [["append", 0, 1], ["read", 0], ["append", 0, 1]]))[1])
    assert (read.length, len(read.k), len(read.k_later)) == (1, 1, 2)


def test_the_first_wrong_operation_is_told() -> None:
    class Short(Listed):
        extra = 1

    case = kv_cache._case(CACHE, [["append", 0, 3], ["read", 0], ["rollback", 0, 1], ["append", 0, 1]])
    right, found = kv_cache.held(case), outcome("kv_cache", Short, case)
    with pytest.raises(Violation, match="After append 3, read, rollback 1, append 1") as caught:
        judged(case, found, lambda place, told: kv_cache._foreign(case, right[place], kv_cache.Read(*told)))
    assert [(row.found, row.right) for row in caught.value.table] == [("#0 #1 #3", "#0 #3")] * 2
    with pytest.raises(Violation, match="append 7: this last operation raises ValueError: full"):
        judged(case := kv_cache._case(CACHE, [["append", 0, 7]]), outcome("kv_cache", Short, case), lambda *_: ())


def test_what_is_drawn_is_lawful_and_holds_at_most_the_capacity() -> None:
    seen = set()

    @settings(max_examples=60, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(kv_cache.drawn(("append", "append", "rollback", "select", "reset", "read"), caches=2)(CACHE))
    def check(case: dict) -> None:
        CONTRACTS["kv_cache"].check(case)
        assert all(told[0] != "raised" for told in outcome("kv_cache", Listed, case))
        right = kv_cache.held(case)
        judged(case, outcome("kv_cache", Listed, case), lambda place, told: kv_cache._foreign(case, right[place], kv_cache.Read(*told)))
        seen.update(operation[0] for operation in operations(case))

    check()
    assert seen == {"append", "rollback", "select", "reset", "read"}


class Text:
    """A state that is the text itself."""

    def __init__(self) -> None:
        self.text = []

    def advance(self, tokens: list) -> None:
        self.text += tokens

    def rollback(self, to_length: int) -> None:
        del self.text[to_length:]

    def state(self) -> list:
        return self.text


def test_a_replay_reads_the_committed_tokens_alone() -> None:
    case = recurrent_state._case(STATE, [["advance", 0, 2], ["advance", 1, 1], ["rollback", 0, 1], ["advance", 0, 1]], [3, 1, 0, 2])
    assert outcome("recurrent_state", Text, case)[-2:] == (((3, 2), (3, 2)), ((0,), (0,)))


def test_what_carries_gradients_is_read_too() -> None:
    weight = torch.ones(2, requires_grad=True)
    told = as_now(([weight * 2], 1))
    assert (told[0][0].tolist(), told[0][0].requires_grad, told[1]) == ([2, 2], False, 1)


def test_rollbacks_that_are_drawn_reach_into_the_last_block_alone_and_never_into_the_prompt() -> None:
    @settings(max_examples=60, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(recurrent_state.drawn(STATE, objects=2))
    def check(case: dict) -> None:
        CONTRACTS["recurrent_state"].check(case)
        lengths, block, prompt = {}, {}, {}
        for name, which, *rest in operations(case):
            if name == "advance":
                lengths[which], block[which] = lengths.get(which, 0) + rest[0], rest[0]
                prompt.setdefault(which, rest[0])
            elif name == "rollback":
                assert max(prompt[which], lengths[which] - block.pop(which)) <= rest[0] <= lengths[which]
                lengths[which] = rest[0]
        assert all(state == replay for state, replay in (told for told in outcome("recurrent_state", Text, case) if told != ("done",)))

    check()


class Head:
    """A session with a head of its own, which drafts how many ids it has read; told of a next token, it reads `reads` of it."""

    reads = 1

    def __init__(self, _model: object) -> None:
        self.text, self.read, self.drafts = [], 0, []

    def begin(self, prompt: list) -> None:
        self.text, self.read = list(prompt), len(prompt)

    def draft(self, gamma: int) -> list:
        self.drafts = [(self.read + i) % session.WIDTH for i in range(gamma)]
        return self.drafts

    def accept(self, n: int, token: int) -> None:
        self.text += [*self.drafts[:n], token]
        self.read += n + self.reads

    def state(self) -> list:
        return self.text


class Forgetful(Head):
    reads = 0


OWN = Description("x", "session", "lossless", dtypes=("float32",), conventions={"model": "own"})


def test_a_session_is_told_another_token_than_the_one_that_it_rejects() -> None:
    case = session._case(OWN, [["begin", 0, 0], ["draft", 0, 2], ["accept", 0, 0, 2], ["draft", 0, 1], ["accept", 0, 9, 2]])
    told = outcome("session", Head, case)
    assert told[1] == ((2, 3), (2, 0), (2, 3), (2, 3))
    assert told[-1] == ((2, 0, 3, 3, 2),) * 2


@pytest.mark.parametrize("give", [lambda ids: tuple(map(np.int64, ids)), lambda ids: (np.array([ids]), None), lambda ids: [ids], lambda ids: (ids, [[1.0]])])
def test_forms_of_drafted_ids(give: Callable) -> None:
    class Told(Head):
        def draft(self, gamma: int) -> object:
            return give(super().draft(gamma))

    case = session._case(OWN, [["begin", 0, 0], ["draft", 0, 2], ["accept", 0, 1, 1]])
    assert outcome("session", Told, case) == outcome("session", Head, case)


@pytest.mark.parametrize("nothing", [None, (None, None), [], ([], [])])
def test_forms_of_no_draft(nothing: object) -> None:
    class Silent(Head):
        def draft(self, _gamma: int) -> object:
            return nothing

    told = outcome("session", Silent, session._case(OWN, [["begin", 0, 0], ["draft", 0, 2], ["accept", 0, 1, 1]]))
    assert (told[1][0], told[-1][0]) == ((), (2, 0, 1))


def test_a_head_that_leaves_a_token_unread_drafts_otherwise_than_a_new_session() -> None:
    case = session._case(OWN, [["begin", 0, 0], *session.rounds([(2, 1, 1), (2, 0, 1)])])
    session.as_anew(case, outcome("session", Head, case))
    with pytest.raises(Violation, match="After begin 0, draft 2, accept 1 1, read, it drafts otherwise"):
        session.as_anew(case, outcome("session", Forgetful, case))


def test_a_session_that_forgets_to_return_its_drafts_is_told() -> None:
    class Silent(Head):
        def draft(self, gamma: int) -> None:
            super().draft(gamma)

    (case,) = session.patterns(OWN)[-1:]
    session.ever_drafted(case, outcome("session", Head, case))
    with pytest.raises(Violation, match="No id is drafted in 4 rounds"):
        session.ever_drafted(case, outcome("session", Silent, case))
