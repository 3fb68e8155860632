"""`python -m specprops` writes properties.json, which the tool reads as data without importing the suite."""

from __future__ import annotations

import importlib
from pathlib import Path

import msgspec

from specprops.suite import PROPERTIES
from specverify.contracts import CONTRACTS

TARGET = Path(__file__).with_name("properties.json")


def text() -> bytes:
    """The file's bytes, from the modules as they are."""
    for name in CONTRACTS:
        importlib.import_module(f"specprops.{name}")
    ordered = [row for name in CONTRACTS for row in PROPERTIES if row.contract == name]  # whatever module was imported first
    return msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n"


if __name__ == "__main__":
    TARGET.write_bytes(text())
