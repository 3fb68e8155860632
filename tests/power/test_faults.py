"""Every planted fault is found by a property that should find it; the catalogue and the planted code agree."""

import importlib
from collections.abc import Callable

import pytest

from specverify.audit.suite import properties
from specverify.contracts import CONTRACTS
from specverify.faults import FAULTS, Fault
from specverify.faults.catalogue import TABLES
from specverify.subjects.declare import DECLARED

QUICK = {
    "pieces": (
        "floor-in-residual", "acceptance-floor", "filters-in-another-order", "top-p-forgotten-with-top-k", "last-window-missing",
    ),
    "steps": ("reused-uniform", "mismatch-drawn-again", "greedy-row-late"),
    "retrievers": ("documents-joined", "longest-paths-dropped", "guess-where-nothing-is-found", "ids-in-16-bits", "first-hits-of-the-sorted"),
    "batches": (),
    "packed": (),
    "packed trees": (),
    "rows": ("rejected-drafts-left-in-the-text", "ids-mapped-where-they-stand", "rollback-forgotten", "bonus-from-the-row-before"),
    "rounds": ("bonus-of-the-row-before",),
    "drafters": (),
    "loops": (),
    "prefill": (),
    "state": ("turned-the-other-way", "positions-counted-on-from-the-first", "heads-tiled", "rejected-rows-come-back"),
    "trees": ("branches-padded-with-zero", "ragged-branches-read-token-0", "mismatch-in-a-tree-drawn-again"),
}  # fmt: skip
"""Of each part of the catalogue those that are hardest to find in seconds, in one audit; a generator seeded anew in every call takes half a minute, and is left to the slow suite; of retrievers those of the released code, of batches and packed ones those of `test_batches`, of loops those of `test_loops`; all: -m slow, or `specverify selftest`."""


AT_ONCE = 20
"""Faults of one audit, which has 280 s; one of a loop takes 5 s, and more on a busy machine."""


@pytest.mark.parametrize("part", [part for part in QUICK if QUICK[part]])
def test_planted_faults_are_found(audit: Callable, part: str) -> None:
    _all_found(audit, [FAULTS[name] for name in QUICK[part]])


@pytest.mark.slow
@pytest.mark.parametrize("contract", CONTRACTS)
def test_all_of_many_planted_faults_are_found(audit: Callable, contract: str) -> None:
    mine = [fault for fault in FAULTS.values() if fault.contract == contract]
    for start in range(0, len(mine), AT_ONCE):
        _all_found(audit, mine[start : start + AT_ONCE])


def _all_found(audit: Callable, mine: list[Fault]) -> None:
    done = audit(*(f"fault:{fault.name}" for fault in mine), "--fail-on", "grid", "-n", "1")
    assert done.code == 1, done.out
    missed = {fault.name: (done.failed(fault.name), fault.found_by) for fault in mine if not set(done.failed(fault.name)) & set(fault.found_by)}
    assert not missed, done.out


@pytest.mark.slow
def test_grid_faults_are_no_findings_unless_asked_for(audit: Callable) -> None:
    grid = [fault for fault in FAULTS.values() if fault.grid]
    done = audit(*(f"fault:{fault.name}" for fault in grid), "-n", "1")
    assert done.code == 0, done.out
    assert {finding.severity for finding in done.findings()} == {"grid"}


def test_catalogue_and_planted_code_agree() -> None:
    assert len(FAULTS) == sum(map(len, TABLES.values()))
    for contract in CONTRACTS:
        DECLARED.clear()
        importlib.reload(importlib.import_module(f"specverify.faults.planted_{contract}"))
        assert {declared.name for declared in DECLARED} == {fault.name for fault in FAULTS.values() if fault.contract == contract}
    DECLARED.clear()
    for fault in FAULTS.values():
        assert set(fault.found_by) <= set(properties())
        assert fault.corpus
