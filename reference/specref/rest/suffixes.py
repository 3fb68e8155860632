"""The suffixes of a text of tokens, in order: a C library sorts bytes, and big-endian bytes are ordered as their tokens are."""

from __future__ import annotations

import numpy as np

RANKS = 1 << 16
"""Different tokens that fit into two bytes: half of the suffixes to sort."""


def sorted_suffixes(text: np.ndarray, separator: int) -> np.ndarray:
    """Where the suffixes that begin with a token start, in the order of the suffixes.

    Args:
        text: tokens with separators, big-endian, 16 or 32 bits.
        separator: ends each document.

    Returns:
        Places, uint32, or uint64 beyond 2^32 tokens.
    """
    if not len(text):
        return np.empty(0, np.uint32)
    compact = text if text.itemsize == 2 else _ranked(text)  # noqa: PLR2004  bytes
    places = _byte_suffixes(compact)
    whole = places[places % compact.itemsize == 0] // compact.itemsize
    kind = np.uint32 if len(text) < 1 << 32 else np.uint64
    return np.asarray(whole[text[whole] != separator], kind)


def _byte_suffixes(text: np.ndarray) -> np.ndarray:
    from pydivsufsort import divsufsort

    return np.asarray(divsufsort(np.frombuffer(bytearray(text.tobytes()), np.uint8)))


def _ranked(text: np.ndarray) -> np.ndarray:
    """The same text in 16 bits, each token by its rank among those that occur; as it is where they are too many."""
    different, ranks = np.unique(text, return_inverse=True)
    return ranks.astype(">u2") if len(different) <= RANKS else text
