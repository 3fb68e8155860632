"""gallery:lucidrains on the interpreter that SPECVERIFY_LUCIDRAINS names: the published verdicts, and faults planted in the models that its loops are given."""

import os
from pathlib import Path

import pytest

import specverify.gallery

PYTHON = os.environ.get("SPECVERIFY_LUCIDRAINS", "")
ENTRY = Path(specverify.gallery.__file__).with_name("lucidrains.py")
DECODERS, PROPHET = ("lucidrains.Decoder", "lucidrains.Decoder (of the prophet)"), "lucidrains.speculative_decoding_with_prophet_model"
LOOPS = ["lucidrains.speculative_decoding", "lucidrains.speculative_decoding_with_same_model", f"{PROPHET} (two tokens or more)"]
OWN = {(PROPHET, "GEN-001"), *((f"{name}, right-aligned", "HLP-002") for name in DECODERS)}
"""What the package does itself."""
RIGHT = ENTRY.read_text(encoding="utf-8")
FAULTS = [
    pytest.param("row[1:]]) for", "row[1:].roll(1)]) for", "", id="a prophet that reads another text changes no law"),
    pytest.param("x[:, cache[0].shape[-2] :]], 1)", "x[:, cache[0].shape[-2] :]], 1).roll(int(cache is not None), 1)", "GEN-003", id="a target whose cache is one place off"),
    pytest.param("else seq_start_pos.tolist()", "else [0] * len(x)", "GEN-019", id="a target that reads what aligns the rows"),
]  # fmt: skip
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PYTHON, reason="SPECVERIFY_LUCIDRAINS names an interpreter that has speculative-decoding 0.2.0")]


def broken(done) -> set[tuple[str, str]]:
    """(subject, property) of all findings."""
    return {(row.subject, row.property) for row in done.findings() if row.severity == "finding"}


def test_the_published_verdicts_hold(audit) -> None:
    """The prophet loop raises for one token, and decoders do not heed where a text begins; all else is upheld."""
    done = audit("gallery:lucidrains", "--python", PYTHON, "-n", "2")
    assert broken(done) == OWN
    assert {row.property for row in done.findings() if row.severity == "advisory"} == {"KPF-011", "GEN-018"}
    assert set(LOOPS) | {PROPHET, *DECODERS} < {row.subject for row in done.subjects()}
    for name in set(LOOPS):
        assert set(done.status(name).values()) <= {"ok", "advisory", "not applicable"}


@pytest.mark.parametrize(("old", "new", "by"), FAULTS)
def test_a_fault_of_a_model_is_found_where_it_reaches_the_text(audit, project, old: str, new: str, by: str) -> None:
    assert RIGHT.count(old) == 1
    done = audit(str(project(RIGHT.replace(old, new))), "--python", PYTHON, "-n", "2")
    found = broken(done) - OWN
    assert {(name, by) for name in LOOPS if by} <= found
    assert bool(found) == bool(by)
