"""gallery:whisper on an installed transformers, of this interpreter or of the one that SPECVERIFY_TRANSFORMERS names."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

NAMED = os.environ.get("SPECVERIFY_TRANSFORMERS")
PYTHON = NAMED or sys.executable
SCRIPT = Path(__file__).parents[2] / "reports" / "whisper" / "drafts_are_not_drawn.py"
FAR = 0.05
"""From the target's row: what 1,000 texts are off by chance is 0.016 at one standard deviation."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not NAMED and importlib.util.find_spec("transformers") is None, reason="no transformers here; SPECVERIFY_TRANSFORMERS names an interpreter that has it"
    ),
]


def test_the_published_verdicts_hold(audit: Callable) -> None:
    """Drafts of a whole Whisper are its likeliest tokens and weighed as draws; those of a decoder alone are draws. Version 4 looks nothing up without an end token."""
    done = audit("gallery:whisper", "--python", PYTHON, "-n", "2")
    assert done.code == 1, done.out
    found = {(row.subject, row.property, row.severity) for row in done.findings()}
    assert found - {("whisper.prompt_lookup", "GEN-001", "finding")} == {("whisper.assisted", "GEN-007", "finding")}
    for name in {"whisper.plain", "whisper.assisted_by_a_decoder", "whisper.prompt_lookup"} - {subject for subject, *_ in found}:
        assert set(done.status(name).values()) <= {"ok", "not applicable"}


def test_the_script_shows_it_without_specverify() -> None:
    done = subprocess.run([PYTHON, "-W", "ignore", str(SCRIPT)], capture_output=True, text=True, check=True)
    p, loop, plain, decoder, whole, _, predicted = ([float(mass) for mass in line.split()[-4:]] for line in done.stdout.splitlines()[1:])
    for law in (loop, plain, decoder):
        assert distance(law, p) < FAR
    assert distance(whole, predicted) < FAR < distance(whole, p)


def distance(one: list[float], other: list[float]) -> float:
    """The largest difference."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
