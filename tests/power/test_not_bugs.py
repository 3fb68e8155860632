"""What is exact, though it was reported as a bug or looks like one, is never accused."""

import importlib
from collections.abc import Callable

import pytest

from specverify.faults import FAULTS, NOT_BUGS
from specverify.faults.not_bugs import MODULE
from specverify.subjects.declare import DECLARED


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_BUGS)
def test_no_not_bug_is_accused(audit: Callable, name: str) -> None:
    done = audit(f"not-bug:{name}", "-n", "1")
    assert done.code == 0, done.out
    assert {finding.severity for finding in done.findings()} <= {"advisory"}


def test_table_and_code_agree() -> None:
    DECLARED.clear()
    importlib.reload(importlib.import_module(MODULE))
    assert {(declared.name, declared.contract) for declared in DECLARED} == {(one.name, one.contract) for one in NOT_BUGS.values()}
    DECLARED.clear()
    assert not NOT_BUGS.keys() & FAULTS.keys()
    assert all(one.corpus for one in NOT_BUGS.values())
