"""The property suites that are installed, read as data: their ids, sentences and modules, without importing them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from specverify.errors import SpecverifyError

GROUP = "specverify.properties"
BREAKS = {
    "lossless": {"joint", "position", "support", "greedy", "well-formed", "requests"},
    "greedy-exact": {"greedy", "well-formed", "requests"},
    "pathwise": {"joint", "position", "support", "greedy", "well-formed", "requests", "pathwise"},
    "bitwise": {"joint", "position", "support", "greedy", "well-formed", "requests", "bitwise"},
    "lossy": {"well-formed"},
}
"""What each claim promises; a property that guards something else gives no finding under it."""


def promises(claim: str) -> set[str]:
    """What a claim promises, by the words in `Property.guards`; all that any does, where there is no claim."""
    return BREAKS[claim.partition("(")[0]] if claim else set().union(*BREAKS.values())


class Property(msgspec.Struct, frozen=True):
    """A claim that every subject of a contract must meet.

    Attributes:
        id: permanent, never reused.
        contract: whose subjects it judges.
        sentence: the claim.
        source: where it is derived.
        guards: joint, position, support, greedy, well-formed, requests, pathwise, bitwise, hygiene or efficiency.
        after: ids that must hold first.
        statistical: whether it takes a share of alpha.
        severity: of its violation: finding, grid or advisory.
        function: name of its test.
        module: dotted name of the module that its test lies in.
    """

    id: str
    contract: str
    sentence: str
    source: str
    guards: str
    after: tuple[str, ...]
    statistical: bool
    severity: str
    function: str
    module: str

    def promised_by(self, claim: str) -> bool:
        """Whether a subject of that claim breaks it by violating this; hygiene is looked at under every claim."""
        return self.guards in ("hygiene", "efficiency") or self.guards in promises(claim)


@cache
def properties() -> dict[str, Property]:
    """Every installed property, by id, in the suite's order."""
    found: dict[str, Property] = {}
    for entry in entry_points(group=GROUP):
        spec = importlib.util.find_spec(entry.module.partition(".")[0])
        if spec is None or spec.origin is None:
            raise SpecverifyError(f"The suite {entry.name} is not where it was installed.", hint="Install specdec-verify again.")
        rows = msgspec.json.decode((Path(spec.origin).parent / "properties.json").read_bytes(), type=list[Property])
        found.update({row.id: row for row in rows})
    if not found:
        raise SpecverifyError(
            "No property suite is installed.", hint="Install the distribution: pip install specdec-verify, or pip install -e . in its checkout."
        )
    return found


def of_contract(contract: str) -> list[Property]:
    """The properties of one contract."""
    return [row for row in properties().values() if row.contract == contract]


def modules(contracts: Iterable[str]) -> list[str]:
    """Dotted names of the modules in which the properties of these contracts lie, contract by contract; nothing else of a suite needs importing."""
    return list(dict.fromkeys(row.module for contract in contracts for row in of_contract(contract)))


def pairs(contracts: list[str]) -> int:
    """How many (property, subject) pairs share alpha, one contract per subject given; at least 1."""
    return max(1, sum(row.statistical for contract in contracts for row in of_contract(contract)))
