"""How well a symbol of a checkout fits a contract, in points, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from specverify.contracts import CONTRACTS
from specverify.discover.profiles import PIECES, ROWS, Profile
from specverify.discover.profiles_of_steps import LOOPS, STEPS
from specverify.discover.roles import fill, plays
from specverify.discover.symbols import Symbol

NAMED, HINTED = 5.0, 2.0
"""A name that hardly means anything else is as much as all parameters together; a hint is less than half of that."""
NEEDED, FURTHER = 2.0, 1.0
EACH_OPERATOR, MOST_OPERATORS = 1.0, 3.0
EACH_WORD = 1.0
ENOUGH = 5.0
"""Points of a candidate: a telling name alone, or a hint, its parameters and one sign more."""
UNNAMED = 6.0
"""Where the name says nothing."""
EXCUSED = 1.0
"""Taken off where a telling name takes an object in the place of the parameters: one sign more is wanted."""
BEHIND = 1.0
"""A second contract is worth trying where it is at most this far behind the best."""
UNPROFILED = {"helper"}
"""Any function fills it."""


@dataclass(frozen=True)
class Candidate:
    """A symbol and a contract that it may fill: points, and why; of a member of a class also that class."""

    symbol: Symbol
    contract: str
    score: float
    reasons: tuple[str, ...]
    owner: Symbol | None = None


def candidates(found: Iterable[Symbol], behind: float = 0.0) -> list[Candidate]:
    """The best contract of each symbol that has one, heaviest first; with `behind`, the others that are at most so many points behind it too."""
    kept: list[Candidate] = []
    found = list(found)
    known = {(symbol.file, symbol.name): symbol for symbol in found}
    for symbol in found:
        ranked = sorted(_judged(symbol, known.get((symbol.file, symbol.name.rpartition(".")[0]))), key=lambda one: -one.score)
        kept += ranked[:1] + [one for one in ranked[1:] if one.score >= ranked[0].score - behind and behind > 0]
    return sorted(_without_parts(kept), key=lambda one: (-one.score, one.symbol.file, one.symbol.line))


def _without_parts(kept: list[Candidate]) -> list[Candidate]:
    """Without the members of a candidate that fill its own contract too, or are the operations by which it is known."""
    wholes: dict[tuple[str, str], list[str]] = {}
    for one in kept:
        wholes.setdefault((one.symbol.file, one.symbol.name), []).append(one.contract)
    return [one for one in kept if not any(_is_part(one, whole) for whole in wholes.get((one.symbol.file, one.symbol.name.rpartition(".")[0]), ()))]


def _is_part(one: Candidate, whole: str) -> bool:
    return one.contract == whole or any(re.fullmatch(group, _bare(one.symbol)) for group in profiles()[whole].methods)


def _judged(symbol: Symbol, owner: Symbol | None) -> Iterator[Candidate]:
    for contract, profile in profiles().items():
        score, reasons = points(symbol, profile)
        if score >= (ENOUGH if _named(symbol, profile) or _hinted(symbol, profile) else UNNAMED):
            yield Candidate(symbol, contract, score, tuple(reasons), owner)


@cache
def profiles() -> dict[str, Profile]:
    """Of every contract; made from the contract where there is none of its own."""
    told = {**PIECES, **ROWS, **STEPS, **LOOPS}
    return {name: told.get(name) or _of_a_contract(name) for name in CONTRACTS if name not in UNPROFILED}


def _of_a_contract(name: str) -> Profile:
    names = "|".join(word.lower() for word in (name, *CONTRACTS[name].equivalents) if word.isidentifier())
    return Profile(names, forms=("function", "method", "callable", "class"))


def points(symbol: Symbol, profile: Profile) -> tuple[float, list[str]]:
    """The sum over names, parameters, operations and docstring, 0 where something rules it out; and the reasons."""
    if symbol.form not in profile.forms or _ruled_out(symbol, profile) or not _has_methods(symbol, profile):
        return 0.0, []
    played = fill(symbol.names, (*profile.needed, *profile.roles))
    if not set(profile.needed) <= set(played) and symbol.form != "class" and not _excused(symbol, profile, played):
        return 0.0, []
    excused = set(profile.needed) - set(played) and symbol.form != "class"
    parts = [
        (-EXCUSED if excused else 0.0, "takes an object"),
        _of_the_name(symbol, profile),
        _of_parameters(symbol, profile, played),
        _of_operators(symbol, profile),
        _of_the_docstring(symbol, profile),
    ]
    return sum(score for score, _ in parts), [reason for score, reason in parts if score]


def _excused(symbol: Symbol, profile: Profile, played: dict[str, str]) -> bool:
    """A telling name that takes one object for everything, as `verify_chain(gen, current)` does; what takes some of it as it is lacks the rest."""
    return len(symbol.names) <= len(profile.needed) > 1 and _named(symbol, profile) and not set(profile.needed) & set(played)


def _ruled_out(symbol: Symbol, profile: Profile) -> bool:
    called = any(re.fullmatch(profile.never, name) for name in (_plain(symbol.name), _bare(symbol)))
    return called or any(re.fullmatch(profile.without, word) for word in (*(name.lower() for name in symbol.names), *symbol.operators))


def _has_methods(symbol: Symbol, profile: Profile) -> bool:
    if symbol.form not in ("class", "callable") or not profile.methods:
        return True
    return all(any(re.fullmatch(group, name.lower()) for name in symbol.methods) for group in profile.methods)


def _bare(symbol: Symbol) -> str:
    return symbol.name.rpartition(".")[2].lower().strip("_")


def _plain(name: str) -> str:
    return ".".join(part.strip("_") for part in name.lower().split("."))


def _named(symbol: Symbol, profile: Profile) -> bool:
    return any(re.fullmatch(profile.names, name) for name in (_bare(symbol), _plain(symbol.name)))


def _hinted(symbol: Symbol, profile: Profile) -> bool:
    return re.search(profile.hints, _plain(symbol.name)) is not None


def _of_the_name(symbol: Symbol, profile: Profile) -> tuple[float, str]:
    if _named(symbol, profile):
        return NAMED, f"name {symbol.name}"
    return (HINTED, f"name like {symbol.name}") if _hinted(symbol, profile) else (0.0, "")


def _of_parameters(symbol: Symbol, profile: Profile, played: dict[str, str]) -> tuple[float, str]:
    needed = NEEDED if profile.needed and set(profile.needed) <= set(played) else 0.0
    score = needed + FURTHER * len(set(profile.roles) & set(played))
    return score, f"parameters {', '.join(dict.fromkeys(name for name in symbol.names if any(name == one for one in played.values())))}"


def _of_operators(symbol: Symbol, profile: Profile) -> tuple[float, str]:
    seen = [word for word in profile.operators if word in symbol.operators]
    return min(EACH_OPERATOR * len(seen), MOST_OPERATORS), f"uses {', '.join(seen)}"


def _of_the_docstring(symbol: Symbol, profile: Profile) -> tuple[float, str]:
    found = [match.group() for match in (re.search(pattern, symbol.doc.lower(), re.DOTALL) for pattern in profile.doc) if match]
    return EACH_WORD * len(found), f"docstring says {', '.join(repr(_short(word)) for word in found)}"


def _short(text: str, limit: int = 30) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit] + "…"


__all__ = ["BEHIND", "Candidate", "candidates", "plays", "points", "profiles"]
