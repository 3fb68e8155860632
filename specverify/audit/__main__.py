"""`python -m specverify.audit` writes the shipped JSON Schemas: of the event stream, of finding files, of the configuration."""

from __future__ import annotations

from pathlib import Path

import msgspec

from specverify.audit import config, records
from specverify.audit.finding_files import FindingFile

FOLDER = Path(__file__).parent
TARGET = FOLDER / "events.schema.json"
SCHEMAS = {"events": records.schema, "finding": lambda: msgspec.json.schema(FindingFile), "config": config.schema}


def text(name: str = "events") -> bytes:
    """A schema file's bytes, from the records as they are."""
    return msgspec.json.format(msgspec.json.encode({"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[name]()}), indent=1) + b"\n"


if __name__ == "__main__":
    for schema in SCHEMAS:
        (FOLDER / f"{schema}.schema.json").write_bytes(text(schema))
