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
    modules = [importlib.import_module(f"specprops.{name}") for name in CONTRACTS]
    tests = [
        one for module in modules for one in vars(module).values() if hasattr(one, "specverify_property")
    ]  # in their order there, whatever was imported first
    ordered = [test.specverify_property for name in CONTRACTS for test in tests if test.specverify_property.contract == name]
    assert len(ordered) == len(PROPERTIES), "a property stands in no module of its contract"
    return msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n"


if __name__ == "__main__":
    TARGET.write_bytes(text())
