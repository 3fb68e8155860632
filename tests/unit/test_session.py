"""A day with the command, told as one story: every verb, good and bad input, and each exit code (slow; the interrupted run, exit 130, is in test_audit)."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tomllib

Said = Callable[..., str]
RIGHT = """
import specverify as sv

@sv.subject("pad_path")
def padded(path, length, pad):
    return path + [pad] * (length - len(path))
"""
WRONG = RIGHT.replace("path + [pad] * (length - len(path))", "[pad] * (length - len(path)) + path")
ASLEEP = RIGHT.replace("return", "import time; time.sleep(60); return")
QUICK = ("-n", "1", "--scope", "none")


@pytest.fixture
def say(tmp_path: Path) -> Said:
    """Type a command in the project's folder, expect an exit code, and get what it printed."""

    def run(*words: str, code: int = 0, **environment: str) -> str:
        command = [sys.executable, "-c", "import sys; sys.argv[0] = 'specverify'; from specverify.cli import main; main()", *words]
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, timeout=280)
        assert done.returncode == code, f"specverify {' '.join(words)}\n{done.stdout}{done.stderr}"
        assert ("Traceback" in done.stderr) == ("--debug" in words), done.stderr
        return done.stdout + done.stderr

    return run


def run_of(out: str) -> str:
    """The folder that a run's last line names."""
    return out.split("/index.html")[0].split()[-1]


@pytest.mark.slow
def test_a_day_with_the_command(tmp_path: Path, say: Said) -> None:  # noqa: PLR0915  one story
    subjects = tmp_path / "specverify_subjects.py"

    # What is there, and what can be asked for?
    assert "pytest" in say("doctor")
    assert "pad_path" in say("list")
    assert "Did you mean 'pad_path'?" in say("list", "pad_pat", code=2)
    assert "replay" in say(_SPECVERIFY_COMPLETE="complete_bash", COMP_WORDS="specverify repl", COMP_CWORD="1")
    shown = subprocess.run(["bash", "-c", f"{sys.executable} -m specverify --show-completion; true"], capture_output=True, text=True, timeout=60)
    assert "complete_bash" in shown.stdout, shown.stderr

    # A folder without subjects: nothing to audit, but something to discover.
    assert "no specverify_subjects.py" in say("audit", ".", code=2)
    assert "no specverify_subjects.py" in say("audit", ".", "--debug", code=2)
    assert "holds no Python file" in say("discover", ".", code=2)
    (tmp_path / "sampling.py").write_text("def add(a, b): ...\n")
    assert "nothing in" in say("discover", ".", code=4)
    (tmp_path / "sampling.py").write_text("def max_fn(x):\n    ...\n")
    assert "sampling.py:1" in say("discover", ".")

    # The project is set up; a key that nothing has is told before anything runs.
    assert "specverify.toml" in say("init")
    assert "--force" in say("init", code=2)
    (tmp_path / "specverify.toml").write_text('budgt = 300\nrun_key = "story"\n')
    subjects.write_text(WRONG)
    assert "Did you mean 'budget'?" in say("audit", ".", code=2)
    (tmp_path / "specverify.toml").write_text('budget = 300\nrun_key = "story"\n')
    assert "padded" in say("doctor", ".")
    assert "no_such_module" in say("audit", "py:no_such_module:pad@pad_path", *QUICK, code=3)

    # A finding, in every way that it can be looked at.
    out = say("audit", ".", *QUICK, "--plain", "--report", "html,junit,sarif,markdown,badge", code=1)
    first = run_of(out)
    assert "NOT LOSSLESS" in out
    finding = next(line.split()[-1] for line in out.splitlines() if line.startswith("FAILED PAD-002"))
    assert "PAD-002" in say("explain", finding[:5])
    assert "no finding 'ffffffff'" in say("explain", "ffffffff", code=2)
    assert say("replay", finding, code=1).startswith("failed")
    alone = subprocess.run([sys.executable, "-I", f"{first}/{finding}.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (alone.returncode, "REPRODUCED" in alone.stdout) == (1, True), alone.stderr
    assert {path.name for path in (tmp_path / first).iterdir()} > {"index.html", "junit.xml", "results.sarif", "summary.md", "badge.json"}
    assert "report.md" in say("report", first, "--markdown", "report.md")
    assert "has no events.jsonl" in say("report", ".", code=2)

    # It has to be lived with for now.
    assert "added" in say("baseline", "update", "--reason", "the next release mends it", "--expires", "2999-01-31")
    assert "takes a day" in say("baseline", "update", "--expires", "soon", code=2)
    assert tomllib.loads((tmp_path / "specverify.toml").read_text())["known"][0]["finding"] == finding
    assert "KNOWN FINDINGS" in say("audit", ".", *QUICK)

    # Mended: the finding is fixed, the baseline is out of date, and says so until it is brought up to date.
    subjects.write_text(RIGHT)
    assert say("replay", f"{first}/findings/{finding}.json").startswith("fixed")
    out = say("audit", ".", *QUICK, "--strict", code=5)
    second = run_of(out)
    assert "was not found any more" in out
    assert "fixed" in say("diff", first, second)
    assert "new" in say("diff", second, first, code=1)
    assert "removed" in say("baseline", "update")
    quiet = say("audit", ".", *QUICK, "--strict", "--quiet")
    assert "LOSSLESS, AS FAR AS TESTED" in quiet
    assert "run key" not in quiet

    # Searching on; a subject that gives no answer; and whether all of this is to be trusted.
    assert "round 2" in say("fuzz", ".", "--max-time", "5m", "--rounds", "2", *QUICK)
    assert "no length of time" in say("fuzz", ".", "--max-time", "soon", code=2)
    subjects.write_text(ASLEEP)
    assert "INCONCLUSIVE" in say("audit", ".", *QUICK, "--call-seconds", "1", code=4)
    assert "pad-in-front" in say("selftest", "--fault", "pad-in-front", "-n", "1")
    assert "no planted fault" in say("selftest", "--fault", "pad-in-frnt", code=2)
