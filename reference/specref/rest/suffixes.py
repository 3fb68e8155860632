"""The suffixes of a text of tokens, in order: a C library sorts bytes, and big-endian bytes are ordered as their tokens are."""

from __future__ import annotations

import numpy as np

RANKS = 1 << 16
"""Different tokens that fit into two bytes: the fewer bytes, the fewer suffixes to sort."""


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
    compact = _bytes(text)
    places = _byte_suffixes(compact)
    width = len(compact) // len(text)
    whole = places[places % width == 0] // width
    kind = np.uint32 if len(text) < 1 << 32 else np.uint64
    return np.asarray(whole[text[whole] != separator], kind)


def _byte_suffixes(text: np.ndarray) -> np.ndarray:
    from pydivsufsort import divsufsort

    return np.asarray(divsufsort(text))


def _bytes(text: np.ndarray) -> np.ndarray:
    """The text in as few bytes a token as keep their order: two where so many different tokens occur, three or four otherwise."""
    if text.itemsize == 2:  # noqa: PLR2004  bytes
        return np.array(np.frombuffer(text.tobytes(), np.uint8))
    occurs = np.flatnonzero(np.bincount(text))
    ranks = np.zeros(int(occurs[-1]) + 1, ">u4")
    ranks[occurs] = np.arange(len(occurs))
    width = 2 if len(occurs) <= RANKS else 3 if len(occurs) <= RANKS << 8 else 4
    return np.ascontiguousarray(ranks[text].view(np.uint8).reshape(-1, 4)[:, 4 - width :]).reshape(-1)
