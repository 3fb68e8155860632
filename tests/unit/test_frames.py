"""Frames: what is written comes back; what is no frame is told."""

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specverify.contracts import Family, array
from specverify.subjects.frames import LARGEST, BrokenPipe, read_frame, write_frame

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text()
    | st.builds(lambda v: array("float32", (len(v),), v), st.lists(st.floats(width=32, allow_nan=False), max_size=4)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda key: not key.startswith("$")), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(VALUES, min_size=1, max_size=3))
def test_messages_come_back(messages: list[object]) -> None:
    stream = io.BytesIO()
    for message in messages:
        write_frame(stream, message)
    stream.seek(0)
    assert [read_frame(stream) for _ in messages] == messages


def test_a_family_stays_a_description() -> None:
    stream = io.BytesIO()
    write_frame(stream, {"p": Family("zipf", 1, "float32", (3, 32_000))})
    assert stream.tell() < 100
    stream.seek(0)
    assert read_frame(stream) == {"p": Family("zipf", 1, "float32", (3, 32_000))}


@pytest.mark.parametrize("junk", [b"", b"\1\0", struct.pack("<II", 5, 0) + b"ab", struct.pack("<II", 2, 0) + b"{]", struct.pack("<II", LARGEST + 1, 0)])
def test_what_is_no_frame_is_told(junk: bytes) -> None:
    with pytest.raises(BrokenPipe):
        read_frame(io.BytesIO(junk))
