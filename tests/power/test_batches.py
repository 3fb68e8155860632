"""Faults of batches are found by the properties that are named for them: those that need no statistics. All faults, and the twins: -m slow in test_faults and test_twins."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FOUND = {
    "verify_batch": {
        "seeds-by-place": "test_permutation",
        "seeds-ignored": "test_seeds_decide",
        "seeds-skip-empty-requests": "test_guests",
        "one-generator-for-all": "test_neighbours",
        "uniforms-drawn-for-the-padding": "test_padding",
    },
    "verify_packed": {"seed-and-place": "test_permutation", "generator-passed-on": "test_neighbours", "narrow-ids-read-as-wide": "test_width_of_ids"},
}
"""By contract, each with the property that is named for it."""


def judged(folder: Path, chosen: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "--specverify-scope", "none", "-k", chosen]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("contract", FOUND)
def test_faults_are_found_by_the_properties_named_for_them(project: Callable, contract: str) -> None:
    folder = project(f"import specverify.faults.planted_{contract}\n")
    done = judged(folder, " or ".join(f"({name} and {test}[)" for name, test in FOUND[contract].items()))
    assert f"{len(FOUND[contract])} failed" in done.stdout, done.stdout
    assert " passed" not in done.stdout, done.stdout
