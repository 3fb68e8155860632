"""The worker speaks what docs/protocol.md says, by the schema beside it."""

import io
import json
import struct
from pathlib import Path

import jsonschema

from specverify.contracts import CONTRACTS, array
from specverify.subjects.frames import read_frame, write_frame
from specverify.subjects.serve import serve

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "protocol.schema.json").read_text())

PAIR = array("float32", (2,), (0, 1))


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
        {"do": "law", "subject": "raises-on-rejection", "cases": [step], "spans": 1, "seconds": 10, "probe": 1},
        {"do": "law", "subject": "reseeds-itself", "cases": [step], "spans": 2, "seconds": 10, "probe": 1},
        {"do": "describe", "source": {"shown": "x", "module": "specverify.faults.planted_positive_part"}},
        {"do": "call", "subject": "max-as-normaliser", "cases": [{"case": CONTRACTS["positive_part"].smoke, "raw": True}]},
        {"do": "describe", "source": {"shown": "x", "module": "specverify.faults.planted_seeding"}},
        {"do": "call", "subject": "seed-ignored", "cases": [{"case": CONTRACTS["seeding"].smoke}]},
        {"do": "describe", "source": {"shown": "x", "module": "specverify.faults.planted_helper"}},
        {"do": "call", "subject": "overlap-of-p-alone", "cases": [{"case": {"p": PAIR, "q": PAIR}, "judge": True}]},
        {"do": "call", "subject": "sorted-along-the-wrong-axis", "cases": [{"case": {"rows": array("float32", (1, 3), (1, 0, 2))}, "judge": True}]},
        {"do": "call", "subject": "raises-on-nothing-drafted", "cases": [{"case": {"accepted": []}, "judge": True}]},
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
    assert messages[4]["laws"][0]["raised"]["ValueError"]["is"] == "raised"
    assert messages[5]["laws"][0]["is"] == "not exact"
    del messages[4:6]
    assert "$array" in messages[5]["replies"][0]["value"]
    assert [name for name, _ in messages[7]["replies"][0]["value"]][-2:] == ["numpy", "random"]
    assert messages[8]["subjects"][0]["domain"]["tokens"]["kind"] == "lists"
    assert messages[9]["replies"][0]["judged"]["oracle"] == {"is": "value", "value": [True, 1.0]}
    assert messages[10]["replies"][0]["judged"]["ensures"]["value"] == "[[1.0, 0.0, 2.0]] is not sorted, of [[1.0, 0.0, 2.0]]"
    assert messages[11]["replies"][0]["declared"] is False
    assert [message["error"]["kind"] for message in messages[12:]] == ["load", "protocol"]
    replies.seek(0)
    assert read_frame(replies) == messages[0]
