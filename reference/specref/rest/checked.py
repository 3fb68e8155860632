"""Bytes of a file, each block held against its checksum when it is first read: what was changed is refused, and opening reads none of it."""

from __future__ import annotations

import zlib

import numpy as np

from specref.rest.format import BadStore


class Checked:
    """A part of a file in blocks. Bytes that change once they have been read here are not seen.

    Args:
        name: of the part, for messages.
        view: its bytes.
        checksums: CRC-32 of each block.
        block: bytes of a block, a power of two.
    """

    def __init__(self, name: str, view: memoryview, checksums: np.ndarray, block: int) -> None:
        self.view = view
        self._name, self._checksums, self._block = name, checksums, block
        self._fits = bytearray(len(self._checksums))
        self._array = np.frombuffer(self._fits, bool)

    def check(self, start: int, size: int) -> None:
        """Vouch for some bytes from a place on; those behind the part do not count.

        Raises:
            BadStore: one of their blocks was changed.
        """
        first, last = start // self._block, (min(start + size, len(self.view)) - 1) // self._block
        for block in range(first, last + 1):
            if not self._fits[block]:
                self._read(block)

    def check_each(self, places: np.ndarray) -> None:
        """Vouch for the bytes at these places, int64 of any shape.

        Raises:
            BadStore: one of their blocks was changed.
        """
        blocks = places // self._block
        fits = self._array[blocks]
        if not fits.all():
            for block in np.unique(blocks[~fits]).tolist():
                self._read(block)

    def _read(self, block: int) -> None:
        start = block * self._block
        if zlib.crc32(self.view[start : start + self._block]) != self._checksums[block]:
            raise BadStore(f"{self._name} is damaged: bytes {start:,} to {min(start + self._block, len(self.view)) - 1:,} of it do not fit their checksum")
        self._fits[block] = True
