"""What is shipped is whole, what is generated is fresh, and the README's commands are those that CI runs."""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import tomllib

from specprops import __main__ as suite
from specverify.audit.suite import modules, properties
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


def test_a_contracts_properties_may_lie_in_several_modules_and_no_other_is_named() -> None:
    assert modules(["generate", "sample", "generate"]) == ["specprops.generate", "specprops.greedy_verdict", "specprops.sample"]


def built(out: Path, *options: str) -> Path:
    done = subprocess.run([sys.executable, "-m", "build", *options, "--no-isolation", "--outdir", str(out), str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built(tmp_path_factory.mktemp("wheel"), "--wheel").glob("*.whl")))


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    return built(tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_what_is_read_at_run_time(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    needed = [
        "specverify/audit/events.schema.json",
        "specverify/audit/finding.schema.json",
        "specverify/audit/config.schema.json",
        "specverify/audit/standalone/parts.py",
        "specverify/cli/templates/specverify.toml.txt",
        "specverify/cli/templates/workflow.yml.txt",
        "specverify/audit/pytest.ini",
        "specverify/report/report.html.j2",
        "specverify/report/parts/style.css",
        "specverify/gallery/transformers.py",
        "specverify/py.typed",
        "specprops/properties.json",
        "specverify/faults/smallest.json",
        "specprops/py.typed",
        "specref/py.typed",
        "specref/sampling.py",
    ]
    assert set(needed) <= names
    assert not [name for name in names if name.startswith(("tests", "reference/", "properties/"))]


def test_the_wheel_holds_every_file_of_the_three_packages(wheel: zipfile.ZipFile) -> None:
    roots = {"specverify": ROOT, "specref": ROOT / "reference", "specprops": ROOT / "properties"}
    files = {str(path.relative_to(root)) for name, root in roots.items() for path in (root / name).rglob("*") if path.is_file()}
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == {name for name in files if "__pycache__" not in name}


def test_the_wheel_says_who_it_is(wheel: zipfile.ZipFile) -> None:
    said = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    assert said["LICENSE"] == (ROOT / "LICENSE").read_text()
    for line in ("Name: specdec-verify", "Requires-Python: >=3.11", "License-Expression: Apache-2.0"):
        assert line in said["METADATA"].splitlines()
    for line in ("specverify = specverify.cli:main", "specverify = specverify.plugin", "specprops = specprops"):
        assert line in said["entry_points.txt"].splitlines()


def test_the_sdist_holds_the_sources_and_their_tests_and_no_reports(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = [Path(name).parts[1:] for name in sdist.getnames()]
    files = {"/".join(parts) for parts in names}
    assert {"LICENSE", "README.md", "pyproject.toml", "tox.ini", "reference/specref/sampling.py", "tests/conftest.py", "constraints/test.txt"} <= files
    assert not {parts[0] for parts in names} & {"reports", ".git", "dist", "build"}
    assert not [name for name in files if "__pycache__" in name or ".venv" in name]


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(dist: Path, wheel: zipfile.ZipFile) -> None:
    again = zipfile.ZipFile(next(dist.glob("*.whl")))
    assert {info.filename: info.CRC for info in again.infolist()} == {info.filename: info.CRC for info in wheel.infolist()}


def test_the_lowest_constraints_are_the_lower_bounds() -> None:
    """All but torch's, which tox.ini names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = dict(line.split(">=") for line in project["dependencies"] + project["optional-dependencies"]["test"])
    lowest = dict(line.split("==") for line in (ROOT / "constraints/lowest.txt").read_text().splitlines() if not line.startswith("#"))
    assert lowest.keys() == bounds.keys() - {"torch"}
    for name, version in lowest.items():
        assert f"{version}.".startswith(f"{bounds[name]}.")


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
