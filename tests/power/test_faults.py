"""Every planted fault is found by a property that should find it; the catalogue and the planted code agree."""

import importlib
from collections.abc import Callable

import pytest

from specverify.audit.suite import properties
from specverify.contracts import CONTRACTS
from specverify.faults import FAULTS, Fault
from specverify.subjects.declare import DECLARED

QUICK = {
    "positive_part": ("softmax-residual", "floor-in-residual", "batch-normaliser"),
    "sample": ("token-zero-raises", "reseeded-every-call"),
    "warp": ("kept-not-renormalised", "top-p-of-the-tail", "filters-in-another-order"),
    "filter_logits": ("top-k-one-short", "top-p-not-unsorted", "top-p-forgotten-with-top-k"),
    "verify_chain": ("residual-from-p", "reused-uniform", "reseeds-itself"),
    "verify_batch": (),
    "retriever": ("documents-joined", "longest-paths-dropped", "guess-where-nothing-is-found", "ids-in-16-bits", "first-hits-of-the-sorted"),
}
"""Of contracts with many faults: of a verify step one for each way to be found (those of the grid have a test of their own), of a retriever those of the released code, of the others some, of batches those of `test_batches`; all: -m slow, or `python -m benchmarks.faults`."""


@pytest.mark.parametrize("contract", [name for name in CONTRACTS if QUICK.get(name, True)])
def test_every_planted_fault_is_found(audit: Callable, contract: str) -> None:
    _all_found(audit, [fault for fault in FAULTS.values() if fault.contract == contract and fault.name in QUICK.get(contract, FAULTS)])


@pytest.mark.slow
@pytest.mark.parametrize("contract", QUICK)
def test_all_of_many_planted_faults_are_found(audit: Callable, contract: str) -> None:
    _all_found(audit, [fault for fault in FAULTS.values() if fault.contract == contract])


def _all_found(audit: Callable, mine: list[Fault]) -> None:
    done = audit(*(f"fault:{fault.name}" for fault in mine), "--fail-on", "grid", "-n", "1")
    assert done.code == 1, done.out
    missed = {fault.name: (done.failed(fault.name), fault.found_by) for fault in mine if not set(done.failed(fault.name)) & set(fault.found_by)}
    assert not missed, done.out


def test_grid_faults_are_no_findings_unless_asked_for(audit: Callable) -> None:
    grid = [fault for fault in FAULTS.values() if fault.grid]
    done = audit(*(f"fault:{fault.name}" for fault in grid), "-n", "1")
    assert done.code == 0, done.out
    assert {finding.severity for finding in done.findings()} == {"grid"}


def test_catalogue_and_planted_code_agree() -> None:
    assert len(FAULTS) >= 12
    for contract in CONTRACTS:
        DECLARED.clear()
        importlib.reload(importlib.import_module(f"specverify.faults.planted_{contract}"))
        assert {declared.name for declared in DECLARED} == {fault.name for fault in FAULTS.values() if fault.contract == contract}
    DECLARED.clear()
    for fault in FAULTS.values():
        assert set(fault.found_by) <= set(properties())
        assert fault.corpus
