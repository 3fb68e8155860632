"""The event stream: its schema holds, its lines come back, a torn last line is left out."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from specverify.audit import __main__ as shipped
from specverify.audit import records
from specverify.audit.cases import arguments
from specverify.audit.events import EVENTS, read_events, shard_records, write_events
from specverify.audit.records import Argument, CaseRecord, Finding, Footer, Header, Line, PropertyRecord, Statistics, SubjectRecord
from specverify.contracts import Family, array

HEADER = Header(1, "0.1.0", "1", "run", ("./x",), "key", 1e-6, 20_000, 3, (), "2026-01-01T00:00:00+00:00", "3.11", "here")
SUBJECT = SubjectRecord("max_fn", "./x", "positive_part", "lossless", None, "x.py", 3, {"python": "3.11"})
FINDING = Finding(
    "ab12", "max_fn", "positive_part", "POS-002", "A sentence.", "a source", "finding", "It is <wrong>.",
    arguments({"x": array("float32", (2,), (0.5, float("nan"))), "p": Family("zipf", 1, "float32", (9,)), "path": [1]}),
    (Line("x = 1/2", "1", "1/2"),), "statistical", True, Statistics(100, 22.5, 1e7, float("inf"), 1, 0.0, 0),
)  # fmt: skip
ROW = PropertyRecord("max_fn", "positive_part", "POS-002", "A sentence.", "position", "failed", "pointwise", "ab12", 3, 3, 0.1)
ALL = [HEADER, SUBJECT, CaseRecord("max_fn", "POS-002", "dd", "violated", FINDING.statistics), FINDING, ROW, Footer(True, 1, 0.5)]


def test_the_shipped_schema_is_the_records() -> None:
    assert shipped.TARGET.read_bytes() == shipped.text(), "run python -m specverify.audit"


def test_every_kind_of_record_meets_the_shipped_schema() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(shipped.TARGET.read_text()))
    for record in ALL:
        validator.validate(json.loads(records.encode(record)))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"kind": "finding"})


def test_lines_come_back_but_for_infinities_which_json_has_not() -> None:
    lines = [records.encode(record) for record in ALL if record is not FINDING and not isinstance(record, CaseRecord)]
    assert records.read(lines) == [HEADER, SUBJECT, ROW, ALL[-1]]


def test_an_argument_carries_its_bits() -> None:
    shown = {argument.name: argument for argument in FINDING.case}
    assert shown["x"] == Argument("x", "(1/2, nan)", {"dtype": "float32", "shape": (2,), "data": "AAAAPwAAwH8="})
    assert shown["p"].shown == "zipf rows (seed 1), float32 of shape (9,)"
    assert shown["path"].data == [1]


def test_a_torn_last_line_is_left_out_and_a_torn_inner_line_is_told() -> None:
    whole = records.encode(ROW)
    assert records.read([whole, whole[:20]]) == [ROW]
    with pytest.raises(msgspec.DecodeError):
        records.read([whole[:20], whole])


def test_shards_merge_in_the_order_of_subjects_and_properties(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    other = msgspec.structs.replace(ROW, subject="another")
    (tmp_path / "shards" / "gw0.jsonl").write_bytes(records.encode(other) + b"\n" + records.encode(ROW)[:9])
    (tmp_path / "shards" / "gw1.jsonl").write_bytes(records.encode(ROW) + b"\n")
    subjects = [SUBJECT, SubjectRecord("another", "./x", "positive_part", "lossless")]
    write_events(tmp_path, HEADER, subjects, shard_records(tmp_path), Footer(True, 1, 0.1))
    assert read_events(tmp_path) == [HEADER, *subjects, ROW, other, Footer(True, 1, 0.1)]
    assert [path.name for path in tmp_path.iterdir()] == [EVENTS]
