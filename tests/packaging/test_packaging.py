"""What is shipped is whole, what is generated is fresh, and the README's commands are those that CI runs."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from specprops import __main__ as suite
from specverify.audit.suite import properties
from specverify.contracts import CONTRACTS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def command(mark: str) -> str:
    return README.partition(f"<!-- {mark} -->")[2].split("```")[1].removeprefix("sh\n").strip()


def test_the_readme_names_one_command_for_each_job() -> None:
    for mark in ("main job", "tests"):
        assert command(mark).startswith("python3 -m venv .venv && .venv/bin/pip install -q -c constraints/test.txt -e ")
    assert "audit gallery:transformers" in command("main job")
    assert command("tests").endswith("pytest -n auto")


def test_ci_runs_the_readmes_test_command() -> None:
    text = (ROOT / ".ci/run").read_text()
    found = subprocess.run(["bash", "-c", "sed -n '/<!-- tests -->/,/^```$/p' README.md | grep '^python3'"], cwd=ROOT, capture_output=True, text=True)
    assert "sed -n '/<!-- tests -->/,/^```$/p' README.md" in text
    assert found.stdout.strip() == command("tests")


def test_properties_json_is_fresh() -> None:
    assert suite.TARGET.read_bytes() == suite.text(), "run python -m specprops"


def test_ids_are_unique_and_belong_to_their_contract() -> None:
    rows = json.loads(suite.TARGET.read_text())
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids)) == len(properties())
    for row in rows:
        assert row["id"].startswith(CONTRACTS[row["contract"]].prefix + "-")
        assert set(row["after"]) <= set(ids)
        assert row["sentence"].endswith(".")
        assert row["source"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.ZipFile(next(out.glob("specdec_verify-*.whl")))


def test_the_wheel_holds_what_is_read_at_run_time(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    needed = [
        "specverify/audit/events.schema.json",
        "specverify/audit/pytest.ini",
        "specverify/report/report.html.j2",
        "specverify/gallery/transformers.py",
        "specverify/py.typed",
        "specprops/properties.json",
        "specprops/py.typed",
        "specref/py.typed",
        "specref/sampling.py",
    ]
    assert set(needed) <= names
    assert not [name for name in names if name.startswith(("tests", "reference/", "properties/"))]


def imported_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted({{n.split('.')[0] for n in set(sys.modules) - before}}))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_face_loads_nothing_heavy() -> None:
    assert not imported_by("import specverify") & {"torch", "numpy", "pytest", "hypothesis", "scipy", "msgspec", "typer", "rich", "jinja2"}


def test_importing_the_face_takes_milliseconds() -> None:
    """The bar is 50 ms; of the processor's time, since other tests run beside this one, and the least of five."""
    code = "import time; t = time.process_time(); import specverify; print(time.process_time() - t)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(times) < 0.05
