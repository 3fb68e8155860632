"""The smallest case of each planted fault with a law: a lawful case, which shows the fault, and the first that does."""

import numpy as np
import pytest

from benchmarks.smallest import SHOWS, off, smallest, whole
from specverify.cli.list import lines
from specverify.contracts import CONTRACTS, Case, array
from specverify.faults import FAULTS, Fault
from specverify.faults.laws import rows_of

WITH_LAWS = [fault for fault in FAULTS.values() if fault.law]
QUICK = ("greedy-sampling", "shared-row-uniform", "residual-from-p", "bonus-from-q", "mismatch-drawn-again")
"""Of each contract; all of them take half a minute."""


def case_of(fault: Fault) -> Case:
    assert fault.case is not None, fault.name
    return {name: array("int64" if name == "draft" else "float64", np.shape(rows), np.ravel(rows).tolist()) for name, rows in fault.case.items()}


def test_every_fault_with_a_law_has_a_case_that_shows_it() -> None:
    for fault in WITH_LAWS:
        case = case_of(fault)
        CONTRACTS[fault.contract].check(case)
        rows = rows_of(fault.contract, case)
        assert rows is not None
        assert off(fault, *rows, whole) > SHOWS, fault.name


def test_others_have_none() -> None:
    assert all(fault.case is None for fault in FAULTS.values() if not fault.law)


@pytest.mark.parametrize("name", QUICK)
def test_it_is_the_first_of_the_scope(name: str) -> None:
    assert smallest(FAULTS[name]) == FAULTS[name].case


@pytest.mark.slow
@pytest.mark.parametrize("fault", WITH_LAWS, ids=lambda fault: fault.name)
def test_each_is_the_first_of_the_scope(fault: Fault) -> None:
    assert smallest(fault) == fault.case


def test_it_is_shown() -> None:
    assert lines("fault:reused-uniform")[1:] == ["  smallest case   p = ((1/3, 1/3, 1/3), (0, 0, 1))", "                  q = ((0, 0, 1))"]
    assert lines("mismatch-drawn-again")[-1].split() == ["draft", "=", "(0)"]
    assert len(lines("fault:reseeds-itself")) == 1
