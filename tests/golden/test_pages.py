"""What stands beside a run's own page: the difference to an earlier run, the index of several, plots where the extra is installed."""

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from specverify.audit.events import read_events, write_records
from specverify.audit.records import Alone, CaseRecord, Finding, Footer, Header, Known, PropertyRecord, Record, Speed, Statistics, SubjectRecord
from specverify.report import html, plots
from specverify.report.embedded import MISSING, embedded
from specverify.report.index import render

ROOT = Path(__file__).parents[2]
HEADER = Header(1, "0.1.0", "1", "20260101-x", ("./x",), "key", 1e-6, 20_000, 3, (), "2026-01-01T00:00:00+00:00", "3.11", "here", "specverify audit ./x")
STEP = SubjectRecord("step <b>", "./x", "verify_chain", "lossless", "standard")
FINDING = Finding("ab12cd34", STEP.subject, "verify_chain", "CHN-008", "The law is p's.", "2211.17192", "finding", "It is wrong.", (), (), "exact")
LAW = PropertyRecord(STEP.subject, "verify_chain", "CHN-008", "The law is p's.", "joint", "ok", "statistical", "", 12, 2400, law=True)
GOOD: list[Record] = [HEADER, STEP, LAW, Footer(True, 0, 1.0)]
BROKEN: list[Record] = [HEADER, STEP, FINDING, msgspec.structs.replace(LAW, status="failed", reason="ab12cd34"), Footer(True, 1, 1.0)]


def text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]).replace("&nbsp;", " "))


def test_the_difference_to_an_earlier_run_is_told() -> None:
    shown = text(html.render(BROKEN, GOOD))
    assert "Difference to an earlier run Against 20260101-x of 2026-01-01T00:00:00+00:00, specverify 0.1.0, suite 1, run key key. New (1)" in shown
    assert "ab12cd34 CHN-008 [step &lt;b&gt;] It is wrong." in shown
    assert "Fixed (1) ab12cd34 CHN-008" in text(html.render(GOOD, BROKEN))
    assert "No difference" in text(html.render(GOOD, GOOD))
    assert 'id="difference"' not in html.render(GOOD)


def test_a_known_finding_says_why_it_is_accepted_and_until_when() -> None:
    known = Known("ab12cd34", "Upstream is told.", "https://example.org/1", datetime.date(2999, 1, 31))
    page = html.render([msgspec.structs.replace(HEADER, known=(known,)), *BROKEN[1:]])
    shown = text(page)
    assert "BUT FOR KNOWN FINDINGS" in shown
    assert "Known findings Each breaks the claim and is accepted" in shown
    assert "Accepted Upstream is told., until 2999-01-31 (https://example.org/1)" in shown
    assert 'href="https' not in page


def test_a_card_shows_the_law_that_is_broken() -> None:
    assert '<p class="formula">P(X₁ … Xᵧ₊₁ = x₁ … xᵧ₊₁) = ∏ᵢ pᵢ(xᵢ), d ~ q</p>' in html.render(BROKEN)


def test_speed_stands_apart_from_correctness() -> None:
    law = msgspec.structs.replace(LAW, speed=Speed(2000, 1000, 1600, 1200, 1500))
    shown = text(html.render([*GOOD[:2], law, GOOD[-1]]))
    assert "Speed, not correctness" in shown
    assert "step &lt;b&gt; 2,000 0.625 0.800 0.500 0.600" in shown


def test_data_that_does_not_fit_is_trimmed_step_by_step() -> None:
    found = msgspec.structs.replace(FINDING, alone=Alone(why_not="x" * 4000), message="y" * 4000)
    run = [*GOOD[:2], found, LAW]
    whole, trimmed, bare = embedded(run, 100_000), embedded(run, 8_000), embedded(run, 4_000)
    assert [len(json.loads(one)) for one in (whole, trimmed, bare)] == [4, 4, 3]
    assert "xxx" in whole
    assert "xxx" not in trimmed
    assert "yyy" in trimmed
    assert embedded(run, 10) == MISSING


def test_the_command_takes_an_earlier_run_for_one_page_alone(tmp_path: Path, command: Callable) -> None:
    for name, run in (("old", GOOD), ("new", BROKEN)):
        (tmp_path / name).mkdir()
        write_records(tmp_path / name, run)
    assert command("report", tmp_path / "new", "--against", tmp_path / "old").returncode == 0
    assert "New (1)" in (tmp_path / "new/index.html").read_text()
    for words in (("--report", "junit"), (tmp_path / "old",), ("--combine",)):
        done = command("report", tmp_path / "new", *words, "--against", tmp_path / "old")
        assert (done.returncode, "is for the page of one run" in done.stderr) == (2, True)
    assert "has no events.jsonl" in command("report", tmp_path / "new", "--against", tmp_path).stderr


def test_several_runs_get_an_index_that_leads_to_their_pages(tmp_path: Path, command: Callable) -> None:
    for name, run in (("a run", GOOD), ("b", BROKEN[:-1])):
        (tmp_path / name).mkdir()
        write_records(tmp_path / name, run)
    assert command("report", tmp_path / "a run").returncode == 0
    done = command("report", tmp_path / "a run", tmp_path / "b", "--out", tmp_path / "all")
    assert (done.returncode, "b is partial" in done.stderr) == (4, True)
    page = (tmp_path / "all/index.html").read_text()
    assert re.findall(r'href="([^"]+)"', page) == ["../a%20run/index.html"]
    shown = text(page)
    assert "Conformance of 2 subjects in 2 runs 1 broken · 1 upheld" in shown
    assert "step &lt;b&gt; verify_chain ✗ broken lossless ✗ BROKEN – not tested" in shown
    assert "PARTIAL: its file has no last record" in shown
    assert "an index alone" in command("report", tmp_path / "a run", tmp_path / "b", "--junit", tmp_path / "x").stderr


def test_the_index_of_published_runs_is_small() -> None:
    runs = {ROOT / "reports" / name: read_events(ROOT / "reports" / name) for name in ("flashspec", "transformers")}
    page = render(runs, ROOT / "reports/index.html")
    assert re.findall(r'href="([^"]+)"', page) == ["flashspec/index.html", "transformers/index.html"]
    assert len(page) < 30_000


def test_without_the_extra_the_page_says_what_plots_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "NEEDED", ("no_such_package",))
    run = [*GOOD[:2], CaseRecord(STEP.subject, "CHN-008", "d", "ok", Statistics(2000, 1.0, dof=3, p_value=0.4)), *GOOD[2:]]
    assert "pip install &#34;specdec-verify[plots]&#34;" in html.render(run)
    assert "specdec-verify[plots]" not in html.render(GOOD)
    assert "<svg" not in html.render(run)


@pytest.mark.skipif(not plots.available(), reason="the extra plots is not installed")
def test_plots_are_svg_with_ids_of_their_own() -> None:
    looks = [CaseRecord(STEP.subject, "CHN-008", str(n), "ok", Statistics(2000, n / 10 - 3, dof=3, p_value=n / 50)) for n in range(50)]
    made = plots.plots([*GOOD[:2], *looks, *GOOD[2:]])
    assert len(made) == 2
    roots = [ElementTree.fromstring(one.svg) for one in made]
    ids = [element.get("id") for root in roots for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(one.svg.count("currentColor") > 10 and len(one.svg) < 30_000 and "http" not in one.svg.replace("http://www.w3.org/", "") for one in made)
