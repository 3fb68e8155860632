"""Every planted fault is found by a property that should find it; the catalogue and the planted code agree."""

import importlib
from collections.abc import Callable

import pytest

from specverify.audit.suite import properties
from specverify.contracts import CONTRACTS
from specverify.faults import FAULTS, Fault
from specverify.subjects.declare import DECLARED

QUICK = {
    "positive_part": ("floor-in-residual",),
    "residual": ("residual-lifted",),
    "ratio": ("guard-that-is-none",),
    "accept_probability": ("acceptance-floor",),
    "filter_logits": ("top-p-forgotten-with-top-k",),
    "warp": ("filters-in-another-order",),
    "sample": ("reseeded-every-call",),
    "verify_chain": ("reused-uniform", "reseeds-itself"),
    "verify_deterministic_draft": ("mismatch-drawn-again",),
    "verify_chain_greedy": ("greedy-row-late",),
    "tree_buffers": ("branches-padded-with-zero",),
    "verify_tree_greedy": ("ragged-branches-read-token-0",),
    "verify_tree": ("mismatch-in-a-tree-drawn-again",),
    "processed_rows": ("rejected-drafts-left-in-the-text",),
    "vocab_map": ("ids-mapped-where-they-stand",),
    "grammar_mask": ("rollback-forgotten",),
    "logprobs": ("bonus-from-the-row-before",),
    "retriever": ("documents-joined", "longest-paths-dropped", "guess-where-nothing-is-found", "ids-in-16-bits", "first-hits-of-the-sorted"),
}
"""Of contracts with several faults those that are hardest to find, of a retriever those of the released code, since a process with torch takes seconds; all: -m slow, or `specverify selftest`."""


TREES = ("tree_buffers", "verify_tree_greedy", "verify_tree")
ROWS = ("processed_rows", "vocab_map", "grammar_mask", "logprobs")
SHARED = (*TREES, *ROWS)
"""Contracts that share one audit, which takes seconds to start."""


@pytest.mark.parametrize("contracts", [*((contract,) for contract in CONTRACTS if contract not in SHARED), SHARED], ids=" ".join)
def test_every_planted_fault_is_found(audit: Callable, contracts: tuple[str, ...]) -> None:
    _all_found(audit, [fault for fault in FAULTS.values() if fault.contract in contracts and fault.name in QUICK.get(fault.contract, FAULTS)])


@pytest.mark.slow
@pytest.mark.parametrize("contract", QUICK)
def test_all_of_many_planted_faults_are_found(audit: Callable, contract: str) -> None:
    _all_found(audit, [fault for fault in FAULTS.values() if fault.contract == contract])


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
    assert len(FAULTS) >= 12
    for contract in CONTRACTS:
        DECLARED.clear()
        importlib.reload(importlib.import_module(f"specverify.faults.planted_{contract}"))
        assert {declared.name for declared in DECLARED} == {fault.name for fault in FAULTS.values() if fault.contract == contract}
    DECLARED.clear()
    for fault in FAULTS.values():
        assert set(fault.found_by) <= set(properties())
        assert fault.corpus
