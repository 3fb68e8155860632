"""The worker's side under Python 3.10: imported, and asked for calls and streams, in an interpreter without specverify."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from specverify.contracts import CONTRACTS, array
from specverify.subjects.replies import Raised, Sampled, Value
from specverify.subjects.source import from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Worker


def python310() -> str | None:
    """An interpreter of version 3.10: SPECVERIFY_PYTHON310, on the path, or of pyenv."""
    candidates = [os.environ.get("SPECVERIFY_PYTHON310"), shutil.which("python3.10"), *map(str, Path.home().glob(".pyenv/versions/3.10*/bin/python"))]
    for candidate in candidates:
        if candidate is not None:
            asked = subprocess.run([candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True)
            if asked.stdout.strip() == "(3, 10)":
                return candidate
    return None


PYTHON = python310()
pytestmark = pytest.mark.skipif(PYTHON is None and not os.environ.get("SPECVERIFY_REQUIRE_310"), reason="no Python 3.10 here; SPECVERIFY_PYTHON310 names one")

TEXT = """
import random
import specverify as sv

@sv.subject("positive_part", arrays="list", dtypes=("float64",))
def max_fn(x):
    positive = [max(a, 0.0) for a in x]
    return [a / sum(positive) for a in positive]

@sv.subject("pad_path", conventions={"overlong": "refuse"})
def pad_path(path, length, pad):
    if len(path) > length:
        raise ValueError("too long")
    return path + [pad] * (length - len(path))

@sv.subject("sample", arrays="list")
def sample(probs):
    return random.choices(range(len(probs)), probs)[0]

@sv.subject("verify_chain", arrays="list", rule="standard")
def step(p, q, draft):
    for n, x in enumerate(draft):
        if random.random() * q[n][x] >= p[n][x]:
            return draft[:n] + random.choices(range(len(p[n])), [max(a - b, 0.0) for a, b in zip(p[n], q[n])])
    return draft + random.choices(range(len(p[-1])), p[-1])
"""


def test_the_worker_side_runs_on_python_310(tmp_path: Path) -> None:
    assert PYTHON is not None
    (tmp_path / "specverify_subjects.py").write_text(TEXT)
    worker = Worker(from_path(str(tmp_path), PYTHON))
    descriptions, versions = load(worker)
    s = {d.name: Subject(d.name, d, worker) for d in descriptions}
    step = {name: value for name, value in CONTRACTS["verify_chain"].smoke.items() if name != "draft"}
    replies = (
        s["max_fn"].call({"x": array("float64", (2,), (0.5, -0.5))}),
        s["pad_path"].call({"path": [1, 2], "length": 1, "pad": -1}),
        s["sample"].call(CONTRACTS["sample"].smoke, put=(0.0, 0), watch=True),
        s["step"].sample(step, 500, key=1),
    )
    worker.close()
    assert versions["python"].startswith("3.10.")
    assert replies[0] == Value(array("float64", (2,), (1, 0)))
    assert isinstance(replies[1], Raised)
    assert isinstance(replies[2], Value)
    assert isinstance(replies[3], Sampled)
    assert {n for _, n, _ in replies[3].counts} == {0, 1}


def test_every_module_of_the_workers_side_imports_on_python_310() -> None:
    assert PYTHON is not None
    root = Path(__file__).resolve().parents[2]
    modules = (
        "specverify, specverify.errors, specverify.law, specverify.contracts, specverify.faults, specverify.faults.planted_pad_path, specverify.subjects.serve"
    )
    done = subprocess.run([PYTHON, "-c", f"import {modules}"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
