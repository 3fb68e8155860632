"""JUnit, SARIF, markdown and badge: of the form that their readers expect, true to the records, also of a run that was cut short."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import msgspec
import pytest

from specverify.audit.events import EVENTS, read_events, write_records
from specverify.audit.records import Finding, Footer, Header, PropertyRecord, Record, SubjectRecord, encode
from specverify.report import badge, junit, markdown, sarif
from specverify.report.forms import FORMS

ROOT = Path(__file__).parents[2]
SARIF = jsonschema.Draft4Validator(json.loads(Path(__file__).with_name("schemas").joinpath("sarif-2.1.0-rtm.5.json").read_text()))
HEADER = Header(
    1, "0.1.0", "1", "run", ("./x",), "key", 1e-6, 20_000, 3, ("grid",), "2026-01-01T00:00:00+00:00", "3.11", "here", "specverify audit ./x --fail-on grid"
)
STEP = SubjectRecord("step", "./x", "verify_chain", "lossless", "standard", str(Path.cwd() / "a folder/x.py"), 3)
GONE = SubjectRecord("gone", "./y", problem="./y could not be imported.", hint="Look at line 1.")
FINDING = Finding(
    "ab12cd34", "step", "verify_chain", "CHN-008", "The law is p's.", "2211.17192", "finding", "It | is <b>\x00wrong.", (), (), "exact", file=STEP.file, line=3
)
GRID = msgspec.structs.replace(FINDING, id="ff00ff00", property="CHN-009", severity="grid", file="", line=0)
ADVICE = msgspec.structs.replace(FINDING, id="00ff00ff", property="CHN-010", severity="advisory", file="/else/where.py")


def row(id_: str, status: str, reason: str = "") -> PropertyRecord:
    return PropertyRecord("step", "verify_chain", id_, f"Sentence of {id_}.", "joint", status, "exact", reason, 12, 2400, 0.5)


ROWS = [
    row("CHN-001", "ok"), row("CHN-002", "unconfirmed", "not again"), row("CHN-003", "not applicable", "no rule"), row("CHN-004", "inconclusive", "too slow"),
    FINDING, row("CHN-008", "failed", "ab12cd34"), GRID, row("CHN-009", "failed", "ff00ff00"), ADVICE, row("CHN-010", "advisory", "00ff00ff"), row("CHN-011", "blocked", "CHN-008"),
]  # fmt: skip
RUN: list[Record] = [HEADER, STEP, GONE, *ROWS, Footer(True, 1, 4.2)]
RUNS = {
    "broken": RUN,
    "upheld": [HEADER, STEP, row("CHN-001", "ok"), Footer(True, 0, 1.0)],
    "cut": [HEADER, STEP, row("CHN-001", "ok")],
    "interrupted": [HEADER, STEP, Footer(False, 130, 1.0, "interrupted")],
    "nothing": [HEADER, Footer(True, 4, 1.0)],
    "transformers": read_events(ROOT / "reports/transformers"),
}


@pytest.mark.parametrize("name", RUNS)
def test_sarif_meets_its_schema(name: str) -> None:
    SARIF.validate(json.loads(sarif.render(RUNS[name])))


def test_the_schema_can_fail() -> None:
    broken = json.loads(sarif.render(RUN))
    broken["runs"][0]["results"][0]["level"] = "grave"
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate(broken)


def test_sarif_has_a_rule_per_property_and_each_finding_at_its_subject() -> None:
    (run,) = json.loads(sarif.render(RUN))["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert [rule["id"] for rule in rules] == ["CHN-008", "CHN-009", "CHN-010"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
    assert [result["level"] for result in results] == ["error", "error", "note"]
    assert results[0]["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "a%20folder/x.py"}, "region": {"startLine": 3}}
    assert "locations" not in results[1]
    assert results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///else/where.py"
    assert results[0]["partialFingerprints"] == {sarif.FINGERPRINT: "ab12cd34"}
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "gone: ./y could not be imported."


def test_junit_has_a_case_per_property_and_one_per_subject_that_does_not_load() -> None:
    root = ElementTree.fromstring(junit.render(RUN))
    assert [suite.get("name") for suite in root] == ["step", "gone"]
    told = {case.get("name").partition(" ")[0]: [child.tag for child in case] for case in root.iter("testcase")}
    assert told == {
        "CHN-001": [], "CHN-002": ["system-out"], "CHN-003": ["skipped"], "CHN-004": ["error"], "CHN-008": ["failure"], "CHN-009": ["failure"],
        "CHN-010": ["system-out"], "CHN-011": ["skipped"], "loads": ["error"],
    }  # fmt: skip
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {"tests": "9", "failures": "2", "errors": "2"}
    assert root[0].get("skipped") == "2"
    assert root.find(".//failure").get("message") == "It | is <b>�wrong."


def test_what_is_partial_is_an_error_of_its_own_in_junit() -> None:
    for name in ("cut", "interrupted"):
        root = ElementTree.fromstring(junit.render(RUNS[name]))
        assert root.get("errors") == "1", name
    assert ElementTree.fromstring(junit.render(RUNS["upheld"])).get("errors") == "0"


def test_markdown_says_what_the_records_say_and_a_subjects_words_stay_text() -> None:
    told = markdown.render(RUN)
    assert "| step | verify\\_chain | lossless | ✗ NOT LOSSLESS | 1 ok · 2 FAILED · 1 advisory · 1 not confirmed" in told
    assert "| gone |  |  | ? NOT LOADED |" in told
    assert "<summary>FAILED CHN-008 [step] It | is &lt;b&gt;" in told
    assert "<b>" not in told
    assert "- CHN-011 blocked by CHN-008 (step)" in told
    assert "**PARTIAL** The run was cut short (interrupted)" in markdown.render(RUNS["interrupted"])
    assert "PARTIAL" not in told


def test_the_badge() -> None:
    told = {name: json.loads(badge.render(run)) for name, run in RUNS.items()}
    assert told["broken"] == {"schemaVersion": 1, "label": "specverify", "message": "1 broken · 1 not decided", "color": "red", "isError": True}
    assert told["upheld"] == {"schemaVersion": 1, "label": "specverify", "message": "lossless, as far as tested", "color": "brightgreen"}
    assert (told["cut"]["message"], told["cut"]["color"]) == ("lossless, as far as tested (partial)", "yellow")
    assert (told["nothing"]["message"], told["nothing"]["color"]) == ("nothing checked", "yellow")


def test_the_command_writes_all_forms_and_says_of_a_torn_file_that_it_is_one(tmp_path: Path, command: Callable) -> None:
    write_records(tmp_path, RUN)
    done = command("report", tmp_path, *(word for name in FORMS for word in (f"--{name}", tmp_path / name)))
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {EVENTS, *FORMS}
    whole = (tmp_path / EVENTS).read_bytes()
    (tmp_path / EVENTS).write_bytes(whole[: -len(encode(RUN[-1])) // 2])
    done = command("report", tmp_path, "--report", "sarif,badge")
    assert done.returncode == 4
    assert "This run is partial: its file has no last record" in done.stderr
    assert (tmp_path / "results.sarif").exists()


@pytest.mark.parametrize(("data", "words"), [(b"", "does not begin with a run's header"), (b"{\n" + encode(HEADER), "is damaged"), (b"x", "does not begin")])
def test_a_file_that_is_no_run_is_told(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / EVENTS).write_bytes(data)
    with pytest.raises(Exception, match=words) as caught:
        read_events(tmp_path)
    assert type(caught.value).__name__ == "SpecverifyError"


def test_an_unknown_form_is_told_with_the_nearest(tmp_path: Path, command: Callable) -> None:
    write_records(tmp_path, RUN)
    done = command("report", tmp_path, "--report", "sariff")
    assert done.returncode == 2
    assert "Did you mean 'sarif'?" in done.stderr
