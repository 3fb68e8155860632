"""The conformance report: whole in one file, true to its records, safe against what a subject prints, readable for everybody."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise, product

import msgspec
import pytest

from specverify.audit.cases import arguments
from specverify.audit.records import CaseRecord, Finding, Footer, Header, Line, Part, PropertyRecord, Record, Sign, Statistics, SubjectRecord
from specverify.contracts import array
from specverify.report.html import render
from specverify.report.templates import percent

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
    arguments({"p": array("float32", (1, 3), (1 / 3, 1 / 3, 1 / 3))}), (Line("(0, 1)", "0.564", "3/8"),),
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
    """Tags that stay open, scripts, links, places that can be linked to, headings, and cells of headings without a scope."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[dict] = []
        self.links: list[str] = []
        self.places: list[str] = []
        self.headings: list[int] = []
        self.tables: list[int] = []
        self.unscoped = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append(dict(attrs))
        self.links += [value for name, value in attrs if name in ("src", "href")]
        self.places += [value for name, value in attrs if name == "id"]
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.unscoped += tag == "th" and "scope" not in dict(attrs)
        self.tables += [0] if tag == "table" else []
        if tag == "caption":
            self.tables[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.partition("<body>")[2]).replace("&nbsp;", " ").replace("&#39;", "'"))


def test_it_is_one_well_formed_file_without_scripts_or_links() -> None:
    outline = Outline(render(RUN))
    assert outline.open == []
    assert outline.scripts == [{"type": "application/json", "id": "run"}]
    assert not [link for link in outline.links if not link.startswith("#")]


def test_it_says_what_the_records_say() -> None:
    shown = text(render(RUN))
    for words in (
        "✗ NOT LOSSLESS · step as verify_chain, claim lossless, rule standard",
        "Do not rely on the claim: CHN-008 is broken.",
        "LOSSLESS TO 2^-20, AS FAR AS TESTED · sample",
        "NOT LOADED · gone",
        "./y could not be imported. Look at line 1.",
        "((1/3, 1/3, 1/3))",
        "(0, 1) 0.564 3/8",
        "2,000 draws, E = 10^9.8; needed 10^7.0; chi-squared 53.2 on 3 degrees of freedom, p = 1.6e-11",
        "CHN-003 statistical 12 2,400 10^1.0",
        "CHN-011 ? blocked by CHN-008 step",
        "Not judged because of it CHN-011",
        "joint law The tokens of an output together have the target's law. ✗ BROKEN CHN-008",
        "specverify audit ./x --fail-on grid (run key key, 20,000 draws per confirmation, on the CPU)",
        "Takes p and q. Right: the product.",
        "exit code 1",
    ):
        assert words in shown, words


def test_notes_stand_where_there_are_some() -> None:
    plain = text(render(RUN))
    assert "Health" not in plain
    assert "Where" not in plain
    assert "Speed" not in plain
    parts = (Part("bonus", 2, 900, 20.72, 0.3, wrong=True), Part("acceptance", 1, 2000, 0.1, 0.01, wrong=False))
    ill = msgspec.structs.replace(row("sample", "SMP-004", "ok"), signs=(Sign("variety", seen=False, log_chance=-30.0),))
    shown = text(render([*RUN[:5], msgspec.structs.replace(FINDING, parts=parts), *RUN[6:-1], ill, RUN[-1]]))
    assert "Where the bonus (E = 10^9.0 from 900 draws); the acceptance shows nothing wrong Finding ab12cd34" in shown
    assert "LOSSLESS TO 2^-20, AS FAR AS TESTED, WITH A HEALTH NOTE · sample" in shown
    assert "sample : equal arguments always give it the same result" in shown


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


def big_run(subjects: int, properties: int, failing: int) -> list[Record]:
    """Every subject has so many properties, the first of them with a finding."""
    names = [f"a-subject-with-a-name-{number}" for number in range(subjects)]
    described = [msgspec.structs.replace(SUBJECTS[0], subject=name, contract=f"contract_{number % 13}", about="x" * 300) for number, name in enumerate(names)]
    findings = [
        msgspec.structs.replace(FINDING, id=f"{place:04x}{which:04x}", subject=name, property=f"CHN-{which:03}", table=FINDING.table * 8)
        for (place, name), which in product(enumerate(names), range(failing))
    ]
    failed = [row(finding.subject, finding.property, "failed", finding.id) for finding in findings]
    passed = [row(name, f"CHN-{which:03}", "ok") for name, which in product(names, range(failing, properties))]
    return [HEADER, *described, *findings, *failed, *passed, Footer(True, 1, 1.0)]


RUNS = {"few": RUN, "green": big_run(86, 12, 0), "many": big_run(86, 12, 3), "worst": big_run(86, 12, 12)}


@pytest.mark.parametrize("name", RUNS)
def test_it_stays_under_500_kb(name: str) -> None:
    assert len(render(RUNS[name]).encode()) < 500_000


@pytest.mark.parametrize("name", RUNS)
def test_links_lead_somewhere_headings_descend_and_tables_are_named(name: str) -> None:
    outline = Outline(render(RUNS[name]))
    assert len(outline.places) == len(set(outline.places))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.places)
    assert outline.headings[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(outline.headings))
    assert outline.unscoped == 0
    assert set(outline.tables) == {1}


def test_what_is_shown_as_a_card_is_as_much_as_fits() -> None:
    assert render(RUN).count("<article") == 2
    assert 0 < render(RUNS["many"]).count("<article") < 3 * 86
    assert render(RUNS["many"]).count('id="f-') == 3 * 86


def test_many_subjects_get_an_index() -> None:
    shown = text(render(RUNS["many"]))
    assert "✗ 86 broken of 86 subjects, each as far as tested. 1032 of 1032 properties gave an answer" in shown
    assert "a-subject-with-a-name-7 contract_7 ✗ broken ✗ BROKEN – not tested – not tested – not tested – not tested" in shown
    assert "Subjects by guarantee" not in text(render(RUN))


def luminance(colour: str) -> float:
    """Of a colour such as #1b1f24 (WCAG 2.2)."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme: str) -> None:
    colours = dict(re.findall(r"--(\w+): (#\w{6})", re.findall(r":root \{( --ink.*?) \}", render(RUN))[scheme == "dark"]))
    assert len(colours) == 11
    tones = [(tone, ground) for tone in ("good", "bad", "open") for ground in ("paper", "panel", f"{tone}bg")]
    plain = product(("ink", "soft"), ("paper", "panel", "goodbg", "badbg", "openbg"))
    for front, ground in (*tones, *plain):
        dark, light = sorted(luminance(colours[name]) for name in (front, ground))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (front, ground)
