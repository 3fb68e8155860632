"""`specverify list [SELECTOR]`: contracts, properties, faults, gallery."""

from __future__ import annotations

from typing import Annotated

import typer

from specverify.audit.arguments import gallery
from specverify.audit.suite import Property, of_contract, properties
from specverify.contracts import CONTRACTS, Contract
from specverify.errors import unknown
from specverify.faults import FAULTS, NOT_BUGS, Fault
from specverify.faults.smallest import shown
from specverify.gallery import CHECKOUTS

TOPICS = ("contracts", "properties", "faults", "gallery")


def list_(selector: Annotated[str | None, typer.Argument(help="contracts, properties, faults, gallery, a contract, a prefix or an id.")] = None) -> None:
    """Show what can be audited and what is judged."""
    for line in lines(selector):
        typer.echo(line)


def lines(selector: str | None) -> list[str]:
    """The text of one selector, or of everything in short."""
    if selector is None:
        return [*_contracts(), "", *_faults(), "", *_gallery(), "", "`specverify list CONTRACT` shows its parameters and properties."]
    by_prefix = {one.prefix: [other for other in CONTRACTS.values() if other.prefix == one.prefix] for one in CONTRACTS.values()}
    topics = {"contracts": _contracts, "properties": _properties, "faults": _faults, "gallery": _gallery}
    if selector in topics:
        return topics[selector]()
    if selector in CONTRACTS:
        return _contract(CONTRACTS[selector])
    if selector in by_prefix:
        return [line for one in by_prefix[selector] for line in (*_contract(one), "")][:-1]
    if selector in properties():
        return _property(properties()[selector])
    if selector.removeprefix("fault:") in FAULTS:
        return _fault_alone(FAULTS[selector.removeprefix("fault:")])
    raise unknown("selector", selector, [*TOPICS, *CONTRACTS, *by_prefix, *properties(), *FAULTS])


def _contracts() -> list[str]:
    return ["contracts", *(f"  {c.name:<16} {c.prefix}  {c.name}{c.signature} -> {c.returns}\n{'':24}{c.sentence}" for c in CONTRACTS.values())]


def _contract(contract: Contract) -> list[str]:
    head = [f"{contract.name}{contract.signature} -> {contract.returns}", f"  {contract.sentence}", f"  right: {contract.right}"]
    head += [f"  {parameter.name:<8} {parameter.shape:<16} {parameter.meaning}" for parameter in contract.parameters]
    head += [f"  {one.name:<8} {one.shape:<16} to its methods: {one.meaning}" for one in contract.material]
    head += [f"  {one.name:<8} {one.shape:<16} as a keyword, where `supports` names it: {one.meaning}" for one in contract.optional]
    head += [f"  convention {key}: {one.meaning}" + (f" ({', '.join(one.values)})" if one.values else "") for key, one in contract.conventions.items()]
    if contract.coins is not None:
        head.append(f'  coins    {contract.coins.shape:<16} uniform numbers on [0, 1), handed over as `coins=` where rng="coins" is declared')
    if contract.equivalents:
        head.append(f"  seen as: {', '.join(contract.equivalents)}")
    return [*head, "", *(_line(row) for row in of_contract(contract.name))]


def _properties() -> list[str]:
    return [_line(row) for row in properties().values()]


def _line(row: Property) -> str:
    kind = "statistical" if row.statistical else "pointwise"
    return f"{row.id}  {row.sentence}\n{'':9}guards {row.guards} · {kind} · {row.severity}" + (f" · after {', '.join(row.after)}" if row.after else "")


def _property(row: Property) -> list[str]:
    return [_line(row), f"{'':9}contract {row.contract} · source {row.source}"]


def _faults() -> list[str]:
    harmless = [f"  {row.name:<24} {row.contract:<14} {row.sentence} [{', '.join(row.corpus)}]" for row in NOT_BUGS.values()]
    planted = [f"  {_fault(row)}" for row in FAULTS.values()]
    return ["planted faults (audit one with fault:NAME)", *planted, "not-bugs, which must pass (audit one with not-bug:NAME)", *harmless]


def _fault(row: Fault) -> str:
    grid = " · needs --fail-on grid" if row.grid else ""
    return f"{row.name:<24} {row.contract:<14} {row.kind:<10} {row.sentence} [{', '.join(row.corpus)}; found by {', '.join(row.found_by)}{grid}]"


def _fault_alone(row: Fault) -> list[str]:
    """With the smallest case that shows it."""
    return [_fault(row), *(f"  {'smallest case' if number == 0 else '':<15} {line}" for number, line in enumerate(shown(row.case or {})))]


def _gallery() -> list[str]:
    return ["gallery (audit one with gallery:NAME)", *(f"  {name:<24}{_needs(name)}".rstrip() for name in gallery())]


def _needs(name: str) -> str:
    """What an entry audits beside installed packages."""
    told = CHECKOUTS.get(name)
    return f"--checkout PATH, a checkout of {told.repository} at {told.commit}" if told else ""
