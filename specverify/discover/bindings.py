"""Adapters as Python text: a symbol of a checkout, called as its contract under one convention."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from specverify.contracts import CONTRACTS
from specverify.discover.roles import ROLES, plays
from specverify.discover.scoring import Candidate
from specverify.discover.symbols import Parameter, Symbol
from specverify.discover.ways import FILLERS, WAYS, Way


@dataclass(frozen=True)
class Binding:
    """One way to call a candidate.

    Attributes:
        call: the expression, in which {} is the imported name.
        plain: whether the candidate takes the contract's parameters, in their order, and gives its result.
    """

    candidate: Candidate
    way: Way
    call: str
    plain: bool

    @property
    def label(self) -> str:
        """How reports call the subject."""
        return f"{self.candidate.symbol.module}.{self.candidate.symbol.name}"

    def text(self, name: str, imported: str, label: str | None = None) -> str:
        """The declaration: of a function called `name`, for what is imported as `imported`."""
        contract = CONTRACTS[self.candidate.contract]
        options = ", ".join(filter(None, (f'"{contract.name}"', f'name="{label or self.label}"', self.way.options)))
        if self.plain:
            return f"sv.subject({options})({imported})\n"
        names = ", ".join(parameter.name for parameter in contract.parameters)
        words = f'    """Called with: {self.way.words}."""\n' if self.way.words else f'    """{contract.sentence}"""\n'
        return f"@sv.subject({options})\ndef {name}({names}):\n{words}    {self.way.body.format(self.call.format(imported))}\n"


def bindings(candidate: Candidate) -> list[Binding]:
    """Every way to call it; none where one of its parameters could not be given anything."""
    made = (_bound(candidate, way) for way in WAYS.get(candidate.contract, ()))
    return list({(one.call, one.way.body, one.way.options): one for one in made if one is not None}.values())


def missing(candidate: Candidate) -> str:
    """Why it cannot be tried, or ""."""
    if candidate.contract not in WAYS:
        return "needs an adapter by hand"
    given = [_given(candidate, way) for way in WAYS[candidate.contract]]
    if candidate.symbol.bound and (making := _making(candidate)):
        return f"needs an instance, which takes {', '.join(making)}"
    lacking = min((list(_lacking(candidate, one)) for one in given), key=len)
    if lacking:
        return f"does not say what {', '.join(lacking)} should be"
    dropped = min((_dropped(candidate, way, one) for way, one in zip(WAYS[candidate.contract], given, strict=True)), key=len)
    return f"takes no {', '.join(dropped)}: an adapter by hand must say what stands for it" if dropped else ""


def _dropped(candidate: Candidate, way: Way, given: Mapping[str, str]) -> list[str]:
    """The contract's parameters that would not reach the code: it would be accused of ignoring what it does not take."""
    text = " ".join((way.body, *given.values()))
    return [parameter.name for parameter in CONTRACTS[candidate.contract].parameters if not re.search(rf"\b{parameter.name}\b", text)]


def _making(candidate: Candidate) -> list[str]:
    """Nothing is known of how a method's instance is made; it is made without arguments where that works."""
    return [] if candidate.owner is None else [one.name for one in candidate.owner.parameters[: candidate.owner.making] if one.needed]


def _bound(candidate: Candidate, way: Way) -> Binding | None:
    symbol, given = candidate.symbol, _given(candidate, way)
    if missing(candidate) or list(_lacking(candidate, given)) or _dropped(candidate, way, given):
        return None
    making = symbol.making if symbol.form == "callable" else 0
    made, taken = symbol.parameters[:making], symbol.parameters[making:]
    name = _reached(symbol, _arguments(made, given))
    return Binding(candidate, way, f"{name}({_arguments(taken, given)})", name == "{}" and _is_plain(candidate, way, taken, given))


def _reached(symbol: Symbol, made: str) -> str:
    """The expression of the function itself, {} being the outermost of its names; an instance is made with the arguments `made`."""
    if symbol.form == "callable":
        return f"{{}}{symbol.name[len(symbol.name.partition('.')[0]) :]}({made})"
    owner, dot, last = symbol.name.rpartition(".")
    return "{}" + "".join(f".{part}" for part in owner.split(".")[1:]) + ("()" if symbol.bound else "") + (f".{last}" if dot else "")


def _is_plain(candidate: Candidate, way: Way, taken: tuple[Parameter, ...], given: Mapping[str, str]) -> bool:
    names = [parameter.name for parameter in CONTRACTS[candidate.contract].parameters]
    placed = [given.get(one.name) for one in taken if not one.keyword][: len(names)]
    return way.body == "return {}" and placed == names and not any(one.needed for one in taken[len(names) :])


def _given(candidate: Candidate, way: Way) -> dict[str, str]:
    """Parameter to its expression: the roles of the way, then what only has to be there."""
    found: dict[str, str] = {}
    for role, value in way.values.items():
        free = [one for one in candidate.symbol.parameters if one.name not in found and (plays(one.name, role) if role in ROLES else one.name == role)]
        best = sorted(free, key=lambda one: (not one.name.lower().lstrip("_").startswith(role[0]), not one.needed))
        if best:
            found[best[0].name] = value
    for one in candidate.symbol.parameters:
        filler = next((value for value, names in FILLERS.items() if re.fullmatch(names, one.name)), None)
        if one.needed and one.name not in found and filler is not None and ("draft" not in filler or "draft" in way.values):
            found[one.name] = filler
    return found


def _lacking(candidate: Candidate, given: Mapping[str, str]) -> Iterator[str]:
    return (one.name for one in candidate.symbol.parameters if one.needed and one.name not in given)


def _arguments(taken: tuple[Parameter, ...], given: Mapping[str, str]) -> str:
    return ", ".join(f"{one.name}={given[one.name]}" for one in taken if one.name in given)
