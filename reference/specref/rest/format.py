"""One shard of a datastore as a file: what it holds, how it is written, and what is refused.

    header      64 bytes, with its own checksum
    tokens      16 or 32 bits each, big-endian, so that bytes are ordered as tokens are; a separator, the vocabulary's size, ends each document
    suffixes    32 or 64 bits each, little-endian: where the suffixes that begin with a token start, in the order of the suffixes

The file is written aside, synced, and then given its name: a reader sees all of it or nothing.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

MAGIC = b"SPECREST"
VERSION = 1
_LAYOUT = struct.Struct("<8sIIIQQQQII")
HEADER_SIZE = 64
CHUNK = 1 << 24
"""Bytes that are checked or written at once."""


class BadStore(ValueError):
    """A file that is no shard, or not a whole one."""


@dataclass(frozen=True)
class Header:
    """What a shard says of itself.

    Attributes:
        width: bytes of a token, 2 or 4.
        suffix_width: bytes of a place, 4 or 8.
        vocabulary: V; tokens are 0 … V - 1, and V is the separator.
        tokens: how many there are, separators included.
        suffixes: how many there are: tokens without separators.
        documents: how many there are.
        text_checksum: CRC-32 of the tokens.
        suffix_checksum: CRC-32 of the suffixes.
    """

    width: int
    suffix_width: int
    vocabulary: int
    tokens: int
    suffixes: int
    documents: int
    text_checksum: int
    suffix_checksum: int

    @property
    def text_size(self) -> int:
        """Bytes of the tokens, filled up to a multiple of 8."""
        return -(-self.tokens * self.width // 8) * 8

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return HEADER_SIZE + self.text_size + self.suffixes * self.suffix_width

    def packed(self) -> bytes:
        """The header as it stands in the file."""
        body = _LAYOUT.pack(MAGIC, VERSION, *astuple(self))
        return body + struct.pack("<I", zlib.crc32(body)) + b"\0" * (HEADER_SIZE - len(body) - 4)


def token_width(vocabulary: int) -> int:
    """Bytes that hold 0 … V, the separator included."""
    if vocabulary < 1 or vocabulary >= 1 << 32:
        raise ValueError(f"a vocabulary must have 1 to {(1 << 32) - 1:,} tokens, not {vocabulary:,}")
    return 2 if vocabulary < 1 << 16 else 4


def read_header(path: Path, start: bytes, size: int) -> Header:
    """The header of a file that begins so and has that size.

    Raises:
        BadStore: not a shard, another version, a damaged header, a file cut short or too long.
    """
    if len(start) < HEADER_SIZE or not start.startswith(MAGIC):
        raise BadStore(f"{path} is no shard of a datastore: it does not begin with {MAGIC.decode()}")
    version = struct.unpack_from("<I", start, len(MAGIC))[0]
    if version != VERSION:
        raise BadStore(f"{path} has version {version} of the format, and this program reads version {VERSION}; build it again")
    body = start[: _LAYOUT.size]
    if start[_LAYOUT.size : HEADER_SIZE] != struct.pack("<I", zlib.crc32(body)).ljust(HEADER_SIZE - _LAYOUT.size, b"\0"):
        raise BadStore(f"{path} is damaged: its header does not fit its checksum")
    header = Header(*_LAYOUT.unpack(body)[2:])
    if size != header.size:
        raise BadStore(f"{path} has {size:,} bytes and should have {header.size:,}: it was cut short or changed")
    return header


def write_shard(path: Path, vocabulary: int, text: np.ndarray, suffixes: np.ndarray, documents: int) -> None:
    """Write a shard under a name that nothing has.

    Args:
        path: of the file; it must not exist.
        vocabulary: V.
        text: tokens with separators, big-endian.
        suffixes: places in their order.
        documents: how many.

    Raises:
        FileExistsError: the name is taken.
    """
    body, places = text.tobytes(), suffixes.tobytes()
    header = Header(text.itemsize, suffixes.itemsize, vocabulary, len(text), len(suffixes), documents, checksum(body), checksum(places))
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("xb") as file:
            file.writelines((header.packed(), *_pieces(body), b"\0" * (header.text_size - len(body)), *_pieces(places)))
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)  # unlike a rename it takes nobody's place
    finally:
        aside.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _pieces(data: bytes | memoryview) -> Iterable[memoryview]:
    return (memoryview(data)[i : i + CHUNK] for i in range(0, len(data), CHUNK))


def checksum(data: bytes | memoryview) -> int:
    """CRC-32."""
    found = 0
    for piece in _pieces(data):
        found = zlib.crc32(piece, found)
    return found
