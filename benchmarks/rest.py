"""`python -m benchmarks.rest`: REST's datastore on real text, Python's own standard library: build, open, search, draft, by size; and a corpus of one repeated token.

Queries are contexts from held-out files. `--peer PYTHON` names an interpreter that has `draftretriever`, whose tri-gram drafter then answers the same queries in
a process of its own, which it may abort.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sysconfig
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from specref.rest import Rest, Store, build

PIECE = re.compile(r"\w+| +|\n+|[^\w\s]")
HELD_OUT = 20
"""Every so many a file is left out of the store, and asked for."""
VOCABULARY = 49_152
"""As many as a tokenizer of today has; the last line of the table has a token for every word."""
QUERIES, CONTEXT, AHEAD = 1000, 40, 10


def texts() -> Iterator[str]:
    """The standard library's files, then those of installed packages, each once."""
    seen = set()
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for file in sorted(Path(folder).rglob("*.py")):
            if folder == sysconfig.get_path("stdlib") and "site-packages" in file.parts:
                continue
            text = file.read_text(encoding="utf-8", errors="ignore")
            if text and hash(text) not in seen:
                seen.add(hash(text))
                yield text


def corpus(tokens: int, most: int) -> tuple[list[list[int]], list[list[int]], int]:
    """Documents of so many tokens, held-out ones, and the vocabulary: words, blanks and signs, numbered as they come; those beyond `most` share numbers."""
    ids: dict[str, int] = {}
    kept: list[list[int]] = []
    held: list[list[int]] = []
    count = 0
    for number, text in enumerate(texts()):
        row = [ids.setdefault(piece, len(ids) if len(ids) < most else zlib.crc32(piece.encode()) % most) for piece in PIECE.findall(text)]
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


def one_size(tokens: int, most: int) -> None:
    """A line of the table."""
    kept, held, vocabulary = corpus(tokens, most)
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
        searched = [seconds(lambda context=context: store.longest(context)) for context, _ in asked]
        found = [timed(rest, context) for context, _ in asked]
        whole = [took for _, took in found]
        right = [accepted(paths, after) for (paths, _), (_, after) in zip(found, asked, strict=True)]
        told = f"{store.tokens:>11,} {vocabulary:>8,} {store.tokens / built / 1e6:>9.2f} {1e3 * opened:>8.2f} {1e6 * np.median(searched):>10.0f}"
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


PEER = """
import json, sys, time
import draftretriever
given = json.load(open(sys.argv[1]))
start = time.perf_counter()
writer = draftretriever.Writer(file_path=sys.argv[2], vocab_size=given["vocabulary"])
for row in given["documents"]: writer.add_entry(row)
writer.finalize()
built = time.perf_counter() - start
start = time.perf_counter()
reader = draftretriever.Reader(index_file_path=sys.argv[2])
opened = time.perf_counter() - start
times, right = [], []
for context, after in given["queries"]:
    start = time.perf_counter()
    paths = set()
    for n in range(16, 0, -1):
        found = reader.search(context[-n:], choices=64)
        rows = found[0] if found else []
        if rows:
            paths = {tuple(int(t) for t in row if t >= 0)[:k] for row in rows for k in range(1, len(row) + 1)}
            break
    times.append(time.perf_counter() - start)
    right.append(next((n for n in range(len(after)) if tuple(after[: n + 1]) not in paths), len(after)))
print(json.dumps({"built": built, "opened": opened, "times": times, "right": right}))
"""


def peer(python: str, tokens: int) -> None:
    """Draftretriever's answers to the same queries."""
    kept, held, vocabulary = corpus(tokens, VOCABULARY)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "given.json")
        file.write_text(json.dumps({"documents": kept, "queries": queries(held), "vocabulary": vocabulary}))
        done = subprocess.run([python, "-c", PEER, str(file), str(Path(folder, "index"))], capture_output=True, text=True, timeout=600)
    if done.returncode:
        print(f"draftretriever at {tokens:,} tokens: exit {done.returncode}, {done.stderr.strip().splitlines()[-1:]}")
        return
    told = json.loads(done.stdout)
    times, right = np.array(told["times"]), np.array(told["right"])
    built = f"{sum(map(len, kept)) / told['built'] / 1e6:.2f} M tokens/s, open {1e3 * told['opened']:.2f} ms"
    print(
        f"draftretriever at {tokens:,} tokens: build {built}, query median {1e3 * np.median(times):.2f} ms, right {np.mean(right > 0):.0%}, mean {right.mean() + 1:.2f}"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--peer", help="interpreter that has draftretriever")
    given = parser.parse_args()
    head = f"{'tokens':>11} {'V':>8} {'build M/s':>9} {'open ms':>8} {'search us':>10} {'all ms':>9} {'99 % ms':>8} {'max ms':>8} {'right':>7} {'M':>6}"
    print(
        f"n_max 16, m 10, c 64; {QUERIES} contexts of held-out files; right: the next token is drafted; M: tokens per call of a target that says the text\n{head}"
    )
    for size in given.sizes:
        one_size(int(size), VOCABULARY)
    one_size(int(max(given.sizes)), 1 << 20)
    repeated(int(max(given.sizes)))
    if given.peer:
        for size in given.sizes:
            peer(given.peer, int(size))


if __name__ == "__main__":
    main()
