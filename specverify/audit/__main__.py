"""`python -m specverify.audit` writes the shipped JSON Schema of the event stream."""

from __future__ import annotations

from pathlib import Path

import msgspec

from specverify.audit.records import schema

TARGET = Path(__file__).with_name("events.schema.json")


def text() -> bytes:
    """The schema file's bytes, from the records as they are."""
    return msgspec.json.format(msgspec.json.encode({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema()}), indent=1) + b"\n"


if __name__ == "__main__":
    TARGET.write_bytes(text())
