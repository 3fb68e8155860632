"""Entries for checkouts, on stand-ins of the repositories: each symbol is bound and upheld, and each planted fault is found. All of them: `python -m benchmarks.papers`."""

from pathlib import Path

import pytest

from benchmarks.papers import audit, broken, planted, ranges, shown
from specverify.gallery import CHECKOUTS

TABLES = Path(__file__).parents[2] / "reports" / "papers-symbols.md"


def test_the_published_tables_have_each_symbol_and_each_planted_fault() -> None:
    symbols, faults = TABLES.read_text(encoding="utf-8").partition("## Planted faults")[::2]
    told, found = ({tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in text.splitlines()} for text in (symbols, faults))
    assert {(entry, subject) for entry, subject, *_ in planted([])} <= {row[:2] for row in told}
    assert {(entry, subject, fault) for entry, subject, fault, _ in planted([])} <= {row[:3] for row in found}


def test_properties_that_follow_each_other_stand_together() -> None:
    assert ranges(["GEN-004", "GEN-001", "GEN-003", "KVC-005", "GEN-010"]) == "GEN-001 GEN-003…004 GEN-010 KVC-005"


@pytest.mark.slow
@pytest.mark.parametrize("entry", CHECKOUTS)
def test_a_right_checkout_is_upheld(entry: str) -> None:
    seen = audit(entry)
    assert seen.exit_code == 0, {one.subject.subject: broken(one) for one in seen.verdicts}
    assert {subject for one, subject, *_ in planted([entry]) if one == entry} <= {one.subject.subject for one in seen.verdicts}


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "subject", "fault", "right"), list(planted([])), ids=lambda told: told.replace(" ", "-"))
def test_a_fault_in_a_checkout_is_found(entry: str, subject: str, fault: str, right: str) -> None:
    assert shown(entry, subject, audit(entry, subject, fault)) == right
