"""A datastore of the repository, written and read by its own `draftretriever`."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import draftretriever as store

CHUNK = 512 * 1024 * 1024
"""Length of a part of the store, longer than all of it."""


@contextmanager
def reader(documents: Iterable[Sequence[int]], width: int) -> Iterator[Any]:
    """A store of these documents, in a file that is there as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "store.idx"))
        writer = store.Writer(path, CHUNK, width)
        for document in documents:
            writer.add_entry(list(document))
        writer.finalize()
        yield store.Reader(path)
