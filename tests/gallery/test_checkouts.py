"""Entries for checkouts, on stand-ins of the repositories: each symbol is bound and upheld, and each planted fault is found. All of them: `python -m benchmarks.papers`."""

import pytest

from benchmarks.papers import audit, failed, planted, shown
from specverify.gallery import CHECKOUTS


@pytest.mark.slow
@pytest.mark.parametrize("entry", CHECKOUTS)
def test_a_right_checkout_is_upheld(entry: str) -> None:
    code, rows, subjects = audit(entry)
    assert code == 0, failed(rows)
    assert {subject for one, subject, *_ in planted([entry]) if one == entry} <= {record.subject for record in subjects}


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "subject", "fault", "right"), list(planted([])), ids=lambda told: told.replace(" ", "-"))
def test_a_fault_in_a_checkout_is_found(entry: str, subject: str, fault: str, right: str) -> None:
    code, rows, _ = audit(entry, subject, fault)
    assert shown(code, rows) == right
