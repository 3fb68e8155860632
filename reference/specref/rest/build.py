"""Building a datastore in one pass over documents of any number: tokens go to a file aside, are sorted shard by shard, and get their names when they are whole."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from specref.rest.format import token_width, write_shard
from specref.rest.store import SUFFIX, Store
from specref.rest.suffixes import sorted_suffixes

SHARD_TOKENS = 1 << 28
"""Tokens of a shard; sorting it takes about 10 bytes for each."""
Progress = Callable[[str, int, int], None]
"""Told what is going on, and how many documents and tokens have been read."""


def build(
    path: str | Path, documents: Iterable[Sequence[int]], vocabulary: int, *, shard_tokens: int = SHARD_TOKENS, progress: Progress | None = None
) -> Store:
    """Make a datastore, or add shards to one; readers of the old shards are not disturbed.

    Args:
        path: of its folder, which is made.
        documents: rows of token ids; no continuation crosses from one into the next.
        vocabulary: V; an existing store must have the same.
        shard_tokens: tokens after which a new shard begins, between two documents.
        progress: told every now and then.

    Returns:
        The store, open.

    Raises:
        ValueError: a token outside of the vocabulary, with its document and column; no document with a token; another vocabulary than the store has.
            Nothing is written then but the shards that were full before.
    """
    folder, _ = Path(path), token_width(vocabulary)
    if any(folder.glob(f"*{SUFFIX}")):
        with Store(folder) as old:
            if old.vocabulary != vocabulary:
                raise ValueError(f"{folder} has a vocabulary of {old.vocabulary:,} tokens, not {vocabulary:,}")
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for part in _parts(documents, vocabulary, shard_tokens, progress or (lambda *_: None)):
        written += 1
        _finish(folder, part, vocabulary)
    if not written:
        raise ValueError("there is no document with a token in it")
    return Store(folder)


@dataclass
class _Part:
    """The tokens of one shard, on their way."""

    file: BinaryIO
    documents: int = 0
    tokens: int = 0


def _parts(documents: Iterable[Sequence[int]], vocabulary: int, limit: int, progress: Progress) -> Iterator[_Part]:
    """Documents written aside, in parts that are each to become a shard."""
    numbered = ((number, document) for number, document in enumerate(documents) if len(document))
    waiting = next(numbered, None)
    seen = tokens = 0
    while waiting is not None:
        with tempfile.TemporaryFile() as file:
            part = _Part(file)
            while waiting is not None and (not part.tokens or part.tokens + len(waiting[1]) < limit):
                _append(part, *waiting, vocabulary)
                seen, tokens = seen + 1, tokens + len(waiting[1])
                if seen % 1000 == 0:
                    progress("reading", seen, tokens)
                waiting = next(numbered, None)
            progress("sorting", seen, tokens)
            yield part
            progress("written", seen, tokens)


def _append(part: _Part, number: int, document: Sequence[int], vocabulary: int) -> None:
    row = np.asarray(document)
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise ValueError(f"document {number} must be one row of integer token ids")
    bad = np.flatnonzero((row < 0) | (row >= vocabulary))
    if len(bad):
        raise ValueError(f"document {number}, column {bad[0]}: token {row[bad[0]]} is outside 0 … {vocabulary - 1}")
    part.file.write(np.append(row, vocabulary).astype(f">u{token_width(vocabulary)}").tobytes())
    part.documents, part.tokens = part.documents + 1, part.tokens + len(row) + 1


def _finish(folder: Path, part: _Part, vocabulary: int) -> None:
    part.file.flush()
    text = np.memmap(part.file, dtype=f">u{token_width(vocabulary)}", mode="r", shape=(part.tokens,))
    suffixes = sorted_suffixes(text, vocabulary)
    taken = [int(file.stem) for file in folder.glob(f"*{SUFFIX}") if file.stem.isdigit()]
    number = max(taken, default=-1) + 1
    while True:
        try:
            return write_shard(folder / f"{number:06}{SUFFIX}", vocabulary, text, suffixes, part.documents)
        except FileExistsError:  # somebody else was faster
            number += 1


def documents_of(files: Iterable[str | Path], encode: Callable[[str], Sequence[int]], field: str = "text") -> Iterator[Sequence[int]]:
    """The token rows of text files, one document each, and of JSON lines (*.jsonl), one document a line.

    Args:
        files: their paths.
        encode: from a text to its token ids.
        field: of a line that holds the text.

    Raises:
        ValueError: a line that has no such text.
    """
    for file in map(Path, files):
        if file.suffix != ".jsonl":
            yield encode(file.read_text(encoding="utf-8"))
            continue
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield encode(_text(file, number, line, field))


def _text(file: Path, number: int, line: str, field: str) -> str:
    try:
        match json.loads(line):
            case {**fields} if isinstance(text := fields.get(field), str):
                return text
    except ValueError:
        pass
    raise ValueError(f"{file}, line {number}: no JSON object with a text {field!r}")
