"""Plain values as Python text: what a stand-alone script is written with."""

from __future__ import annotations

import math

from specverify.contracts import Array, Opaque, expand

LONGEST = 20_000
"""Characters of a value that a script is written with; a case beyond is not for reading."""


def literal(value: object) -> str:
    """A value as the script's text: arrays as nested lists, numbers so that they come back bit by bit."""
    match expand(value):
        case Array() as array:
            return literal(array.nested())
        case Opaque() as name:
            return repr(str(name))
        case float() as number if not math.isfinite(number):
            return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[repr(number)]
        case list() as items:
            return f"[{', '.join(map(literal, items))}]"
        case tuple() as items:
            return f"({', '.join(map(literal, items))}{',' * (len(items) == 1)})"
        case dict() as items:
            return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in items.items())}}}"
        case other:
            return repr(other)
