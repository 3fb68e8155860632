"""Helpers in a worker: what their own postcondition and oracle say, and how a mistake of those is told from one of the subject."""

from collections.abc import Callable
from pathlib import Path

from specverify.contracts import Opaque, array
from specverify.subjects.adapt import plain
from specverify.subjects.replies import Raised, Value
from specverify.subjects.subject import Subject

TEXT = """
import json, random
import specverify as sv

N = {"n": sv.ints(0, 3)}

@sv.subject("helper", arrays="list", domain={"x": sv.tensors((2,), sv.floats(0, 1))}, mutates=("x",), ensures=lambda x, r: sum(x) == 1 or "not 1", oracle=lambda x: [a * 2 for a in x])
def doubles(x):
    x[:] = [a * 2 for a in x]
    return x

@sv.subject("helper", domain=N, raises=(ValueError, "LookupError"))
def refuses(n):
    return [json.loads, {}.__getitem__, [].pop, int][n]("{" if n < 2 else n if n == 2 else "x")

@sv.subject("helper", domain=N, ensures=lambda n, r: 1 / (n - 2) < 9, name="mistaken-postcondition")
def one(n):
    return n

@sv.subject("helper", domain=N, oracle=lambda n: json.loads("{"), name="mistaken-oracle")
def two(n):
    return n

@sv.subject("helper", domain=N, oracle=lambda n: object(), name="opaque-oracle")
def three(n):
    return object()

@sv.subject("helper", domain=N, raises=(ValueError,), name="raises-another")
def another(n):
    return 1 // n

@sv.subject("helper", domain=N, name="opaque")
def four(n):
    return object()

@sv.subject("helper", domain=N, name="opaque-and-random")
def five(n):
    return [object(), random.random()]

@sv.subject("helper", domain={"b": sv.ints(0, 1), "a": sv.ints(0, 1)})
def misnamed(a, b):
    return a

@sv.subject("helper", domain=N)
def too_many(n, m):
    return n

@sv.subject("seeding", supports=("numpy",), name="numpy-absent")
def seeds(seed, draw):
    return []
"""


def test_the_worker_asks_postcondition_and_oracle_on_fresh_arguments(subjects: Callable[..., dict[str, Subject]]) -> None:
    told = subjects(TEXT)
    assert (told["doubles"].description.ensures, told["doubles"].description.oracle) == (True, True)
    reply = told["doubles"].call({"x": array("float32", (2,), (0.5, 0.5))}, judge=True, watch=True)
    right = (True, (1.0, 1.0))
    assert reply == Value(right, ("x",), ("x",), judged={"ensures": True, "oracle": right})
    assert told["doubles"].call({"x": array("float32", (2,), (0, 0))}, judge=True).judged["ensures"] == "not 1"
    assert told["doubles"].call({"x": array("float32", (2,), (0, 0))}).judged == {}
    mistaken = told["mistaken-postcondition"].call({"n": 2}, judge=True).judged["ensures"]
    assert isinstance(mistaken, Raised)
    assert mistaken.type == "ZeroDivisionError"


def test_an_exception_is_declared_by_its_type_or_by_the_name_of_a_base(subjects: Callable[..., dict[str, Subject]]) -> None:
    told = subjects(TEXT)
    found = [(reply.type, reply.declared) for reply in (told["refuses"].call({"n": n}) for n in range(4))]
    assert found == [("JSONDecodeError", True), ("KeyError", True), ("IndexError", True), ("ValueError", True)]
    assert told["mistaken-oracle"].call({"n": 0}).judged == {}
    undeclared = told["raises-another"].call({"n": 0})
    assert (undeclared.type, undeclared.declared) == ("ZeroDivisionError", False)


def test_a_domain_that_does_not_fit_the_function_is_told(subjects: Callable[..., dict[str, Subject]]) -> None:
    told = subjects(TEXT)
    assert "in the order of the domain" in told["misnamed"].description.problem
    assert "cannot be called as helper(n)" in told["too_many"].description.problem


def test_mistakes_of_the_judge_are_inconclusive_and_what_cannot_be_compared_is_not_judged(audit: Callable, project: Callable[[str], Path]) -> None:
    done = audit(str(project(TEXT)), "-n", "1")
    ended = {(r.subject, r.property): (r.status, r.reason) for r in done.records if hasattr(r, "status")}
    assert ended["refuses", "HLP-001"][0] == ended["refuses", "HLP-003"][0] == "ok"
    status, reason = ended["mistaken-postcondition", "HLP-002"]
    assert status == "inconclusive"
    assert "The postcondition itself raises ZeroDivisionError" in reason
    assert "The oracle itself raises JSONDecodeError" in ended["mistaken-oracle", "HLP-002"][1]
    assert "cannot be compared with the oracle's: '<object>' and '<object>'" in ended["opaque-oracle", "HLP-002"][1]
    assert ended["opaque", "HLP-003"] == ("not applicable", "a result holds an object that cannot be compared")
    assert done.failed("opaque-and-random") == ["HLP-003"]
    assert "promises to seed numpy" in ended["numpy-absent", "SED-001"][1]
    assert {subject for (subject, _), (status, _) in ended.items() if status == "failed"} == {"opaque-and-random", "doubles", "raises-another"}


def test_mappings_are_pairs_in_the_order_of_their_keys() -> None:
    assert plain({"b": 1, "a": (2,)}) == plain({"a": [2], "b": 1}) == [["a", [2]], ["b", 1]]
    assert plain({}) == []
    assert isinstance(plain({"a": {1, 2}})[0][1], Opaque)
    assert plain({"<s>": "<s>"}) == [["<s>", "<s>"]]
    assert not isinstance(plain("<s>"), Opaque)
