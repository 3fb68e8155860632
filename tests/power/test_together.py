"""All drawn cases of a run together: a fault that no single case shows, and the same verdict from shards."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from specverify.audit.events import read_events
from specverify.audit.records import Finding, Together
from specverify.stats import RunWide

STEPS = '''
"""Steps whose numbers cannot be followed: they are read out of memory."""
import bisect
import itertools

import numpy as np

import specverify as sv


def u():
    return memoryview(np.random.random(1))[0]


def draw(row):
    sums = list(itertools.accumulate(row))
    return min(bisect.bisect_right(sums, u() * sums[-1]), max(i for i, x in enumerate(row) if x > 0))


def step(p, q, draft, lenience):
    for i, x in enumerate(draft):
        if u() * q[i][x] * lenience >= p[i][x]:
            left = [max(a - b, 0.0) for a, b in zip(p[i], q[i])]
            return [*draft[:i], draw(left if sum(left) else p[i])]
    return [*draft, draw(p[-1])]


@sv.subject("verify_chain", rule="standard", arrays="list")
def right(p, q, draft):
    return step(p, q, draft, 1.0)


@sv.subject("verify_chain", rule="standard", arrays="list")
def lenient(p, q, draft):
    return step(p, q, draft, 0.8 if u() < 0.16 else 1.0)
'''


@pytest.mark.slow
def test_what_no_case_shows_all_of_them_do_and_so_do_shards(audit: Callable, project: Callable[[str], Path], tmp_path: Path) -> None:
    """Lenience 0.8 in one call of six: no screen of 2,000 draws flags it, 50,000 draws of 25 cases do."""
    folder = str(project(STEPS))
    whole = audit(folder, "-n", "1")
    assert whole.code == 1, whole.out
    assert (whole.failed("right"), whole.failed("lenient")) == ([], ["CHN-008"])
    (finding,) = [one for one in whole.findings() if one.severity == "finding"]
    assert "cases together" in finding.message
    assert "lenien" in finding.message
    shards = [audit(folder, "-n", "1", "--shard", f"{part}/3") for part in (1, 2, 3)]
    folders = [shutil.copytree(shard.run, tmp_path / f"shard{number}") for number, shard in enumerate(shards)]
    done = subprocess.run(
        [sys.executable, "-m", "specverify", "report", "--combine", *map(str, folders), "--out", str(tmp_path / "combined")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = (tmp_path / "combined").iterdir()
    again = [one for one in read_events(run) if isinstance(one, Finding) and one.severity == "finding"]
    assert [(one.id, one.message) for one in again] == [(finding.id, finding.message)]
    for subject in ("right", "lenient"):
        (once,) = [one for one in whole.records if isinstance(one, Together) and one.subject == subject]
        parts = [one for shard in shards for one in shard.records if isinstance(one, Together) and one.subject == subject]
        total = RunWide.of(parts[0].process)
        for part in parts[1:]:
            total = total.merge(RunWide.of(part.process))
        assert total.as_dict() == RunWide.of(once.process).as_dict()
