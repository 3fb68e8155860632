"""Published packages that draft from a corpus, on the documents and queries of `benchmarks.rest`, each in a process of its own, which it may abort.

They are called as their READMEs say. draftretriever 0.1.1 drafts from tri-grams, at most 4 tokens ahead; it gets whole contexts, since a query of one token aborts the
process, which a line of its own shows. It counts every context that it is asked, and contexts of one file overlap, so one reader is timed and a fresh one for each context says
what is drafted. suffix-gpu 0.1.3, on the CPU, drafts one chain, from the corpus and the context itself; it keeps its corpus in memory alone, and
has its defaults but for a memory that holds the corpus, as many tokens ahead as the others are asked for, and suffixes no longer than REST's.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

LIMIT = 600
"""Seconds for one package and size."""


def ask(python: str, name: str, given: dict[str, Any]) -> dict[str, Any] | str:
    """What a package answers, or why it does not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "given.json").write_text(json.dumps(given))
        try:
            done = subprocess.run([python, __file__, name, folder], capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"not done in {LIMIT} s"
    if done.returncode:
        return f"exit {done.returncode}: {_reason(done.stderr)}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _reason(stderr: str) -> str:
    """The line that says why: Rust's follows the place of a panic, Python's is the last."""
    lines = stderr.strip().splitlines() or ["nothing said"]
    return next((after for line, after in pairwise(lines) if "panicked at" in line), lines[-1])


def draftretriever(given: dict[str, Any], folder: str) -> dict[str, Any]:
    """Build, open, and search with at most as many drafts as the tree may have nodes."""
    package, index = importlib.import_module("draftretriever"), f"{folder}/index"

    def build() -> None:
        writer = package.Writer(file_path=index, vocab_size=given["vocabulary"])
        for row in given["documents"]:
            writer.add_entry(row)
        writer.finalize()

    def open_index() -> Any:
        return package.Reader(index_file_path=index)

    _, built = _timed(build)
    reader, opened = _timed(open_index)
    times = [_timed(lambda context=context: reader.search(context, choices=given["count"]))[1] for context in given["contexts"]]
    found = [open_index().search(context, choices=given["count"])[0] for context in given["contexts"]]
    paths = [[[token for token in row if token >= 0] for row in rows] for rows in found]
    return {"built": built, "opened": opened, "times": times, "paths": paths}


def suffix_gpu(given: dict[str, Any], _: str) -> dict[str, Any]:
    """Fill its global memory, and propose a chain for one context at a time."""
    torch, package = importlib.import_module("torch"), importlib.import_module("suffix_gpu")
    torch.set_num_threads(1)
    rows = [torch.tensor(row, dtype=torch.int32) for row in given["documents"]]
    held = sum(len(row) + 1 for row in rows)
    drafter = package.SuffixGPUDrafter(k=given["ahead"], device="cpu", max_pattern_len=given["n_max"], enable_global=True, global_capacity=held)

    def build() -> None:
        drafter.harvest_rows(rows, [len(row) for row in rows])
        drafter.poll()

    _, built = _timed(build)
    paths, times = [], []
    for context in given["contexts"]:
        length, text = torch.tensor([len(context)], dtype=torch.int32), torch.tensor([context + [0] * given["ahead"]], dtype=torch.int32)
        (draft, valid), took = _timed(lambda length=length, text=text: drafter.propose(length, text))
        paths.append([draft[0, : int(valid[0])].tolist()])
        times.append(took)
    return {"built": built, "opened": None, "times": times, "paths": paths}


def one_token(given: dict[str, Any], folder: str) -> dict[str, Any]:
    """The smallest query that aborts draftretriever: one token, whatever the corpus."""
    return draftretriever({**given, "documents": [[1, 2, 3]], "contexts": [[1]]}, folder)


PEERS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {"draftretriever": draftretriever, "suffix-gpu": suffix_gpu, "one-token": one_token}


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return function(), time.perf_counter() - start


if __name__ == "__main__":
    name, folder = sys.argv[1:]
    print(json.dumps(PEERS[name](json.loads(Path(folder, "given.json").read_text()), folder)))
