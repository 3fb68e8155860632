"""The worker: whatever a subject does comes back as a reply, and the next call is answered."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from specverify.contracts import CONTRACTS, array
from specverify.errors import SpecverifyError, Unloadable
from specverify.subjects.replies import Died, Malformed, Raised, Sampled, TimedOut, Value
from specverify.subjects.source import Source, from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Limits, Worker

SMOKE = CONTRACTS["sample"].smoke
STEP = {name: value for name, value in CONTRACTS["verify_chain"].smoke.items() if name != "draft"}

MISBEHAVING = """
import os, signal, sys, time
import torch
import specverify as sv

@sv.subject("sample")
def good(probs):
    return torch.multinomial(probs, 1)

@sv.subject("sample")
def raises(probs):
    raise KeyError("no\\nsuch")

@sv.subject("sample")
def exits(probs):
    sys.exit("enough")

@sv.subject("sample")
def dies(probs):
    print("about to die"); sys.stdout.flush()
    os._exit(7)

@sv.subject("sample")
def killed(probs):
    os.kill(os.getpid(), signal.SIGSEGV)

@sv.subject("sample")
def hangs(probs):
    time.sleep(60)

@sv.subject("sample")
def greedy_for_memory(probs):
    bytearray(8 << 30)
    return 0

@sv.subject("sample")
def chatty(probs):
    print("x" * 100_000)
    return 0

@sv.subject("sample")
def text(probs):
    return "zero"

@sv.subject("sample")
def forks(probs):
    if os.fork() == 0:
        time.sleep(60)
    os._exit(1)
"""


@pytest.fixture
def bad(subjects: Callable[..., dict[str, Subject]]) -> dict[str, Subject]:
    return subjects(MISBEHAVING, limits=Limits(call_seconds=1.5))


INTRUDING = """
import json, os, random, stat, struct, threading, time
import specverify as sv

@sv.subject("sample", arrays="list")
def good(probs):
    return random.choices(range(len(probs)), probs)[0]

def is_pipe(fd):
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False

def pipes():
    return [fd for fd in range(3, 64) if is_pipe(fd)]

@sv.subject("sample", arrays="list")
def closes(probs):
    for fd in pipes():
        os.close(fd)
    return 0

@sv.subject("sample", arrays="list")
def writes(probs):
    for fd in pipes():
        try:
            os.write(fd, b"hello, this is no frame at all, but long enough to be read as one")
        except OSError:
            pass
    return 0

@sv.subject("sample", arrays="list")
def forges(probs):
    text = json.dumps({"replies": [{"is": "value", "value": 1}]}).encode()
    for fd in pipes():
        try:
            os.write(fd, struct.pack("<II", len(text), 0) + text)
        except OSError:
            pass
    return 0

@sv.subject("sample", arrays="list")
def prints_for_ever(probs):
    while True:
        print("x" * 1000)

@sv.subject("sample", arrays="list")
def moves(probs):
    os.chdir("/")
    return 0

@sv.subject("sample", arrays="list")
def threads(probs):
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return 0

@sv.subject("sample", arrays="list")
def patches(probs):
    random.random = lambda: 0.0
    return 0

@sv.subject("sample", arrays="list")
def leaves_a_child(probs):
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    return 0
"""

INTRUSIONS = [
    ("closes", Died), ("writes", Died), ("forges", Died), ("prints_for_ever", TimedOut), ("moves", Value), ("threads", Value), ("patches", Value),
    ("leaves_a_child", Value),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), INTRUSIONS, ids=[name for name, _ in INTRUSIONS])
def test_intrusions_end_with_themselves(subjects: Callable[..., dict[str, Subject]], name: str, kind: type) -> None:
    s = subjects(INTRUDING, limits=Limits(call_seconds=1.5))
    assert isinstance(s[name].call(SMOKE), kind)
    s[name].worker.close()
    drawn = s["good"].sample(SMOKE, 100, key=1)
    assert isinstance(drawn, Sampled)
    assert len(drawn.counts) == 3


def test_no_child_outlives_its_worker(subjects: Callable[..., dict[str, Subject]]) -> None:
    s = subjects(INTRUDING)
    s["leaves_a_child"].call(SMOKE)
    group = s["good"].worker._process.pid
    s["good"].worker.close()
    running = [
        line for line in subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True).stdout.splitlines() if line.split()[0] == str(group)
    ]
    assert not [line for line in running if "Z" not in line]


EXPECTED = [
    ("raises", Raised("KeyError", "'no\\nsuch'", "")),
    ("exits", Raised("SystemExit", "enough", "")),
    ("dies", Died("exited with code 7", "about to die\n")),
    ("killed", Died("died of SIGSEGV")),
    ("hangs", TimedOut(1.5)),
    ("greedy_for_memory", Raised("MemoryError", "", "")),
    ("text", Malformed("token ids came as str")),
    ("forks", Died("exited with code 1")),
]


@pytest.mark.parametrize(("name", "expected"), EXPECTED, ids=[name for name, _ in EXPECTED])
def test_misbehaviour_is_a_reply_and_the_next_subject_is_answered(bad: dict[str, Subject], name: str, expected: object) -> None:
    reply = bad[name].call(SMOKE)
    assert type(reply) is type(expected)
    for field in ("type", "message", "how", "output", "seconds", "sentence"):
        if getattr(expected, field, ""):
            assert getattr(reply, field) == getattr(expected, field)
    assert isinstance(bad["good"].call(SMOKE), Value)


def test_output_never_meets_the_protocol(bad: dict[str, Subject]) -> None:
    for _ in range(3):
        assert bad["chatty"].call(SMOKE) == Value(0)


def test_exceptions_are_outcomes_of_a_stream(bad: dict[str, Subject]) -> None:
    sampled = bad["raises"].sample(SMOKE, 20, key=1)
    assert isinstance(sampled, Sampled)
    assert sampled.counts == {("raised", "KeyError"): 20}
    assert sampled.examples["KeyError"].where.endswith(":12")


FORMS = """
import random
import numpy as np
import specverify as sv

@sv.subject("sample", arrays="list")
def lists(probs):
    return random.choices(range(len(probs)), probs)[0]

@sv.subject("sample", arrays="numpy", seed="int")
def seeded(probs, *, seed):
    return np.random.default_rng(seed).choice(len(probs), p=probs / probs.sum())

@sv.subject("sample", seed="generator")
def generator(probs, *, generator):
    import torch
    return torch.multinomial(probs, 1, generator=generator)

@sv.subject("positive_part")
def only_batches(x):
    y = x.clamp(min=0)
    return y / y.sum(dim=1, keepdim=True)

@sv.subject("positive_part", arrays="numpy", dtypes=("float64", "float16"))
def in_place(x):
    x[x < 0] = 0
    x /= x.sum()
    return x

@sv.subject("verify_chain", arrays="list")
def plain(p, q, draft):
    return [random.choices(range(len(p[0])), p[0])[0]]
"""


def test_every_form_of_subject(subjects: Callable[..., dict[str, Subject]]) -> None:
    s = subjects(FORMS)
    for name in ("lists", "seeded", "generator"):
        once, again = s[name].sample(SMOKE, 200, key=5), s[name].sample(SMOKE, 200, key=5)
        assert once == again, name
        assert isinstance(once, Sampled)
        assert set(once.counts) == {0, 1, 2}
    x = CONTRACTS["positive_part"].smoke
    assert s["only_batches"].call(x) == Value(array("float32", (3,), (0.5, 0, 0.5)))
    watched = s["in_place"].call({"x": array("float64", (2,), (0.5, -0.5))}, watch=True)
    assert watched == Value(array("float64", (2,), (1, 0)), changed=("x",), aliased=("x",))
    assert s["in_place"].call({"x": array("float16", (2,), (0.5, -0.5))}) == Value(array("float16", (2,), (1, 0)))
    drawn = s["plain"].sample(STEP, 50, key=1)
    assert isinstance(drawn, Sampled)
    assert {n for _, n, _ in drawn.counts} == {0}
    assert sum(drawn.counts.values()) == 50


def test_the_tools_draws_do_not_depend_on_the_subjects(subjects: Callable[..., dict[str, Subject]]) -> None:
    """A subject that reseeds or drains every generator gets the same drafts as any other."""
    s = subjects("""
import random
import torch
import specverify as sv

@sv.subject("verify_chain")
def quiet(p, q, draft):
    return [0]

@sv.subject("verify_chain")
def loud(p, q, draft):
    random.seed(1); torch.manual_seed(1); torch.rand(1000)
    return [0]
""")
    assert s["quiet"].sample(STEP, 300, key=9) == s["loud"].sample(STEP, 300, key=9)


def test_large_rows_travel_as_a_description(subjects: Callable[..., dict[str, Subject]]) -> None:
    from specverify.contracts import Family

    s = subjects("import torch\nimport specverify as sv\nsv.subject('sample')(lambda probs: torch.multinomial(probs, 1))")
    drawn = s["<lambda>"].sample({"probs": Family("edges", 1, "float32", (32_000,))}, 50, key=1)
    assert isinstance(drawn, Sampled)
    assert set(drawn.counts) == {0, 31_999}


NOT_LOADING = [
    ("import nonexistent_module", "ModuleNotFoundError: No module named 'nonexistent_module'"),
    ("import sys; sys.exit(3)", "SystemExit: 3"),
    ("def broken(:", "SyntaxError"),
    ("import os; os._exit(9)", "its process exited with code 9"),
    ("x = 1", "declares no subject"),
    ("import specverify as sv\nsv.subject('smaple')(print)", "no contract 'smaple'"),
]


@pytest.mark.parametrize(("text", "sentence"), NOT_LOADING)
def test_a_file_that_does_not_load_is_told(project: Callable[[str], Path], text: str, sentence: str) -> None:
    worker = Worker(from_path(str(project(text))))
    with pytest.raises(SpecverifyError, match=sentence) as caught:
        load(worker)
    worker.close()
    assert isinstance(caught.value, Unloadable) == ("no contract" not in sentence and "declares" not in sentence)


def test_an_interpreter_that_is_none(project: Callable[[str], Path]) -> None:
    with pytest.raises(Unloadable, match="no interpreter that starts"):
        load(Worker(from_path(str(project("")), "/nowhere/python")))


def test_another_signature_is_a_problem_of_that_subject_alone(subjects: Callable[..., dict[str, Subject]]) -> None:
    s = subjects("""
import specverify as sv

@sv.subject("positive_part")
def two(x, dim):
    return x

@sv.subject("positive_part")
def one(x):
    return x
""")
    assert s["one"].description.problem is None
    assert s["two"].description.problem == "two(x, dim) cannot be called as positive_part(x): missing a required argument: 'dim'"


def test_a_dotted_name_is_imported_and_bound(tmp_path: Path) -> None:
    (tmp_path / "mymodule.py").write_text(
        "class Steps:\n    @staticmethod\n    def pad(path, length, pad):\n        return path + [pad] * (length - len(path))\n"
    )
    source = Source("py:mymodule:Steps.pad@pad_path", module="mymodule", attribute="Steps.pad", contract="pad_path", folders=(str(tmp_path),))
    worker = Worker(source)
    (description,) = load(worker)[0]
    reply = Subject("pad", description, worker).call({"path": [1], "length": 3, "pad": -1})
    worker.close()
    assert reply == Value((1, -1, -1))


def test_the_tools_packages_stay_out_of_the_subjects_sight(tmp_path: Path) -> None:
    """In an interpreter of its own the subject sees specverify, and none of what is installed beside it."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    (tmp_path / "specverify_subjects.py").write_text("""
import importlib.util
import random
import specverify as sv

seen = [name for name in ("msgspec", "hypothesis", "typer", "numpy", "torch") if importlib.util.find_spec(name)]

@sv.subject("sample", arrays="list", name=",".join(seen) or "nothing")
def draw(probs):
    return random.choices(range(len(probs)), probs)[0]
""")
    worker = Worker(from_path(str(tmp_path), str(bare / "bin/python")))
    (description,) = load(worker)[0]
    drawn = Subject("draw", description, worker).sample(SMOKE, 100, key=1)
    worker.close()
    assert description.name == "nothing"
    assert isinstance(drawn, Sampled)
    assert drawn.drawn == 100


def test_in_process_gives_the_same_answers(subjects: Callable[..., dict[str, Subject]], project: Callable[[str], Path]) -> None:
    from specverify.subjects.inprocess import InProcess

    text = "import random\nimport specverify as sv\nsv.subject('sample', arrays='list')(lambda probs: random.choices(range(len(probs)), probs)[0])"
    apart = subjects(text)["<lambda>"]
    here = InProcess(from_path(str(project(text))))
    (description,) = load(here)[0]
    assert Subject("x", description, here).sample(SMOKE, 100, key=3) == apart.sample(SMOKE, 100, key=3)
