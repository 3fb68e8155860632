"""The command `specverify audit`: exit codes, files, and what bad subjects get."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from specverify.audit import __main__ as schema
from specverify.audit.events import EVENTS, read_events
from specverify.audit.records import CaseRecord, Footer, Header, PropertyRecord, encode

PADS = """
import specverify as sv

@sv.subject("pad_path")
def pad_path(path, length, pad):
    return path + [pad] * (length - len(path))
"""
MISBEHAVING = """
import os, sys, time
import torch
import specverify as sv

@sv.subject("pad_path")
def right(path, length, pad):
    return path + [pad] * (length - len(path))

@sv.subject("pad_path")
def hangs(path, length, pad):
    time.sleep(60)

@sv.subject("pad_path")
def exits(path, length, pad):
    sys.exit()

@sv.subject("pad_path")
def raises(path, length, pad):
    if length == 2:
        raise ValueError("not two")
    return path + [pad] * (length - len(path))

@sv.subject("pad_path")
def dies(path, length, pad):
    os._exit(3)

@sv.subject("pad_path")
def wrong_type(path, length, pad):
    return "path"

@sv.subject("positive_part")
def nan(x):
    return x * float("nan")

@sv.subject("positive_part")
def wrong_shape(x):
    return x.sum()

@sv.subject("pad_path")
def other_signature(path, pad):
    return path
"""


def test_a_right_subject(audit: Callable, project: Callable) -> None:
    done = audit(str(project(PADS)))
    assert done.code == 0, done.out
    assert "LOSSLESS, AS FAR AS TESTED" in done.out
    assert {path.name for path in done.run.iterdir()} == {EVENTS, "index.html", "pytest.log", "findings"}
    assert isinstance(done.records[0], Header)
    assert done.records[-1] == Footer(True, 0, done.records[-1].seconds)
    assert any(isinstance(record, CaseRecord) for record in done.records)
    validator = jsonschema.Draft202012Validator(json.loads(schema.TARGET.read_text()))
    for line in (done.run / EVENTS).read_text().splitlines():
        validator.validate(json.loads(line))


def test_every_misbehaviour_is_named_and_the_others_are_judged(audit: Callable, project: Callable) -> None:
    done = audit(str(project(MISBEHAVING)), "--call-seconds", "1")
    assert done.code == 1, done.out
    told = {finding.subject: finding.message for finding in done.findings() if finding.severity == "finding"}
    assert set(done.status("right").values()) == {"ok", "advisory", "not applicable"}
    assert told["exits"].startswith("The subject raises SystemExit")
    assert told["raises"].startswith("The subject raises ValueError: not two (")
    assert told["dies"] == "The subject ends the process (exited with code 3)."
    assert told["wrong_type"] == "The result is malformed: the result is no flat list of ints but 'path'."
    assert told["nan"] == "The result holds numbers that are not finite."
    assert told["wrong_shape"] == "The result is malformed: the result has shape (), x has (2,)."
    assert done.status("hangs")["PAD-001"] == "inconclusive"
    assert done.status("hangs")["PAD-002"] == "blocked"
    assert done.status("other_signature") == {}
    (misfit,) = [record for record in done.subjects() if record.problem]
    assert "cannot be called as pad_path(path, length, pad)" in misfit.problem


EXITS = [
    ("import time\nimport specverify as sv\nsv.subject('pad_path')(lambda path, length, pad: time.sleep(60))", 4, "gives no answer within 1 s"),
    ("import nonexistent_module", 3, "No module named 'nonexistent_module'"),
    ("import specverify as sv\nsv.subject('pad_path')(lambda path: path)", 3, "cannot be called as pad_path"),
    ("import specverify as sv\nsv.subject('pad_pth')(print)", 2, "Did you mean 'pad_path'?"),
    ("x = 1", 2, "declares no subject"),
    (PADS.replace('"pad_path")', '"pad_path", claim="greedy-exact")'), 4, "Nothing that the claim greedy-exact promises was checked."),
    (PADS.replace('"pad_path")', '"pad_path", devices=("cuda",))'), 4, "Nothing that the claim lossless promises was checked."),
]


@pytest.mark.parametrize(("text", "code", "words"), EXITS)
def test_exit_codes(audit: Callable, project: Callable, text: str, code: int, words: str) -> None:
    done = audit(str(project(text)), "--call-seconds", "1")
    assert done.code == code, done.out
    assert words in done.out
    assert "Traceback" not in done.out
    assert isinstance(done.records[-1], Footer)
    assert done.records[-1].exit_code == code


USAGE = [
    (["/nowhere"], "There is no file or folder /nowhere."),
    (["http://localhost:8000"], "Servers cannot be audited in this version."),
    (["fault:nothing"], "There is no planted fault 'nothing'."),
    (["py:os:getcwd@nothing"], "There is no contract 'nothing'."),
    (["fault:pad-in-front", "--fail-on", "gird"], "Did you mean 'grid'?"),
    (["fault:pad-in-front", "-n", "many"], "-n takes a number"),
    (["fault:pad-in-front", "--nothing"], "No such option"),
    ([], "Missing argument"),
]


@pytest.mark.parametrize(("arguments", "words"), USAGE)
def test_usage_errors_are_one_sentence_and_leave_nothing(audit: Callable, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = audit(*arguments)
    assert done.code == 2
    assert words in done.out
    assert "Traceback" not in done.out
    assert not (tmp_path / "reports").exists()


@pytest.mark.slow
def test_the_verdict_does_not_depend_on_the_number_of_processes(audit: Callable, project: Callable, tmp_path: Path) -> None:
    names = ("fault:pad-in-front", "fault:max-as-normaliser")
    found = []
    for processes in ("1", "3"):
        done = audit(*names, "-n", processes)
        found.append(sorted(encode(finding) for finding in done.findings()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_run_key_changes_the_cases_and_repeats(audit: Callable, project: Callable) -> None:
    def digests(key: str) -> list[str]:
        return sorted(r.digest for r in audit(str(project(PADS)), "--run-key", key).records if isinstance(r, CaseRecord))

    assert digests("a") == digests("a")
    assert digests("a") != digests("b")


def test_an_interrupted_run_leaves_a_valid_marked_report(project: Callable, tmp_path: Path) -> None:
    folder = project("import time\nimport specverify as sv\nsv.subject('pad_path')(lambda path, length, pad: time.sleep(300))")
    command = [sys.executable, "-m", "specverify", "audit", str(folder), "--call-seconds", "600", "--out", str(tmp_path / "reports")]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would what it starts
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    signal.signal(signal.SIGINT, heard)
    for _ in range(600):
        if list((tmp_path / "reports").glob("*/pytest.log")):
            break
        time.sleep(0.1)
    time.sleep(1)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    (run,) = (tmp_path / "reports").iterdir()
    records = read_events(run)
    assert process.returncode == 130, out
    assert records[-1] == Footer(False, 130, records[-1].seconds, "interrupted")
    assert {r.status for r in records if isinstance(r, PropertyRecord)} == {"inconclusive"}
    assert "PARTIAL" in (run / "index.html").read_text()
    assert "cut short" in out


def test_a_subject_in_another_interpreter(audit: Callable, project: Callable, tmp_path: Path) -> None:
    """A virtual environment without specverify (and without torch: the subject takes lists)."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    text = PADS + "\nimport random\nsv.subject('sample', arrays='list')(lambda probs: random.choices(range(len(probs)), probs)[0])\n"
    done = audit(str(project(text)), "--python", str(bare / "bin" / "python"))
    assert done.code == 0, done.out
    assert "torch" not in done.subjects()[0].versions


def test_the_audited_projects_code_stays_out_of_the_tool(audit: Callable, project: Callable) -> None:
    """A conftest.py that ends pytest and a folder named like a dependency of ours lie in the current folder."""
    folder = project(PADS)
    (folder / "conftest.py").write_text("raise SystemExit(9)")
    (folder / "scipy").mkdir()
    (folder / "scipy" / "__init__.py").write_text("raise ImportError('shadowed')")
    done = audit(".", cwd=folder)
    assert done.code == 0, done.out


def test_declared_memory_reaches_the_worker(audit: Callable, project: Callable) -> None:
    """Three gigabytes are beyond the limit of two; declared, they are granted; not declared, they accuse nobody."""
    text = "import mmap\nimport specverify as sv\ndef pad_path(path, length, pad):\n    mmap.mmap(-1, 3 << 30).close()\n    return path + [pad] * (length - len(path))\n"
    refused = audit(str(project(text + "sv.subject('pad_path')(pad_path)")), "--call-seconds", "20")
    assert refused.code == 4, refused.out
    assert "declare `memory=`" in refused.out
    granted = audit(str(project(text + "sv.subject('pad_path', memory=5 << 30)(pad_path)")), "--call-seconds", "20")
    assert granted.code == 0, granted.out


def test_a_subject_that_does_not_come_back_after_a_crash_is_lost(audit: Callable, project: Callable, tmp_path: Path) -> None:
    """It dies once and then no longer imports: no finding can be repeated, and the exit code says that its worker could not be kept alive."""
    flag = tmp_path / "died"
    text = f"""
import os, pathlib
import specverify as sv

if pathlib.Path({str(flag)!r}).exists():
    raise RuntimeError("gone")

@sv.subject("sample", arrays="list")
def sample(probs):
    pathlib.Path({str(flag)!r}).touch()
    os._exit(1)
"""
    done = audit(str(project(text)))
    assert set(done.status("sample").values()) & {"lost", "failed"}
    assert done.code in (1, 3)
    assert isinstance(done.records[-1], Footer)


def test_text_that_is_no_text_is_recorded(audit: Callable, project: Callable) -> None:
    done = audit(str(project("import specverify as sv\n@sv.subject('pad_path')\ndef pad(path, length, pad):\n    raise ValueError('\\udc80')\n")))
    assert done.code == 1, done.out
    assert done.findings()[0].message.startswith("The subject raises ValueError: ?")


def test_a_run_that_is_told_to_end_leaves_a_valid_marked_report(project: Callable, tmp_path: Path) -> None:
    folder = project("import time\nimport specverify as sv\ntime.sleep(30)")
    command = [sys.executable, "-m", "specverify", "audit", str(folder), "--out", str(tmp_path / "reports")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    for _ in range(200):
        if list((tmp_path / "reports").glob("*/events.jsonl")):
            break
        time.sleep(0.1)
    time.sleep(0.5)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    (run,) = (tmp_path / "reports").iterdir()
    assert process.returncode == 130, out
    assert read_events(run)[-1].reason == "interrupted"
    assert "PARTIAL" in (run / "index.html").read_text()


def test_a_place_that_cannot_be_written_is_one_sentence(audit: Callable, project: Callable) -> None:
    command = [sys.executable, "-m", "specverify", "audit", str(project(PADS)), "--out", "/proc/nowhere"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Choose another place" in done.stderr


@pytest.mark.parametrize("selector", [None, "contracts", "properties", "faults", "gallery", "verify_chain", "CHN", "CHN-008", "fault:reused-uniform"])
def test_list(selector: str | None) -> None:
    command = [sys.executable, "-m", "specverify", "list", *([selector] if selector else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.strip()


def test_list_of_something_unknown() -> None:
    done = subprocess.run([sys.executable, "-m", "specverify", "list", "CHN-999"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Did you mean" in done.stderr


def test_doctor_tells_how_to_make_a_gallery_entrys_environment() -> None:
    done = subprocess.run([sys.executable, "-m", "specverify", "doctor", "gallery:lucidrains"], capture_output=True, text=True)
    assert "python3 -m venv .venv-lucidrains && .venv-lucidrains/bin/pip install torch numpy speculative-decoding==0.2.0" in done.stdout
    assert "specverify audit gallery:lucidrains --python .venv-lucidrains/bin/python" in done.stdout
    assert done.returncode == 3
    assert "No module named 'speculative_decoding'" in done.stderr


def test_doctor_shows_what_a_subject_says_of_itself(project: Callable) -> None:
    done = subprocess.run([sys.executable, "-m", "specverify", "doctor", str(project(PADS))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pad_path" in done.stdout


def test_doctor_tells_whether_laws_can_be_explored(project: Callable) -> None:
    text = "import random\nimport secrets\nimport torch\nimport specverify as sv\n"
    text += "sv.subject('sample', name='followed')(lambda probs: torch.multinomial(probs, 1))\n"
    text += "sv.subject('sample', name='sampled')(lambda probs: random.choices(range(len(probs)), probs.tolist(), k=1 + secrets.randbelow(1))[0])\n"
    done = subprocess.run([sys.executable, "-m", "specverify", "doctor", str(project(text))], capture_output=True, text=True)
    assert "explored exactly" in done.stdout
    assert "its laws are sampled: The law cannot be explored exactly: it takes" in done.stdout


def test_gallery_lists_its_files_and_folders() -> None:
    from specverify.audit.arguments import GALLERY, entry, gallery

    files = {path for path in GALLERY.glob("*.py") if path.stem != "__init__"} | set(GALLERY.glob("*/specverify_subjects.py"))
    assert {entry(name) for name in gallery()} == files


@pytest.mark.parametrize(("budget", "told"), [("0", "no draws"), ("soon", "no length of time"), ("0s", "no length of time")])
def test_a_budget_is_draws_or_a_time(audit: Callable, project: Callable, budget: str, told: str) -> None:
    done = audit(str(project(PADS)), "--budget", budget)
    assert done.code == 2
    assert told in done.out


@pytest.mark.slow
def test_a_budget_of_time_is_kept_and_what_was_not_reached_is_said(audit: Callable, project: Callable) -> None:
    text = "import time\nimport specverify as sv\n\n@sv.subject('sample')\ndef sample(probs):\n    time.sleep(0.001)\n    return probs.multinomial(1)\n"
    began = time.monotonic()
    done = audit(str(project(text)), "--budget", "12s")
    assert time.monotonic() - began < 12 + 20, "a worker has ten seconds to end"
    assert done.code == 4, done.out
    assert "the time was up" in done.out
    assert {record.status for record in done.records if isinstance(record, PropertyRecord)} >= {"ok", "inconclusive"}
