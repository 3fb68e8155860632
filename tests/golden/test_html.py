"""The conformance report: whole in one file, true to its records, safe against what a subject prints."""

import json
import re
from html.parser import HTMLParser

import msgspec

from specverify.audit import records
from specverify.audit.records import CaseRecord, Finding, Footer, Header, Line, PropertyRecord, Record, Statistics, SubjectRecord
from specverify.contracts import array
from specverify.report.html import percent, render

HEADER = Header(
    1, "0.1.0", "1", "run", ("./x",), "key", 1e-6, 20_000, 3, ("grid",), "2026-01-01T00:00:00+00:00", "3.11", "here", "specverify audit ./x --fail-on grid"
)
SUBJECTS = [
    SubjectRecord("step", "./x", "verify_chain", "lossless", "standard", "x.py", 3, {"python": "3.11", "torch": "2.13"}, "Takes p and q. Right: the product."),
    SubjectRecord("sample", "./x", "sample", "lossless", None, "x.py", 9, {}),
    SubjectRecord("gone", "./y", problem="./y could not be imported.", hint="Look at line 1."),
]
FINDING = Finding(
    "ab12cd34", "step", "verify_chain", "CHN-008", "The law is p's.", "2211.17192", "finding", "It is <script>alert(1)</script> wrong.",
    records.arguments({"p": array("float32", (1, 3), (1 / 3, 1 / 3, 1 / 3))}), (Line("(0, 1)", "0.564", "3/8"),),
    "statistical", True, Statistics(2000, 22.5, 1e7, 53.2, 3, 1.6e-11, 0), output="</script><b>",
)  # fmt: skip


def row(subject: str, id_: str, status: str, reason: str = "") -> PropertyRecord:
    return PropertyRecord(subject, "verify_chain", id_, f"Sentence of {id_}.", "joint", status, "statistical", reason, 12, 2400, 0.5)


RUN: list[Record] = [
    HEADER,
    *SUBJECTS,
    CaseRecord("step", "CHN-003", "dd", "ok", Statistics(2000, 2.302585092994046)),
    FINDING,
    row("step", "CHN-003", "ok"),
    row("step", "CHN-008", "failed", "ab12cd34"),
    row("step", "CHN-011", "blocked", "CHN-008"),
    row("sample", "SMP-001", "ok"),
    msgspec.structs.replace(FINDING, id="ff", subject="sample", severity="grid", property="SMP-003"),
    row("sample", "SMP-003", "grid"),
    Footer(True, 1, 4.2),
]


VOID = {"meta", "br", "link", "img", "hr", "input"}


class Outline(HTMLParser):
    """Tags that stay open, scripts, and links that leave the file."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[dict] = []
        self.leaving: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append(dict(attrs))
        self.leaving += [value for name, value in attrs if name in ("src", "href") and not value.startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.partition("<body>")[2]))


def test_it_is_one_well_formed_file_without_scripts_or_links() -> None:
    outline = Outline()
    outline.feed(render(RUN))
    assert outline.open == []
    assert outline.scripts == [{"type": "application/json", "id": "run"}]
    assert outline.leaving == []


def test_it_says_what_the_records_say() -> None:
    shown = text(render(RUN))
    for words in (
        "NOT LOSSLESS · step as verify_chain",
        "Do not rely on the claim: CHN-008 is broken.",
        "LOSSLESS TO 2^-20, AS FAR AS TESTED · sample",
        "NOT LOADED · gone",
        "./y could not be imported. Look at line 1.",
        "((1/3, 1/3, 1/3))",
        "(0, 1) 0.564 3/8",
        "2,000 draws, E = 10^9.8; needed 10^7.0; chi-squared 53.2 on 3 degrees of freedom, p = 1.6e-11",
        "largest E 10^1.0",
        "CHN-011 on step: blocked – by CHN-008",
        "specverify audit ./x --fail-on grid (run key key, 20,000 draws per confirmation, on the CPU)",
        "Takes p and q. Right: the product.",
        "exit code 1",
    ):
        assert words in shown, words


def test_found_and_right_stand_as_bars_where_they_are_probabilities() -> None:
    html = render(RUN)
    assert 'style="width:56.4%"' in html
    assert 'style="width:37.5%"' in html
    assert [percent(text) for text in ("3/8", "0.564", "1e-07", "nan", "[-1]", "2", "unchanged")] == [37.5, 56.4, 0.0, None, None, None, None]


def test_what_a_subject_says_stays_text() -> None:
    html = render(RUN)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_the_runs_data_is_in_it() -> None:
    data = json.loads(render(RUN).partition('id="run">')[2].partition("</script>")[0])
    assert {record["kind"] for record in data} == {"header", "subject", "finding", "property", "footer"}


def test_a_run_that_was_cut_short_is_marked_and_renders() -> None:
    assert "PARTIAL" in render(RUN[:-1])
    assert "PARTIAL The run was cut short (interrupted)" in text(render([*RUN[:-1], Footer(False, 130, 1.0, "interrupted")]))
    assert "PARTIAL" not in render(RUN)


def test_it_stays_small_with_many_findings() -> None:
    many = [msgspec.structs.replace(FINDING, id=f"{i:08x}", output="x" * 2000) for i in range(80)]
    assert len(render([HEADER, *SUBJECTS, *many, Footer(True, 1, 1.0)])) < 500_000
