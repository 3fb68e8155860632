"""A self-test as text and as one HTML file: the kill matrix, and the false alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specverify.report.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specverify.audit.selftest import Harmless, Kill, SelfTest

TEMPLATE = "selftest.html.j2"


def summary(done: SelfTest) -> str:
    """The result in a sentence or two."""
    keys = len({one.run_key for one in done.harmless})
    found = f"{len(done.kills) - len(done.missed)} of {len(done.kills)} planted faults found"
    right = f"{sum(one.judged for one in done.harmless)} judgements of {len({one.subject for one in done.harmless})} correct subjects under {keys} run key{'s' * (keys != 1)}"
    alarms = sum(len(one.accused) for one in done.harmless)
    return f"{found}; {right}, {alarms} false alarm{'s' * (alarms != 1)}; {done.seconds:.0f} s."


def text(done: SelfTest) -> Iterator[str]:
    """The tables, line by line."""
    if done.kills:
        yield f"{'planted fault':<38} {'kind':<11} {'evidence':<12} {'cases':>6} {'draws':>8} {'s':>6}  found by; likely fault"
    yield from map(_kill_line, done.kills)
    if done.harmless:
        yield f"\n{'correct subject':<34} {'contract':<27} {'run key':<14} {'judged':>6} {'draws':>8} {'s':>6}  accused by"
    yield from map(_harmless_line, done.harmless)
    yield f"\n{summary(done)}"


def _kill_line(kill: Kill) -> str:
    found = (
        " ".join(kill.found) if kill.hit else f"MISSED, should be found by {' or '.join(kill.wanted)}{'; found by ' * bool(kill.found)}{' '.join(kill.found)}"
    )
    named = f"; {' or '.join(kill.named)}" if kill.named else ""
    return f"{kill.fault:<38} {kill.kind:<11} {kill.evidence:<12} {kill.cases:>6,} {kill.draws:>8,} {kill.seconds:>6.1f}  {found}{named}"


def _harmless_line(one: Harmless) -> str:
    told = f"ACCUSED by {' '.join(one.accused)}" if one.accused else f"undecided: {' '.join(one.undecided)}" if one.undecided else "none"
    return f"{one.subject:<34} {one.contract:<27} {one.run_key:<14} {one.judged:>6} {one.draws:>8,} {one.seconds:>6.1f}  {told}"


def matrices(done: SelfTest) -> dict[str, tuple[list[str], list[Kill]]]:
    """By contract: the properties that find anything or should, and the faults."""
    found: dict[str, tuple[list[str], list[Kill]]] = {}
    for contract in dict.fromkeys(kill.contract for kill in done.kills):
        mine = [kill for kill in done.kills if kill.contract == contract]
        found[contract] = (sorted({name for kill in mine for name in (*kill.found, *kill.wanted)}), mine)
    return found


def html(done: SelfTest) -> str:
    """One file without scripts."""
    return template(TEMPLATE).render(done=done, summary=summary(done), matrices=matrices(done))
