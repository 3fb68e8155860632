"""Stand-in: the datastore, by brute force over documents."""

import json
from collections import Counter
from pathlib import Path

from standin import wrong


class Writer:
    """Documents into a file."""

    def __init__(self, index_file_path, max_chunk_len, vocab_size):
        self._path, self._documents = Path(index_file_path), []

    def add_entry(self, ids):
        self._documents.append(list(ids))

    def finalize(self):
        documents = self._documents if not wrong("documents-run-together") else [[i for one in self._documents for i in one]]
        self._path.write_text(json.dumps(documents))


class Reader:
    """What followed."""

    def __init__(self, index_file_path):
        self._documents = json.loads(Path(index_file_path).read_text())

    def search(self, tokens, k=5000, choices=64, long=10):
        """Padded paths, mask, tree indices, positions, rows of nodes: the root is node 0 of all but the paths."""
        ends = [(one, i) for one in self._documents for i in range(len(tokens), len(one)) if one[i - len(tokens) : i] == list(tokens)]
        paths = [tuple(one[i : i + long]) for one, i in ends[:k]]
        counts = Counter(path[:depth] for path in paths for depth in range(1, len(path) + 1))
        heavy = sorted(counts, key=lambda node: (-counts[node] if not wrong("first-met-instead-of-heaviest") else 0, len(node), node))[:choices]
        return buffers(heavy, -2)


def buffers(found, pad):
    """The tree of these paths."""
    nodes = sorted([(), *found], key=lambda node: (len(node), node))
    leaves = [node for node in found if not any(other[:-1] == node for other in found)]
    deepest = max(map(len, leaves), default=0)
    paths = [[*leaf, *[pad] * (deepest - len(leaf))] for leaf in leaves]
    mask = [[int(node[: len(other)] == other) for other in nodes] for node in nodes]
    if wrong("siblings-see-each-other"):
        mask = [[int(node[: len(other)] == other or (node[:-1] == other[:-1] and node > other)) for other in nodes] for node in nodes]
    rows = [[nodes.index(leaf[:depth]) for depth in range(len(leaf) + 1)] for leaf in leaves]
    fill = 0 if wrong("branches-filled-with-the-root") else -1
    rows = [[*row, *[fill] * (deepest + 1 - len(row))] for row in rows]
    if wrong("a-branch-missing") and len(rows) > 1:
        rows.pop()
    positions = [len(node) if not wrong("positions-are-slots") else slot for slot, node in enumerate(nodes)]
    return paths, mask, [node[-1] if node else None for node in nodes], positions, rows
