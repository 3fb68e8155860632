"""Whole audits of subjects that misbehave: the right exit code, valid records, the next subject judged, no process left. All of them: -m slow."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("misbehaviours", Path(__file__).resolve().parents[2] / "benchmarks" / "misbehaviours.py")
sys.modules["misbehaviours"] = table = importlib.util.module_from_spec(SPEC)  # by path: the wheel, which tox tests, has no benchmarks
SPEC.loader.exec_module(table)

CHEAP = ("os._exit",)
ROWS = [pytest.param(row, id=row.name, marks=[] if row.name in CHEAP else pytest.mark.slow) for row in table.MISBEHAVIOURS]


@pytest.mark.parametrize("misbehaviour", ROWS)
def test_an_audit_survives(misbehaviour: object) -> None:
    seen = table.audit(misbehaviour)
    assert seen.code == misbehaviour.expected, seen
    assert seen.valid, seen
    assert seen.good, seen
    assert not seen.left, seen


COMPANY = """
import torch
import specverify as sv

@sv.subject("positive_part")
def patches(x):
    kept = torch.where(x > 0, x, 0)
    torch.clamp = lambda x, min: x * 0 + 1
    return kept / kept.sum(-1, keepdim=True)

@sv.subject("positive_part")
def honest(x):
    kept = torch.clamp(x, min=0)
    return kept / kept.sum(-1, keepdim=True)
"""


def test_what_a_neighbour_left_in_the_process_counts_against_nobody(audit: Callable, tmp_path: Path) -> None:
    file = tmp_path / "specverify_subjects.py"
    file.write_text(COMPANY)
    done = audit(str(file), "-n", "1")
    assert done.code == 0, done.out
    assert [record.subject for record in done.subjects()] == ["patches", "honest"]
