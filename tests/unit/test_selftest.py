"""The command `specverify selftest`, and what it makes of records."""

import json
import subprocess
import sys
from pathlib import Path

from specverify.audit.records import Finding, Likely, PropertyRecord, SubjectRecord
from specverify.audit.selftest import QUICK_FAULTS, QUICK_NOT_BUGS, Harmless, SelfTest, judged, kill, quick
from specverify.contracts import CONTRACTS
from specverify.faults import FAULTS, NOT_BUGS
from specverify.report.selftest import html, text

LIKELY = Likely(("residual-from-p",), "From p.", ("B022",), fits=True, left=0.0, behind=0.0, drawn=False)
FAULT = FAULTS["residual-from-p"]


def row(property_: str, status: str, reason: str = "") -> PropertyRecord:
    return PropertyRecord(FAULT.name, "verify_chain", property_, "s", "joint", status, "exact", reason, 10, 200, 1.5, law=True)


def finding(id_: str, property_: str, likely: tuple[Likely, ...] = ()) -> Finding:
    return Finding(id_, FAULT.name, "verify_chain", property_, "s", "x", "finding", "m", (), (), "exact", likely=likely)


def test_a_kill_names_the_property_that_should_find_it_first_and_sums_the_cost() -> None:
    records = [row("CHN-001", "failed", "b"), row("CHN-005", "failed", "a"), row("CHN-002", "ok"), finding("a", "CHN-005", (LIKELY,)), finding("b", "CHN-001")]
    found = kill(FAULT, records)
    assert (found.found, found.hit, found.evidence, found.named) == (("CHN-005", "CHN-001"), True, "exact", ("residual-from-p",))
    assert (found.cases, found.draws, found.seconds) == (30, 600, 4.5)


def test_a_fault_that_another_property_finds_alone_is_missed() -> None:
    missed = kill(FAULT, [row("CHN-001", "failed", "b"), finding("b", "CHN-001")])
    assert not missed.hit
    done = SelfTest("0", "1", (missed,), (), 1.0)
    assert done.missed == [FAULT.name]
    assert "MISSED, should be found by CHN-005 or CHN-006 or CHN-008; found by CHN-001" in "\n".join(text(done))
    assert "MISSED" in html(done)


def test_correct_subjects_are_accused_undecided_or_neither() -> None:
    subject = SubjectRecord(FAULT.name, "x", "verify_chain", "lossless")
    states = {status: judged([subject, row("CHN-008", status, "a")], "key")[0] for status in ("ok", "failed", "inconclusive")}
    assert [(one.accused, one.undecided) for one in states.values()] == [((), ()), (("CHN-008",), ()), ((), ("CHN-008",))]
    gone = judged([SubjectRecord("gone", "x", problem="no")], "key")[0]
    assert (gone.accused, gone.undecided) == ((), ("loading",))
    right = Harmless("right", "sample", "key", 9, (), (), 100, 1.0)
    done = SelfTest("0", "1", (), (states["failed"], right), 1.0)
    assert done.accused == [FAULT.name]
    assert list(text(done))[-1] == "\n0 of 0 planted faults found; 10 judgements of 2 correct subjects under 1 run key, 1 false alarm; 1 s."


def test_the_quick_choice_is_of_most_contracts_and_the_whole_one_of_all() -> None:
    assert {FAULTS[name].contract for name in QUICK_FAULTS} == CONTRACTS.keys() - {"verify_chain", "verify_batch", "verify_packed", "verify_tree_lcrs"}
    assert set(QUICK_NOT_BUGS) <= NOT_BUGS.keys()
    assert quick(False) == (list(FAULTS), [f"not-bug:{name}" for name in NOT_BUGS])


def test_the_command_writes_a_table_json_and_html(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "specverify", "selftest", "--fault", "pad-one-short", "--fault", "seed-ignored", "--out", str(tmp_path), "-n", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 planted faults found" in done.stdout
    told = json.loads((tmp_path / "selftest.json").read_text())
    assert [(one["fault"], one["found"]) for one in told["kills"]] == [("pad-one-short", ["PAD-001"]), ("seed-ignored", ["SED-003"])]
    page = (tmp_path / "selftest.html").read_text()
    assert "seed-ignored" in page
    assert "<script" not in page


def test_the_command_refuses_what_is_no_fault() -> None:
    done = subprocess.run([sys.executable, "-m", "specverify", "selftest", "--fault", "pad-one-shirt"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "pad-one-short" in done.stderr
