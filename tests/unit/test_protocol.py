"""The worker speaks what docs/protocol.md says, by the schema beside it."""

import io
import json
import struct
from pathlib import Path

import jsonschema

from specverify.contracts import CONTRACTS
from specverify.subjects.frames import read_frame, write_frame
from specverify.subjects.serve import serve

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "protocol.schema.json").read_text())


def raw_messages(stream: bytes) -> list[object]:
    """The JSON of each frame, arrays as they stand in it."""
    messages = []
    while stream:
        text, body = struct.unpack("<II", stream[:8])
        messages.append(json.loads(stream[8 : 8 + text]))
        stream = stream[8 + text + body :]
    return messages


def test_every_kind_of_reply_meets_the_schema() -> None:
    requests, replies = io.BytesIO(), io.BytesIO()
    step = dict(CONTRACTS["verify_chain"].smoke)
    del step["draft"]
    asked = [
        {"do": "describe", "source": {"shown": "x", "module": "specverify.faults.planted_verify_chain"}},
        {"do": "call", "subject": "raises-on-rejection", "cases": [{"case": CONTRACTS["verify_chain"].smoke, "key": 5, "put": [1.0, 0], "watch": True}]},
        {"do": "sample", "subject": "raises-on-rejection", "case": step, "n": 50, "key": 1},
        {"do": "describe", "source": {"shown": "x", "module": "specverify.faults.planted_positive_part"}},
        {"do": "call", "subject": "max-as-normaliser", "cases": [{"case": CONTRACTS["positive_part"].smoke}]},
        {"do": "describe", "source": {"shown": "x", "module": "no_such_module"}},
        {"do": "dance"},
    ]
    for request in asked:
        write_frame(requests, request)
    requests.seek(0)
    serve(requests, replies)
    messages = raw_messages(replies.getvalue())
    assert len(messages) == len(asked) + 1
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for message in messages:
        validator.validate(message)
    assert messages[2]["replies"][0]["is"] == "raised"
    assert "$array" in messages[5]["replies"][0]["value"]
    assert [message["error"]["kind"] for message in messages[6:]] == ["load", "protocol"]
    replies.seek(0)
    assert read_frame(replies) == messages[0]
