"""The page of the papers' code samples: each row of the table once, and no verdict without a recorded run."""

from pathlib import Path

import pytest

from benchmarks import samples
from specverify.errors import SpecverifyError
from specverify.gallery import CHECKOUTS

SAMPLES = 28


def rows() -> list[list[str]]:
    """Cells of each row of the published page."""
    return [line.strip("| ").split(" | ") for line in samples.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]


def test_the_page_is_what_its_tables_and_records_give() -> None:
    assert samples.PAGE.read_text(encoding="utf-8") == samples.page()


def test_each_sample_has_a_row_with_its_facts() -> None:
    facts = samples.table("paper_samples.tsv")
    assert len(facts) == len(rows()) == SAMPLES
    for fact, row in zip(facts, rows(), strict=True):
        assert [row[0], row[1], row[2], row[5]] == [
            f"`{fact['entry']}`", f"{fact['repository']}, {fact['path']}", f"`{fact['code_sha256_prefix']}`", f"`{fact['contract']}`"
        ]  # fmt: skip
        assert row[4].startswith(fact["status"])


def test_a_verdict_stands_only_where_a_run_is_recorded() -> None:
    for ours, row in zip(samples.table("paper_subjects.tsv"), rows(), strict=True):
        recorded = any(samples.kept(ours["gallery"]).rglob("events.jsonl")) if ours["gallery"] else False
        assert ("lossless" in row[6] or "finding" in row[6]) == recorded
        assert recorded or row[6].startswith("not audited")
        assert recorded or row[7] == row[8] == "not known"
        assert ours["gallery"] not in CHECKOUTS or recorded or "--checkout PATH" in row[6]


def test_a_run_on_no_checkout_fills_nothing() -> None:
    with pytest.raises(SpecverifyError, match="no run on a checkout"):
        samples.record(Path(samples.REPORTS / "lucidrains"))
