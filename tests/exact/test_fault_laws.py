"""Two derivations of a fault's law: the planted implementation, explored, and the catalogue's, computed."""

import importlib
from collections.abc import Callable, Collection
from types import SimpleNamespace

import pytest
import torch

from specprops import likely, rules, verify_chain
from specverify.contracts import CONTRACTS, Case, array, array_of
from specverify.contracts.picks import every, weights
from specverify.exact import choose, exact_law
from specverify.faults import FAULTS
from specverify.faults.laws import LAWS, alternatives, block_stops, block_weight, fault_of, right_law, rows_of
from specverify.faults.steps import enumerated
from specverify.law import Law, Outcome
from specverify.subjects.declare import DECLARED

ROUNDING = 1e-6
"""Total variation that float32 uniforms and powers leave."""
OF_SEVERAL_ROWS = ("acceptances-counted", "one-uniform-for-all", "block-residual-of-the-token", "q-row-late", "q-row-early", "residual-row-zero")
"""What needs two draft tokens to show; the others are looked at with one, and all with two: -m slow."""


def cases(contract: str, gamma: int) -> Case:
    p, q = array("float64", (gamma + 1, 3), likely.P[: 3 * gamma + 3]), array("float64", (gamma, 3), likely.Q[: 3 * gamma])
    draft = array("int64", (gamma,), (1, 0)[:gamma])
    return {"verify_chain": {"p": p, "q": q}, "verify_deterministic_draft": {"p": p, "draft": draft}, "sample": {"probs": p}}[contract]


def planted(contract: str) -> dict[str, Callable]:
    DECLARED.clear()
    importlib.reload(importlib.import_module(f"specverify.faults.planted_{contract}"))
    found = {declared.name: declared.function for declared in DECLARED}
    DECLARED.clear()
    return found


def explored(contract: str, function: Callable, case: Case) -> Law:
    """The law of (n, tokens), or of a sample's tokens, drafts and completions included."""
    stream = CONTRACTS[contract].stream(case)

    def run() -> Outcome:
        drawn = stream.draw(lambda sums: choose(weights(sums), "draft"))
        values = [torch.tensor(array_of({**case, **drawn}, name.name).nested()) for name in CONTRACTS[contract].parameters]
        result = function(*(value.double() if value.is_floating_point() else value for value in values))
        return tuple(sorted(drawn.items())), tuple(torch.as_tensor(result).flatten().tolist())

    masses: dict[Outcome, float] = {}
    for (drawn, tokens), mass in exact_law(run).probabilities.items():
        for chance, outcome in every(lambda pick, drawn=drawn, tokens=tokens: stream.finish(pick, dict(drawn), tokens)):
            seen = outcome if contract == "sample" else outcome[1:]
            masses[seen] = masses.get(seen, 0.0) + mass * chance
    return Law(masses)


def test_laws_bear_subnormal_probabilities() -> None:
    """Hypothesis finds such tables, and a warning is an error in the suite's run."""
    rows = {"p": array("float64", (3, 2), (1, 0, 0.5, 0.5, 0, 1)), "q": array("float64", (2, 2), (5e-324, 1, 1, 5e-324))}
    for contract, case in (("verify_chain", rows), ("sample", {"probs": rows["q"]})):
        for name, law in alternatives(contract, case).items():
            assert sum(law.probabilities.values()) == pytest.approx(1), name


def disagreements(contract: str, gamma: int, names: Collection[str]) -> dict[str, float]:
    case, off = cases(contract, gamma), {}
    for name, function in planted(contract).items():
        if FAULTS[name].law and name in names:
            law = LAWS[contract][FAULTS[name].law](*rows_of(contract, case))
            off[name] = explored(contract, function, case).total_variation(law)
    assert off
    return {name: distance for name, distance in off.items() if distance > ROUNDING}


@pytest.mark.parametrize("contract", LAWS)
def test_a_planted_fault_has_the_catalogues_law(contract: str) -> None:
    assert not disagreements(contract, 1, FAULTS)


def test_faults_of_several_rows_have_the_catalogues_law() -> None:
    assert not disagreements("verify_chain", 2, OF_SEVERAL_ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("contract", LAWS)
def test_on_wider_tables_too(contract: str) -> None:
    assert not disagreements(contract, 2, FAULTS)


@pytest.mark.parametrize("contract", LAWS)
def test_every_law_belongs_to_a_planted_fault_and_is_a_law_that_is_wrong(contract: str) -> None:
    case = cases(contract, 2)
    rows = rows_of(contract, case)
    for name, law in alternatives(contract, case).items():
        assert FAULTS[fault_of(name)].contract == contract
        assert sum(law.probabilities.values()) == pytest.approx(1, abs=1e-12)
        if not name.startswith("bonus-row-filtered-alone"):  # a floor below what the row has is none
            assert law.total_variation(right_law(contract, *rows)) > ROUNDING, name
    assert {FAULTS[name].law for name in FAULTS if FAULTS[name].contract == contract} - {""} <= LAWS[contract].keys()


def test_the_telling_table_tells_every_two_faults_of_a_step_apart() -> None:
    laws = alternatives("verify_chain", cases("verify_chain", 2))
    named = [(fault_of(name), law) for name, law in laws.items() if FAULTS[fault_of(name)].law == name]
    alike = [(one, other) for i, (one, law) in enumerate(named) for other, second in named[:i] if law.total_variation(second) < 1e-3]
    assert alike == []


def test_the_suites_first_tables_show_every_fault_of_a_step() -> None:
    """But what changes no token's law."""
    first = verify_chain.first(SimpleNamespace(dtypes=("float64",)))
    for name in {fault.law for fault in FAULTS.values() if fault.contract == "verify_chain"} - {"", "bonus-missing"}:
        rows = [rows_of("verify_chain", case) for case in first]
        off = [LAWS["verify_chain"][name](*one).project(tokens).total_variation(right_law("verify_chain", *one).project(tokens)) for one in rows]
        assert max(off) > 1e-3, name


def tokens(outcome: Outcome) -> Outcome:
    return outcome[1]


def test_the_right_laws_are_those_of_the_suite() -> None:
    p, q = rows_of("verify_chain", cases("verify_chain", 2))
    assert right_law("verify_chain", p, q).total_variation(rules.standard(p.tolist(), q.tolist())) < 1e-12
    block = enumerated(block_stops, lambda p, q, draft, n: p[n] if n == len(q) else (block_weight(p, q, draft, n) * p[n] - q[n]).clip(0))
    assert block(p, q).total_variation(rules.block(p.tolist(), q.tolist())) < 1e-12
