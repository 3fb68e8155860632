"""One shard of a datastore as a file: what it holds, how it is written, and what is refused.

    header      64 bytes, with its own checksum
    tokens      16 or 32 bits each, big-endian, so that bytes are ordered as tokens are; a separator, the vocabulary's size, ends each document
    suffixes    32 or 64 bits each, little-endian: where the suffixes that begin with a token start, in the order of the suffixes
    checksums   CRC-32 of each block of the tokens, then of each block of the suffixes, 32 bits each, little-endian; the header has theirs

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
VERSION = 2
"""1 had one checksum for all tokens and one for all suffixes, which only reading everything could hold them against."""
_LAYOUT = struct.Struct("<8sIIIQQQQII")
HEADER_SIZE = 64
ALIGNED = 8
"""Bytes; where a part begins."""
CHECKSUM = np.dtype("<u4")
CHUNK = 1 << 24
"""Bytes that are written at once."""
BLOCK = 1 << 16
"""Bytes under one checksum: held against it in 15 us, which the first search at 10 M tokens does 8 to 19 times. Opening reads the checksums, a 16,384th of the file."""


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
        block: bytes under one checksum.
        checksum: CRC-32 of the checksums.
    """

    width: int
    suffix_width: int
    vocabulary: int
    tokens: int
    suffixes: int
    documents: int
    block: int
    checksum: int

    @property
    def text_size(self) -> int:
        """Bytes of the tokens, filled up to a multiple of 8 with zeros."""
        return -(-self.tokens * self.width // ALIGNED) * ALIGNED

    @property
    def suffix_size(self) -> int:
        """Bytes of the suffixes."""
        return self.suffixes * self.suffix_width

    @property
    def body_size(self) -> int:
        """Bytes of both."""
        return self.text_size + self.suffix_size

    @property
    def text_blocks(self) -> int:
        """Blocks of the tokens."""
        return -(-self.text_size // self.block)

    @property
    def blocks(self) -> int:
        """All blocks."""
        return self.text_blocks - (-self.suffix_size // self.block)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return HEADER_SIZE + self.body_size + CHECKSUM.itemsize * self.blocks

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
    body, places = _filled(text.tobytes()), suffixes.tobytes()
    checks = checksums(body, BLOCK) + checksums(places, BLOCK)
    header = Header(text.itemsize, suffixes.itemsize, vocabulary, len(text), len(suffixes), documents, BLOCK, zlib.crc32(checks))
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("xb") as file:
            file.writelines((header.packed(), *_pieces(body, CHUNK), *_pieces(places, CHUNK), checks))
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


def _filled(body: bytes) -> bytes:
    """Zeros behind it, so that what follows is aligned."""
    return body + b"\0" * (-len(body) % ALIGNED)


def _pieces(data: bytes, size: int) -> Iterable[memoryview]:
    return (memoryview(data)[i : i + size] for i in range(0, len(data), size))


def checksums(data: bytes, block: int) -> bytes:
    """CRC-32 of each block, as they stand in the file."""
    return np.fromiter(map(zlib.crc32, _pieces(data, block)), CHECKSUM).tobytes()
