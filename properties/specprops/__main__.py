"""`python -m specprops` writes properties.json, which the tool reads as data without importing the suite."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import msgspec

import specprops
from specprops.suite import PROPERTIES
from specverify.audit.suite import Property
from specverify.contracts import CONTRACTS

TARGET = Path(__file__).with_name("properties.json")


def text() -> bytes:
    """The file's bytes, from the modules as they are, all of which are imported."""
    for one in pkgutil.iter_modules(specprops.__path__, "specprops."):
        importlib.import_module(one.name)
    return msgspec.json.format(msgspec.json.encode(sorted(PROPERTIES, key=_place)), indent=1) + b"\n"


def _place(row: Property) -> tuple[int, bool, str]:
    """Contract by contract; the module of its name first, then others by theirs. Within a module they keep their order."""
    return list(CONTRACTS).index(row.contract), row.module != f"specprops.{row.contract}", row.module


if __name__ == "__main__":
    TARGET.write_bytes(text())
