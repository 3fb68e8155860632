"""Frames: a JSON message with raw array bytes behind it, length-prefixed. Both sides of the pipe use it; never pickle.

A frame is two little-endian uint32 (length of the JSON, length of the bytes), the JSON in UTF-8, the bytes. An array in the JSON is
{"$array": [dtype, shape, offset, length]} into the bytes; a described row is {"$family": [name, seed, dtype, shape]}.
"""

from __future__ import annotations

import json
import struct
from typing import BinaryIO

from specverify.contracts import Array, Family

HEAD = struct.Struct("<II")
LARGEST = 256 * 2**20
"""Bytes in one part of a frame. A step at V = 128,256 and gamma 8 in float64 takes 17 MB; more is a forged or broken frame."""


class BrokenPipe(Exception):
    """The stream ended inside or before a frame, or holds no frame."""


class Ended(BrokenPipe):
    """The stream ended inside or before a frame."""


def write_frame(stream: BinaryIO, message: object) -> None:
    """Write one message; Arrays and Families may stand anywhere in it."""
    blobs: list[bytes] = []
    text = json.dumps(_lower(message, blobs), separators=(",", ":")).encode()
    body = b"".join(blobs)
    stream.write(HEAD.pack(len(text), len(body)) + text + body)
    stream.flush()


def read_frame(stream: BinaryIO) -> object:
    """Read one message, or raise BrokenPipe."""
    text_length, body_length = HEAD.unpack(_exactly(stream, HEAD.size))
    if text_length > LARGEST or body_length > LARGEST:
        raise BrokenPipe(f"a frame of {text_length} + {body_length} bytes")
    text, body = _exactly(stream, text_length), _exactly(stream, body_length)
    try:
        return _raise(json.loads(text), body)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise BrokenPipe(f"a frame that is no message: {error}") from error


def _exactly(stream: BinaryIO, size: int) -> bytes:
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise Ended("the stream ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _lower(value: object, blobs: list[bytes]) -> object:
    match value:
        case Array(dtype, shape, data):
            offset = sum(map(len, blobs))
            blobs.append(data)
            return {"$array": [dtype, shape, offset, len(data)]}
        case Family(name, seed, dtype, shape):
            return {"$family": [name, seed, dtype, shape]}
        case dict():
            return {key: _lower(item, blobs) for key, item in value.items()}
        case list() | tuple():
            return [_lower(item, blobs) for item in value]
        case str() if not value.isascii():
            return value.encode("utf-8", "replace").decode()  # a lone surrogate is no text that records could hold
        case _:
            return value


def _raise(value: object, body: bytes) -> object:
    match value:
        case {"$array": [dtype, shape, offset, length]}:
            return Array(dtype, tuple(shape), body[offset : offset + length])
        case {"$family": [name, seed, dtype, shape]}:
            return Family(name, seed, dtype, tuple(shape))
        case dict():
            return {key: _raise(item, body) for key, item in value.items()}
        case list():
            return [_raise(item, body) for item in value]
        case _:
            return value
