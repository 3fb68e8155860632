"""What is known of a fault. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specverify.faults.smallest import smallest


@dataclass(frozen=True)
class Fault:
    """A known way to be wrong.

    Attributes:
        name: slug, as in `fault:NAME`.
        kind: of the taxonomy, such as RESIDUAL.
        contract: that its planted implementation fills.
        corpus: ids of the public bugs that it is modelled on, or of the page that names it.
        sentence: what it does wrong.
        found_by: the properties that must find it, one of them at least; the first is the one that names it best.
        grid: whether only boundary draws show it, so that it is audited with `--fail-on grid`.
        law: its name in `specverify.faults.laws`, or "" where it has none.
    """

    name: str
    kind: str
    contract: str
    corpus: tuple[str, ...]
    sentence: str
    found_by: tuple[str, ...]
    grid: bool = False
    law: str = ""

    @property
    def module(self) -> str:
        """Where it is planted."""
        return f"specverify.faults.planted_{self.contract}"

    @property
    def case(self) -> Mapping[str, Any] | None:
        """The first small table on which its law is off: argument to nested lists; none where no law of it is known."""
        return smallest().get(self.name)
