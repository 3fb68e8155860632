"""A program in another language: the C example judged, what the page shows, and one sentence for a program that does not keep to the protocol."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from specverify.contracts import CONTRACTS, Array, array, expand
from specverify.errors import SpecverifyError, Unloadable
from specverify.law import product_law
from specverify.subjects import program, worker
from specverify.subjects.declare import DECLARED
from specverify.subjects.inprocess import InProcess
from specverify.subjects.program import ELSEWHERE
from specverify.subjects.replies import Died, Explored, Raised, Sampled, TimedOut, Unexplored, Value
from specverify.subjects.source import from_program
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Limits, Worker

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which("cc")
compiled = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler, cc")
ROWS = {"p": array("float32", (2, 2), (0.25, 0.75, 0.5, 0.5)), "q": array("float32", (1, 2), (0.75, 0.25))}


@pytest.fixture(autouse=True)
def left_as_it_was() -> Iterator[None]:
    """No program that was loaded in this process, and no declaration, outlives its test."""
    yield
    for running, _ in program._LOADED:
        running.close()
    program._LOADED.clear()
    DECLARED.clear()


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """The C example, compiled with some switches."""

    def built(*switches: str) -> str:
        target = tmp_path_factory.mktemp("c") / "verify_chain"
        command = [COMPILER, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", *switches, "-o", str(target), str(ROOT / "examples/c/verify_chain.c")]
        subprocess.run(command, check=True, timeout=60)
        return f"exec:{target}"

    return built


@pytest.fixture
def subject_of() -> Iterator[Callable[..., Subject]]:
    """The one subject of a program, in a worker."""
    workers: list[Worker] = []

    def loaded(text: str, **limits: float) -> Subject:
        workers.append(Worker(from_program(text), Limits(**limits)))
        (description,) = load(workers[-1])[0]
        return Subject("step", description, workers[-1])

    yield loaded
    for one in workers:
        one.close()


@compiled
def test_the_laws_of_a_program_with_coins_are_near_exact(build: Callable[..., str], subject_of: Callable[..., Subject]) -> None:
    right = product_law([(0.25, 0.75), (0.5, 0.5)])
    for switches, same in (((), True), (("-DFAULT=1",), False)):
        (found,) = subject_of(build(*switches)).laws([ROWS])
        assert isinstance(found, Explored)
        assert found.law.kind == "near-exact"
        assert found.above == program.UNFOLLOWED
        law: dict[object, float] = {}
        for (_, _, tokens), mass in found.law.probabilities.items():
            law[tokens] = law.get(tokens, 0.0) + mass
        assert (law == pytest.approx(dict(right.probabilities), abs=1e-6)) == same


@compiled
def test_a_program_with_a_seed_is_sampled(build: Callable[..., str], subject_of: Callable[..., Subject]) -> None:
    step = subject_of(build("-DSEEDED"))
    once, again, other = (step.sample(ROWS, 300, key=key) for key in (1, 1, 2))
    assert isinstance(once, Sampled)
    assert once == again != other
    assert step.laws([ROWS]) == [Unexplored(program.UNFOLLOWED)]


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("key", ["1", "2", "3"])
@pytest.mark.parametrize("switch", ["-DFAULT=0", "-DSEEDED"])
def test_an_audit_of_the_correct_program(build: Callable[..., str], audit: Callable, key: str, switch: str) -> None:
    done = audit(build(switch), "--run-key", key, "-n", "1")
    assert done.code == 0, done.out
    assert done.subjects()[0].versions.keys() == {"cc"}


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("switch", [(), ("-DSEEDED",)], ids=["coins", "seed"])
@pytest.mark.parametrize(("fault", "properties", "likely"), [(1, {"CHN-003", "CHN-008"}, "bonus-from-previous-row"), (2, {"CHN-008"}, "reused-uniform")])
def test_an_audit_of_a_faulty_program(
    build: Callable[..., str], audit: Callable, switch: tuple[str, ...], fault: int, properties: set[str], likely: str
) -> None:
    done = audit(build(f"-DFAULT={fault}", *switch), "-n", "1")
    assert done.code == 1, done.out
    assert set(done.failed("step")) & properties
    assert likely in done.out


PYTHON = [sys.executable, "-S", "-E"]
BROKEN = r"""
import json, os, struct, sys, time
requests, replies = (os.fdopen(int(fd), mode) for fd, mode in zip(sys.argv[-2:], ("rb", "wb")))
mode = sys.argv[1]

def write(message, id=None):
    text = json.dumps({**message, **({"id": id} if id else {})}).encode()
    replies.write(struct.pack("<II", len(text), 0) + text)
    replies.flush()

def raw(data):
    replies.write(data)
    replies.flush()

def read():
    text, body = struct.unpack("<II", requests.read(8))
    told = json.loads(requests.read(text))
    requests.read(body)
    return told

SUBJECT = {"name": "draw", "contract": "sample", "rng": "coins"}
print("a line")
at, _, how = mode.partition(" ")

def maybe(place, id=None):
    if place != at:
        return
    match how:
        case "ends": sys.exit(7)
        case "aborts": os.abort()
        case "hangs": time.sleep(60)
        case "closes": replies.close(); time.sleep(60)
        case "text": raw(b"hello, this is no frame at all, but long enough")
        case "no JSON": raw(struct.pack("<II", 4, 0) + b"{no}")
        case "a list": raw(struct.pack("<II", 2, 0) + b"[]")
        case "too large": raw(struct.pack("<II", 2**31, 0))
        case "another id": write({"subjects": [], "replies": []}, "0")
        case "eats": bytearray(8 << 30)
        case "an error": write({"error": {"message": "cannot", "hint": "", "kind": "protocol"}}, id)

maybe("first")
write({"protocol": 2 if mode == "protocol" else 1})
told = read()
maybe("describe", told["id"])
if mode == "nothing":
    write({}, told["id"])
if mode == "foreign":
    SUBJECT["arrays"] = "torch"
if mode == "generators":
    SUBJECT["rng"] = "generators"
if mode == "helper":
    SUBJECT["contract"] = "helper"
write({"subjects": [SUBJECT]}, told["id"])
calls = 0
while True:
    told = read()
    calls += 1
    maybe("call", told["id"])
    if calls > 1:
        maybe("later", told["id"])
    if how == "raises":
        write({"replies": [{"is": "raised", "type": "NoSuchToken", "message": "none", "where": "draw.rs:3"}]}, told["id"])
    else:
        write({"replies": [] if mode == "empty" else [{"is": "value", "value": 0}]}, told["id"])
"""

SENTENCES = [
    ("first ends", "ends with exit code 7"), ("first text", "writes a frame of 1819043176 + "), ("protocol", "does not begin with protocol 1"),
    ("describe aborts", "dies of SIGABRT"), ("describe no JSON", "writes a frame that is no message"), ("describe a list", "writes a frame that is no JSON object"),
    ("describe too large", "writes a frame of 2147483648 + 0 bytes"), ("describe another id", "answers with an id that is not the request's"),
    ("describe an error", "refuses the request 'describe'"), ("nothing", "describes no list of subjects"), ("foreign", "says 'arrays' of draw"), ("generators", "says of draw that it takes generators"),
    ("call ends", "ends with exit code 7"), ("call another id", "answers with an id that is not the request's"), ("empty", "answers a call with neither one value nor one exception"),
]  # fmt: skip


@pytest.fixture
def broken(tmp_path: Path) -> str:
    (tmp_path / "broken.py").write_text(BROKEN)
    return str(tmp_path / "broken.py")


@pytest.mark.parametrize(("mode", "sentence"), SENTENCES, ids=[mode for mode, _ in SENTENCES])
def test_a_program_that_leaves_the_protocol_is_not_loaded(broken: str, mode: str, sentence: str) -> None:
    with pytest.raises(Unloadable, match=re.escape(f"exec:it {sentence}")) as caught:
        program.load("exec:it", [*PYTHON, broken, mode])
    assert caught.value.hint == program.PAGE


def test_a_program_that_cannot_be_started(broken: str) -> None:
    for command, reason in (("/nowhere/program", "No such file"), (broken, "Permission denied")):
        with pytest.raises(Unloadable, match=f"cannot be started: {reason}") as caught:
            program.load(f"exec:{command}", [command])
        assert caught.value.hint == program.STARTED


def test_a_contract_of_python_alone(broken: str) -> None:
    with pytest.raises(SpecverifyError, match="A program cannot fill helper"):
        program.load("exec:it", [*PYTHON, broken, "helper"])


def _quoted(broken: str, mode: str) -> str:
    return f"exec:{' '.join(PYTHON)} {broken} '{mode}'"


@pytest.mark.parametrize("mode", ["call hangs", pytest.param("first hangs", marks=pytest.mark.slow)])
def test_a_program_that_hangs_is_not_loaded(broken: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "START_SECONDS", 1.0)
    with pytest.raises(Unloadable, match="did not load within 1 s"):
        load(Worker(from_program(_quoted(broken, mode))))


LATER = [
    ("later ends", Died("exited with code 7")), ("later aborts", Died("died of SIGABRT")), ("later text", Died(f"exited with code {program.BROKEN}")),
    pytest.param("later hangs", TimedOut(1.0), marks=pytest.mark.slow, id="later hangs"), ("later raises", Raised("NoSuchToken", "none", "draw.rs:3")), ("none", Value(0)),
    ("later eats", Died("exited with code 1")),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "expected"), LATER)
def test_what_happens_later_is_a_reply_and_the_next_call_is_answered(broken: str, subject_of: Callable[..., Subject], mode: str, expected: object) -> None:
    draw = subject_of(_quoted(broken, mode), call_seconds=1.0)
    for _ in range(2):
        told = draw.call(CONTRACTS["sample"].smoke)
        assert type(told) is type(expected)
        assert getattr(told, "how", None) == getattr(expected, "how", None)
        assert isinstance(expected, Died) or told == expected


@pytest.mark.slow
@pytest.mark.parametrize("text", ["exec:/nowhere/program", "call another id"])
def test_an_audit_of_what_does_not_load(broken: str, audit: Callable, text: str) -> None:
    done = audit(text if ":" in text else _quoted(broken, text))
    assert done.code == 3
    assert "hint: " in done.out
    assert "Traceback" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["later hangs", "later closes"])
def test_no_program_outlives_a_tool_that_is_killed(broken: str, mode: str) -> None:
    lines = f"""
        from specverify.contracts import CONTRACTS
        from specverify.subjects.source import from_program
        from specverify.subjects.subject import Subject, load
        from specverify.subjects.worker import Worker
        worker = Worker(from_program({_quoted(broken, mode)!r}))
        draw = Subject("draw", load(worker)[0][0], worker)
        print(worker._process.pid, flush=True)
        for _ in range(9):
            draw.call(CONTRACTS["sample"].smoke)"""
    tool = subprocess.Popen([sys.executable, "-c", textwrap.dedent(lines)], stdout=subprocess.PIPE, text=True)
    group = tool.stdout.readline().strip()
    time.sleep(1)
    assert _members(group) == 2
    tool.kill()
    tool.communicate()
    time.sleep(2)
    assert _members(group) == 0


def _members(group: str) -> int:
    """Processes of a group that run: the worker and its program."""
    told = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True).stdout.split("\n")
    return sum(line.split()[0] == group and "Z" not in line for line in told if line)


def test_a_program_has_no_place_in_this_process(broken: str) -> None:
    with pytest.raises(SpecverifyError, match="process of its own"):
        load(InProcess(from_program(_quoted(broken, "none"))))


REPLAYED = r"""
import json, os, struct, sys
requests, replies = (os.fdopen(int(fd), mode) for fd, mode in zip(sys.argv[-2:], ("rb", "wb")))
log = open(sys.argv[2], "w")
for line in open(sys.argv[1]):
    if line[0] == ">":
        text, body = struct.unpack("<II", requests.read(8))
        told = requests.read(text).decode()
        log.write(told + "\n"); log.flush()
        requests.read(body)
    else:
        reply = json.loads(line[2:])
        if "id" in reply:
            reply["id"] = json.loads(told)["id"]
        text = json.dumps(reply).encode()
        replies.write(struct.pack("<II", len(text), 0) + text); replies.flush()
requests.read()
"""


def test_the_conversation_on_the_page(tmp_path: Path) -> None:
    """What the tool asks is what the page shows, letter by letter but for ids; what the page answers is of the schema, and is understood."""
    (conversation,) = re.findall(r"```\n(< .*?)```", (ROOT / "docs/protocol.md").read_text(), re.DOTALL)
    (tmp_path / "replay.py").write_text(REPLAYED)
    (tmp_path / "page").write_text(conversation)
    program.load("exec:page", [*PYTHON, *(str(tmp_path / name) for name in ("replay.py", "page", "log"))])
    (declared,) = DECLARED
    shown = [line[2:] for line in conversation.splitlines() if line[0] == ">"]
    assert [_without_id(line) for line in (tmp_path / "log").read_text().splitlines()] == [_without_id(line) for line in shown]
    schema = json.loads((ROOT / "docs/protocol.schema.json").read_text())
    validator = jsonschema.Draft202012Validator({**{k: v for k, v in schema.items() if k != "anyOf"}, "$ref": "#/$defs/program"})
    for line in conversation.splitlines():
        assert line[0] == ">" or validator.is_valid(json.loads(line[2:]))
    assert not validator.is_valid({"id": "x", "subjects": [{"name": "step"}]})
    assert (declared.name, declared.contract, declared.rng) == ("step", "verify_chain", "coins")


def _without_id(line: str) -> str:
    return re.sub(r'"id":"[0-9a-f]{16}"', '"id":""', line)


def test_a_program_is_asked_for_no_contract_whose_arguments_are_objects() -> None:
    """What a call is handed is what a frame can carry: data."""
    for name, told in CONTRACTS.items():
        case = {argument: expand(value) for argument, value in told.smoke.items()}
        made = told.prepare(case).values() if name != "helper" else ()
        objects = [value for value in made if not isinstance(value, (Array, int, float, list, tuple, dict, type(None)))]
        assert not objects or name in ELSEWHERE, name
