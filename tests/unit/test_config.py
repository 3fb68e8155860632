"""The configuration: what it may say, what is told of mistakes, and that flags go before the environment, that before subjects, those before the top."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import tomllib

from specverify.audit import __main__ as shipped
from specverify.audit.arguments import configured
from specverify.audit.config import Config, Configured, expired, read
from specverify.audit.records import Known
from specverify.errors import SpecverifyError

FULL = """
suite = "1"
alpha = 1e-7
budget = 500
fail_on = ["grid"]
report = ["junit", "badge"]

[subjects.step]
use = "py:os.path:join"
contract = "pad_path"
claim = "pathwise"

[[known]]
finding = "3f9a1c20"
reason = "later"
expires = 2027-01-31
"""


def test_it_is_read_from_its_own_file_or_from_pyproject(tmp_path: Path) -> None:
    assert read(tmp_path) == Config()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert read(tmp_path) == Config()
    (tmp_path / "pyproject.toml").write_text("[tool.specverify]\nbudget = 7\n")
    assert read(tmp_path) == Config(budget=7)
    (tmp_path / "specverify.toml").write_text(FULL)
    config = read(tmp_path)
    assert config.subjects == {"step": Configured("py:os.path:join", "pathwise", "pad_path")}
    assert config.known == [Known("3f9a1c20", "later", expires=datetime.date(2027, 1, 31))]
    assert config.defaults() == {"alpha": 1e-7, "budget": 500, "fail_on": ["grid"], "report": ["junit", "badge"]}


MISTAKES = [
    ("detct = 0.01", "no key of the configuration 'detct'", "Did you mean 'detect'?"),
    ("budgt = 5", "no key of the configuration 'budgt'", "Did you mean 'budget'?"),
    ('[subjects.a]\nuse = "x"\nclam = "lossless"', "'clam'", "Did you mean 'claim'?"),
    ('[[known]]\nfinding = "a"\nreson = "b"', "'reson'", "Did you mean 'reason'?"),
    ('budget = ["many"]', "Expected `int | str | null`, got `array`", "init"),
    ('[[known]]\nfinding = "a"', "missing required field `reason`", "init"),
    ('[[known]]\nfinding = "a"\nreason = "b"\nexpires = "soon"', "expires", "init"),
    ('suite = "7"', "counts on suite 7", "changes/"),
    ("budget = ", "is no TOML", "init"),
    ("known = 3", "Expected `array`, got `int`", "init"),
]


@pytest.mark.parametrize(("text", "words", "hint"), MISTAKES)
def test_mistakes_are_told(tmp_path: Path, text: str, words: str, hint: str) -> None:
    (tmp_path / "specverify.toml").write_text(text)
    with pytest.raises(SpecverifyError) as caught:
        read(tmp_path)
    assert words in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["events", "finding", "config"])
def test_the_shipped_schemas_are_the_records(name: str) -> None:
    file = shipped.FOLDER / f"{name}.schema.json"
    assert file.read_bytes() == shipped.text(name), "run python -m specverify.audit"
    jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))


def test_the_schema_takes_what_we_read_and_refuses_what_we_refuse() -> None:
    validator = jsonschema.Draft202012Validator(json.loads((shipped.FOLDER / "config.schema.json").read_text()))
    validator.validate(json.loads(json.dumps(tomllib.loads(FULL), default=str)))
    for text, _, _ in MISTAKES[:5]:
        assert list(validator.iter_errors(json.loads(json.dumps(tomllib.loads(text))))), text


def test_a_subject_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    config = Config(
        python="/top", subjects={"step": Configured("py:a.b:c", "bitwise", "pad_path", "/mine"), "odd": Configured("py:a:b@sample", claim="losless")}
    )
    found = configured("step", config)
    assert (found.module, found.attribute, found.contract, found.claim, found.python) == ("a.b", "c", "pad_path", "bitwise", "/mine")
    assert configured("step", config, "/flag").python == "/flag"
    assert configured("py:a:b@sample", config).python == "/top"
    with pytest.raises(SpecverifyError, match="There is no claim 'losless'"):
        configured("odd", config)


def test_the_last_day_still_counts() -> None:
    day = datetime.date(2027, 1, 31)
    assert [expired(Known("a", "b", expires=day), day + datetime.timedelta(days)) for days in (-1, 0, 1)] == [False, False, True]
    assert not expired(Known("a", "b"), day)


@pytest.mark.slow
def test_flags_go_before_the_environment_and_that_before_the_file(tmp_path: Path, project: Callable) -> None:
    project("import specverify as sv\nsv.subject('pad_path')(lambda path, length, pad: path + [pad] * (length - len(path)))\n")
    (tmp_path / "specverify.toml").write_text(
        'alpha = 1e-3\nbudget = 300\nrun_key = "file"\nreport = ["badge"]\n[subjects.pads]\nuse = "./project"\nclaim = "bitwise"\n'
    )
    command = [sys.executable, "-m", "specverify", "audit", "pads", "--run-key", "flag", "-n", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "SPECVERIFY_BUDGET": "400", "SPECVERIFY_RUN_KEY": "environment"}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Nothing that the claim bitwise promises was checked." in done.stdout
    (run,) = (tmp_path / "reports").iterdir()
    header = json.loads((run / "events.jsonl").read_text().splitlines()[0])
    assert {name: header[name] for name in ("run_key", "draws", "alpha")} == {"run_key": "flag", "draws": 400, "alpha": 1e-3}
    assert (run / "badge.json").exists()
    assert not (run / "index.html").exists()


def test_init_writes_what_we_read_and_overwrites_nothing(tmp_path: Path, command: Callable) -> None:
    done = command("init", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read(tmp_path) == Config()
    text = (tmp_path / "specverify.toml").read_text()
    uncommented = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# ") and (" = " in line or line.startswith("# [")))
    (tmp_path / "specverify.toml").write_text(uncommented)
    assert len(read(tmp_path).known) == 1
    assert "specverify audit . --strict" in (tmp_path / ".github/workflows/specverify.yml").read_text()
    done = command("init", cwd=tmp_path)
    assert (done.returncode, "are there already" in done.stderr) == (2, True)
    assert (tmp_path / "specverify.toml").read_text() == uncommented
