"""Known findings: what they excuse, when they are out of date, how a run's findings become entries; and what differs between two runs."""

import datetime
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from specverify.audit.baseline import WHY, accepted, out_of_date, updated, write
from specverify.audit.config import read
from specverify.audit.events import write_records
from specverify.audit.records import Certificate, Finding, Footer, Header, Known, Line, PropertyRecord, Record, SubjectRecord
from specverify.audit.verdict import verdicts
from specverify.errors import SpecverifyError
from specverify.report import html, junit, markdown, sarif
from specverify.report.diff import difference

HEADER = Header(1, "0.1.0", "1", "run", ("./x",), "key", 1e-6, 20_000, 3, (), "2026-06-15T00:00:00+00:00", "3.11", "here")
STEP = SubjectRecord("step", "./x", "verify_chain", "lossless")
FOUND = Finding("ab12cd34", "step", "verify_chain", "CHN-008", "The law is p's.", "here", "finding", "It is wrong.", (), (Line("0", "1", "1/2"),), "exact")
KNOWN = Known("ab12cd34", "since ever", subject="step", property="CHN-008")


def row(id_: str, status: str = "ok", reason: str = "", **more: object) -> PropertyRecord:
    return PropertyRecord("step", "verify_chain", id_, "It holds.", "joint", status, "exact", reason, 2, 50, 0.5, **more)  # type: ignore[arg-type]


FAILED: list[Record] = [FOUND, row("CHN-008", "failed", "ab12cd34"), row("CHN-009", "blocked", "CHN-008")]


def run(*known: Known, found: list[Record] | None = None) -> list[Record]:
    return [msgspec.structs.replace(HEADER, known=known), STEP, row("CHN-001"), *(FAILED if found is None else found), Footer(True, 0, 1.0)]


def test_a_known_finding_does_not_decide_and_the_headline_says_so() -> None:
    (told,) = verdicts([STEP], [row("CHN-001"), *FAILED], {KNOWN.finding: KNOWN})
    assert (told.exit_code, told.headline) == (0, "LOSSLESS, AS FAR AS TESTED, BUT FOR KNOWN FINDINGS")
    assert told.sentence.endswith("Known and accepted: ab12cd34 (since ever).")
    (alone,) = verdicts([STEP], FAILED, {KNOWN.finding: KNOWN})
    assert alone.exit_code == 0
    (new,) = verdicts([STEP], [*FAILED, msgspec.structs.replace(FOUND, id="ff"), row("CHN-003", "failed", "ff")], {KNOWN.finding: KNOWN})
    assert (new.exit_code, new.sentence) == (1, "Do not rely on the claim: CHN-003 is broken.")
    (open_,) = verdicts([STEP], [*FAILED, row("CHN-004", "inconclusive", "slow")], {KNOWN.finding: KNOWN})
    assert open_.exit_code == 4


def test_what_has_expired_is_accepted_no_more() -> None:
    gone = msgspec.structs.replace(KNOWN, expires=datetime.date(2026, 6, 14))
    assert accepted(msgspec.structs.replace(HEADER, known=(gone,))) == {}
    assert accepted(msgspec.structs.replace(HEADER, known=(KNOWN,))) == {"ab12cd34": KNOWN}
    assert out_of_date(msgspec.structs.replace(HEADER, known=(gone,)), FAILED) == ["ab12cd34 expired on 2026-06-14"]


def test_what_is_fixed_is_out_of_date_and_what_was_not_judged_is_not() -> None:
    header = msgspec.structs.replace(HEADER, known=(KNOWN,))
    assert out_of_date(header, FAILED) == []
    assert out_of_date(header, [row("CHN-008")]) == ["ab12cd34 was not found any more"]
    assert out_of_date(header, [row("CHN-008", "inconclusive", "slow")]) == []
    assert out_of_date(header, []) == []


def test_a_baseline_takes_in_what_fails_and_drops_what_is_fixed() -> None:
    day, other = datetime.date(2027, 1, 1), Known("00", "of another subject", subject="other", property="CHN-001")
    new = Known("ab12cd34", WHY, expires=day, subject="step", property="CHN-008")
    assert updated(HEADER, FAILED, [other], reason=None, expires=day) == [other, new]
    assert updated(HEADER, FAILED, [KNOWN], reason="another", expires=day) == [KNOWN]
    assert updated(HEADER, [row("CHN-008")], [KNOWN, other], reason=None, expires=None) == [other]
    assert updated(HEADER, [FOUND, row("CHN-008", "grid", "ab12cd34")], [], reason=None, expires=None) == []


TEXT = """# mine
budget = 5 # draws

[[known]]
finding = "00"
reason = "old"
# a comment of the entry

[subjects.a]
use = "./x"
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("specverify.toml", TEXT),
        ("pyproject.toml", '[project]\nname = "x"\n[tool.specverify]\nbudget = 5\n[[tool.specverify.known]]\nfinding = "00"\nreason = "old"\n'),
    ],
)
def test_entries_are_written_and_all_else_stays(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    given = [msgspec.structs.replace(KNOWN, reason='with "quotes", \\ and\nlines ü', expires=datetime.date(2027, 1, 1)), Known("11", "b")]
    assert write(tmp_path, given) == tmp_path / name
    assert read(tmp_path).known == given
    assert read(tmp_path).budget == 5
    assert '"00"' not in (tmp_path / name).read_text()
    assert ("# mine" in text) == ("# mine" in (tmp_path / name).read_text())
    write(tmp_path, [])
    assert read(tmp_path).known == []


def test_a_file_is_made_where_there_is_none_and_one_that_hides_its_entries_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, [KNOWN])
    assert read(tmp_path).known == [KNOWN]
    inline = 'known = [{finding = "00", reason = "old"}]\n'
    (tmp_path / "specverify.toml").write_text(inline)
    with pytest.raises((SpecverifyError, ValueError)):
        write(tmp_path, [KNOWN])
    assert (tmp_path / "specverify.toml").read_text() == inline


def test_every_form_tells_known_findings_apart() -> None:
    plain, known = run(), run(KNOWN)
    assert "known finding ab12cd34: since ever" in junit.render(known)
    assert "<failure" in junit.render(plain)
    assert "<failure" not in junit.render(known)
    assert '"suppressions"' in sarif.render(known)
    assert '"suppressions"' not in sarif.render(plain)
    assert "known CHN-008" in markdown.render(known)
    assert "FAILED CHN-008" in markdown.render(plain)
    assert "Known findings" in html.render(known)
    assert "Known findings" not in html.render(plain)


def test_two_runs_differ_in_findings_answers_and_power() -> None:
    new = msgspec.structs.replace(FOUND, id="ff", property="CHN-003", message="New.")
    before = [*FAILED, row("CHN-001"), row("CHN-002"), row("CHN-005"), row("CHN-006", certificate=Certificate("t", 2, 9, 0.0, 0.1, 1e-6))]
    after = [
        row("CHN-008"), new, row("CHN-003", "failed", "ff"), row("CHN-001"), row("CHN-002", "inconclusive", "slow"), row("CHN-009"),
        msgspec.structs.replace(row("CHN-005"), evidence="statistical"), row("CHN-006", certificate=Certificate("t", 2, 9, 0.0, 0.01, 1e-6)),
    ]  # fmt: skip
    told = difference(before, after)
    assert told.new == ("ff CHN-003 [step]  New.",)
    assert told.fixed == ("ab12cd34 CHN-008 [step]",)
    assert told.changed == ("CHN-009 [step]  blocked -> ok", "CHN-002 [step]  ok -> inconclusive")
    assert told.power == (
        "CHN-005 [step]  exact, 2 cases, 50 draws -> statistical, 2 cases, 50 draws",
        "CHN-006 [step]  exact, 2 cases, 50 draws, within 0.1 -> exact, 2 cases, 50 draws, within 0.01",
    )
    assert difference(before, before).lines() == ["no difference"]


def test_a_finding_that_is_another_now_is_changed_and_one_that_nobody_looked_at_is_not_fixed() -> None:
    other = msgspec.structs.replace(FOUND, table=(Line("0", "3/4", "1/2"),))
    assert difference(FAILED, [other, *FAILED[1:]]).changed == ("ab12cd34 CHN-008 [step]  another law found",)
    told = difference(FAILED, [row("CHN-008", "blocked", "CHN-001"), FAILED[2]])
    assert (told.fixed, told.changed) == ((), ("ab12cd34 CHN-008 [step]  is not judged any more",))


def test_a_subject_of_one_run_alone_is_one_line() -> None:
    others: list[Record] = [msgspec.structs.replace(row(f"CHN-00{n}"), subject="block") for n in (5, 6, 7)]
    told = difference([row("CHN-005")], [row("CHN-005"), *others])
    assert (told.changed, told.new, told.power) == (("[block]  not there -> judged",), (), ())
    assert difference(others, [row("CHN-005")]).changed == ("[block]  judged -> not there", "[step]  not there -> judged")


def test_diff_and_baseline_as_commands(tmp_path: Path, command: Callable) -> None:
    for name, found in (("a", run(found=[row("CHN-008")])), ("b", run())):
        (tmp_path / "reports" / name).mkdir(parents=True)
        write_records(tmp_path / "reports" / name, found)
    done = command("diff", "reports/a", "reports/b", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0].split()) == (1, ["new", "ab12cd34", "CHN-008", "[step]", "It", "is", "wrong."])
    done = command("baseline", "update", "reports/b", "--reason", "later", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read(tmp_path).known == [msgspec.structs.replace(KNOWN, reason="later")]


PADS = """
import specverify as sv

@sv.subject("pad_path")
def pads(path, length, pad):
    return [pad] * (length - len(path)) + path
"""


@pytest.mark.slow
def test_a_baseline_in_use(tmp_path: Path, command: Callable, project: Callable, pytester: pytest.Pytester) -> None:
    project(PADS)
    audit = ("audit", "./project", "-n", "1", "--strict")
    assert command(*audit, cwd=tmp_path).returncode == 1
    assert command("baseline", "update", "--expires", "2999-01-01", cwd=tmp_path).returncode == 0
    done = command(*audit, cwd=tmp_path)
    assert (done.returncode, "BUT FOR KNOWN FINDINGS" in done.stdout) == (0, True), done.stdout
    text = (tmp_path / "specverify.toml").read_text()
    (pytester.path / "specverify_subjects.py").write_text(PADS)
    (pytester.path / "specverify.toml").write_text(text)
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    outcomes = pytester.runpytest_subprocess("-p", "no:xdist").parseoutcomes()
    assert outcomes.get("xfailed") == 1
    assert "failed" not in outcomes
    (tmp_path / "specverify.toml").write_text(text.replace("2999", "2001"))
    assert command(*audit, cwd=tmp_path).returncode == 1
    project(PADS.replace("[pad] * (length - len(path)) + path", "path + [pad] * (length - len(path))"))
    (tmp_path / "specverify.toml").write_text(text)
    done = command(*audit, cwd=tmp_path)
    assert (done.returncode, "was not found any more" in done.stdout) == (5, True), done.stdout
    assert command("baseline", "update", cwd=tmp_path).returncode == 0
    assert command(*audit, cwd=tmp_path).returncode == 0
