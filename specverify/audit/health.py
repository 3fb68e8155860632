"""Health notes: what observations of a subject show beside its laws. Weak evidence, told beside the verdict, and never a finding by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specverify.audit.records import Sign

if TYPE_CHECKING:
    from specverify.audit.records import PropertyRecord

BY_CHANCE = math.log(1e-9)
"""A healthy sign counts as missing where a correct subject would show none of it this seldom."""


@dataclass(frozen=True)
class Kind:
    """A kind of sign: whether a healthy subject shows it (now and then) or never does, and what to say of one that differs."""

    healthy: bool
    note: str


KINDS = {
    "acceptance": Kind(True, "it never accepts a draft token, like plain decoding: no step emits more than one token"),
    "rejection": Kind(True, "it never rejects a draft token"),
    "variety": Kind(True, "equal arguments always give it the same result: it draws no randomness, or sets its own seed"),
    "seed": Kind(True, "another seed never changes its result: it ignores its seed"),
    "unseeded": Kind(False, "with one seed its result still depends on the state of global generators: its seed does not decide alone"),
}
"""By name, as in `Sign.kind`. That one result takes now more, now fewer draws is none: a correct step may draw its replacement by rejection, or toss for its rule."""
IMPLIED = {"seed": "variety"}
"""What is said no more where the other was."""


def health(rows: Iterable[PropertyRecord]) -> tuple[str, ...]:
    """The notes on one subject, from what all its properties (and shards) saw."""
    signs: dict[str, list[Sign]] = {}
    for row in rows:
        for sign in row.signs:
            signs.setdefault(sign.kind, []).append(sign)
    ill = {kind: told for kind, told in ((kind, _told(kind, signs.get(kind, []))) for kind in KINDS) if told}
    return tuple(told for kind, told in ill.items() if IMPLIED.get(kind) not in ill)


def _told(kind: str, signs: list[Sign]) -> str:
    seen, log_chance = any(sign.seen for sign in signs), math.fsum(sign.log_chance for sign in signs)
    if not KINDS[kind].healthy:
        return KINDS[kind].note if seen else ""
    return "" if seen or log_chance > BY_CHANCE else f"{KINDS[kind].note} (by chance less often than 10^-9)"
