"""Correct twins, written in other styles and by other hands, are never accused. All of them: -m slow, or `python -m benchmarks.false_alarms`."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TWINS = Path(__file__).resolve().parents[1] / "twins"
PARTS = tuple(sorted(path.parent.name for path in TWINS.glob("*/specverify_subjects.py")))
"""Folders with a file of their own."""
REFERENCE = TWINS.parents[1] / "reference"
LEAST = {
    "pieces": 45, "retrievers": 15, "trees": 17, "batches": 7, "packed": 8, "packed_trees": 6, "rows": 18, "rounds": 9, "drafters": 13, "loops": 12, "rules": 13, "prefill": 9, "state": 22, "histories": 15,
    **({"caches": 4} if importlib.util.find_spec("transformers") else {}),
}  # fmt: skip
"""Twins of each part; those of caches of transformers need it."""
TEMPTING = ("pos_in_place_undeclared", "pad_remembers", "smp_tokens_ahead", "chn_coins_ahead")
"""One of each temptation that once led to a false alarm of ours, or could."""
OF_THE_PIECES = ("res_", "wrp_temperature_last", "flt_", "sed_")
"""Starts of names: a share of the twins of the pieces that is quick."""
RETRIEVERS = ("rtr_longest_paths", "rtr_capped", "rtr_ties_drawn_once")
"""A convention each, and ties in an order of their own."""
TREES = ("trb_row_for_each_path", "trg_any_of_equal_argmaxes")
"""Rows for paths that begin another, once accused; ties."""


def judged(folder: Path, *arguments: str) -> str:
    """The output of a maintainer's own pytest run in a folder, which must be green and decided."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        *(f"--ignore={part}" for part in PARTS),
        "--specverify-scope",
        "none",
        *arguments,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert "inconclusive" not in done.stdout
    return done.stdout


def test_the_most_tempting_twins_are_not_accused() -> None:
    told = judged(TWINS, "-k", " or ".join(TEMPTING))
    for name in TEMPTING:
        assert f"\n{name} " in told, name


@pytest.mark.slow
def test_some_twins_of_the_pieces_are_not_accused() -> None:
    assert judged(TWINS / "pieces", "-k", " or ".join(OF_THE_PIECES)).count(" ok") >= 8


def test_some_retrievers_are_not_accused() -> None:
    assert judged(TWINS / "retrievers", "-k", " or ".join(RETRIEVERS)).count(" ok") == len(RETRIEVERS)


def test_some_trees_are_not_accused() -> None:
    assert judged(TWINS / "trees", "-k", " or ".join(TREES)).count(" ok") == len(TREES)


def test_no_twin_of_rotary_positions_is_accused() -> None:
    assert judged(TWINS / "state", "-k", "rth_ or rot_ or rkv_").count(" ok") >= 7


@pytest.mark.slow
@pytest.mark.parametrize(("part", "least"), LEAST.items())
def test_no_twin_of_a_part_is_accused(part: str, least: int) -> None:
    assert judged(TWINS / part).count(" ok") >= least


@pytest.mark.slow
def test_no_twin_is_accused(audit: Callable) -> None:
    done = audit(str(TWINS), "--scope", "small")
    assert done.code == 0, done.out
    assert len(done.subjects()) >= 80


def test_the_reference_is_judged_like_any_other() -> None:
    """Its quick subjects; the others with -m slow."""
    told = judged(REFERENCE, "-k", "RES- or SMP- or WRP- or GRD-")
    assert told.count(" ok") == 4


@pytest.mark.slow
def test_the_reference_is_audited_like_any_other(audit: Callable) -> None:
    done = audit(str(REFERENCE), "--scope", "small")
    assert done.code == 0, done.out
    assert {finding.severity for finding in done.findings()} <= {"advisory"}
    assert {record.subject for record in done.subjects()} >= {"verify_chain", "block", "sample_and_match"}
