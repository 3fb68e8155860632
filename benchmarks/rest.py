"""`python -m benchmarks.rest`: REST's datastore on real text, Python's own standard library: build, open, search, draft, by size; and a corpus of one repeated token.

Queries are contexts from held-out files. `--peer PYTHON` names an interpreter that has draftretriever or suffix-gpu, which then answer the same queries.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sysconfig
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rest_peers import ask
from specref.rest import Rest, Store, build

PIECE = re.compile(r"\w+| +|\n+|[^\w\s]")
SOURCES = ("*.py", "*.pyi", "*.h", "*.hpp", "*.cuh", "*.cpp", "*.c", "*.js", "*.md", "*.txt", "*.json")
"""Files that are read in more folders, kind after kind."""
HELD_OUT = 20
"""Every so many a file is left out of the store, and asked for."""
VOCABULARY = 49_152
"""As many as a tokenizer of today has; the last line of the table has a token for every word."""
BAR = 10_000_000
"""Tokens at which the project's bars stand; the vocabulary without a limit and the repeated token are measured there at most."""
QUERIES, CONTEXT, AHEAD = 1000, 40, 10


def texts(more: Sequence[Path] = ()) -> Iterator[str]:
    """The standard library's files, those of installed packages, and those of more folders, each once."""
    stdlib, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    files = (file for file in sorted(stdlib.rglob("*.py")) if "site-packages" not in file.parts)
    others = (file for folder in more for kind in SOURCES for file in sorted(folder.rglob(kind)))
    seen = set()
    for file in itertools.chain(files, sorted(packages.rglob("*.py")), others):
        text = file.read_text(encoding="utf-8", errors="ignore")
        if text and hash(text) not in seen:
            seen.add(hash(text))
            yield text


def corpus(tokens: int, most: int, more: Sequence[Path] = ()) -> tuple[list[list[int]], list[list[int]], int]:
    """Documents of so many tokens, held-out ones, and the vocabulary: words, blanks and signs, numbered as they come; those beyond `most` share numbers."""
    ids: dict[str, int] = {}
    kept: list[list[int]] = []
    held: list[list[int]] = []
    count = 0
    for number, text in enumerate(texts(more)):
        row = [ids.setdefault(piece, len(ids)) if len(ids) < most else ids.get(piece, zlib.crc32(piece.encode()) % most) for piece in PIECE.findall(text)]
        (held if number % HELD_OUT == 0 else kept).append(row)
        count += len(row) if number % HELD_OUT else 0
        if count >= tokens:
            break
    return kept, held, min(len(ids), most)


def queries(held: Sequence[Sequence[int]]) -> list[tuple[list[int], list[int]]]:
    """Contexts, and what comes after them."""
    rng = np.random.default_rng(1)
    long = [row for row in held if len(row) > CONTEXT + AHEAD]
    found = []
    for _ in range(QUERIES):
        row = long[int(rng.integers(len(long)))]
        at = int(rng.integers(CONTEXT, len(row) - AHEAD))
        found.append((list(row[at - CONTEXT : at]), list(row[at : at + AHEAD])))
    return found


def one_size(tokens: int, most: int, more: Sequence[Path] = ()) -> None:
    """A line of the table."""
    kept, held, vocabulary = corpus(tokens, most, more)
    asked = queries(held)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        store = build(folder, kept, vocabulary)
        built = time.perf_counter() - start
        store.close()
        start = time.perf_counter()
        store = Store(folder)
        opened = time.perf_counter() - start
        rest = Rest(store)
        first, searched = ([seconds(lambda context=context: store.longest(context)) for context, _ in asked] for _ in range(2))
        found = [timed(rest, context) for context, _ in asked]
        whole = [took for _, took in found]
        right = [accepted(paths, after) for (paths, _), (_, after) in zip(found, asked, strict=True)]
        told = f"{store.tokens:>11,} {vocabulary:>8,} {store.tokens / built / 1e6:>9.2f} {1e3 * opened:>8.2f} {1e6 * np.median(first):>9.0f} {1e6 * np.median(searched):>10.0f}"
        print(
            f"{told} {1e3 * np.median(whole):>9.2f} {1e3 * np.quantile(whole, 0.99):>8.2f} {1e3 * max(whole):>8.2f} {np.mean(np.array(right) > 0):>7.0%} {np.mean(right) + 1:>6.2f}"
        )
        store.close()


def seconds(function: object) -> float:
    """Of one call."""
    start = time.perf_counter()
    function()  # type: ignore[operator]
    return time.perf_counter() - start


def timed(rest: Rest, context: list[int]) -> tuple[set[tuple[int, ...]], float]:
    """The paths of one draft tree, and the time that it took, tree included."""
    start = time.perf_counter()
    found = rest.retrieve(context)
    _ = found.tree
    return {prefix.tokens for prefix in found.prefixes}, time.perf_counter() - start


def accepted(paths: set[tuple[int, ...]], after: Sequence[int]) -> int:
    """How many of the next tokens stand on one path: what a target that says just these would accept."""
    return next((n for n in range(len(after)) if tuple(after[: n + 1]) not in paths), len(after))


def repeated(tokens: int) -> None:
    """One token, again and again."""
    with tempfile.TemporaryDirectory() as folder, build(folder, [[7] * tokens], 32_000) as store:
        times = [timed(Rest(store), [7] * CONTEXT)[1] for _ in range(20)]
        print(f"one token {store.tokens:,} times: median {1e3 * np.median(times):.2f} ms, largest {1e3 * max(times):.2f} ms")


def compare(python: str, tokens: int) -> None:
    """A table of methods on the same documents and queries; times are of one draft for one context."""
    kept, held, vocabulary = corpus(tokens, VOCABULARY)
    asked = queries(held)
    given = {"documents": kept, "contexts": [context for context, _ in asked], "vocabulary": vocabulary, "count": 64, "ahead": AHEAD, "n_max": 16}
    after = [text for _, text in asked]
    print(f"\n{'method':<16} {'tokens':>11} {'build s':>8} {'open ms':>8} {'search us':>10} {'99 % us':>9} {'nodes':>6} {'right':>6} {'M':>6}")
    size = sum(map(len, kept))
    for count in (64, 10):
        _compared(f"REST, c {count}", size, drafted(kept, given["contexts"], vocabulary, count), after)
    for name in ("draftretriever", "suffix-gpu"):
        _compared(name, size, ask(python, name, given), after)


def _compared(name: str, tokens: int, told: dict[str, Any] | str, after: Sequence[Sequence[int]]) -> None:
    if isinstance(told, str):
        print(f"{name:<16} {tokens:>11,} {told}", flush=True)
        return
    paths = [{tuple(path[: n + 1]) for path in found for n in range(len(path))} for found in told["paths"]]
    right, times = np.array([accepted(*one) for one in zip(paths, after, strict=True)]), 1e6 * np.array(told["times"])
    opened = "no file" if told["opened"] is None else f"{1e3 * told['opened']:.2f}"
    shown = f"{name:<16} {tokens:>11,} {told['built']:>8.2f} {opened:>8} {np.median(times):>10.0f} {np.quantile(times, 0.99):>9.0f}"
    print(f"{shown} {np.mean([len(one) for one in paths]):>6.1f} {np.mean(right > 0):>6.0%} {right.mean() + 1:>6.2f}", flush=True)


def drafted(kept: Sequence[Sequence[int]], contexts: Sequence[list[int]], vocabulary: int, count: int) -> dict[str, Any]:
    """REST's answers, as a peer gives them."""
    with tempfile.TemporaryDirectory() as folder:
        built = seconds(lambda: build(folder, kept, vocabulary).close())
        opened = seconds(lambda: Store(folder).close())
        with Store(folder) as store:
            found = [timed(Rest(store, count=count), context) for context in contexts]
    return {"built": built, "opened": opened, "times": [took for _, took in found], "paths": [sorted(paths) for paths, _ in found]}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--peer", help="interpreter that has draftretriever, suffix-gpu or both")
    parser.add_argument("--peer-sizes", type=float, nargs="+", default=[1e5, 1e6], help="tokens; suffix-gpu builds for many minutes at 1e7")
    parser.add_argument("--more", type=Path, nargs="+", default=[], help="folders with more source files, such as other environments' site-packages")
    given = parser.parse_args()
    head = f"{'tokens':>11} {'V':>8} {'build M/s':>9} {'open ms':>8} {'first us':>9} {'search us':>10} {'all ms':>9} {'99 % ms':>8} {'max ms':>8} {'right':>7} {'M':>6}"
    print(
        f"n_max 16, m 10, c 64; {QUERIES} contexts of held-out files; right: the next token is drafted; M: tokens per call of a target that says the text\n"
        f"first: search in a store that was just opened, blocks of which are checked as they are read; search and all: after that\n{head}"
    )
    for size in given.sizes:
        one_size(int(size), VOCABULARY, given.more)
    largest = min(int(max(given.sizes)), BAR)
    one_size(largest, 1 << 20, given.more)
    repeated(largest)
    if given.peer:
        for size in given.peer_sizes:
            compare(given.peer, int(size))
        print(f"draftretriever, a query of one token: {ask(given.peer, 'one-token', {'vocabulary': 10, 'count': 8})}")


if __name__ == "__main__":
    main()
