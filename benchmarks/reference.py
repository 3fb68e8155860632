"""`python -m benchmarks.reference`: batched verification beside the cost of drawing its uniforms and reading its rows once, and beside transformers' function."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from specref.rules import Block, DeterministicDraft, Greedy, SampleAndMatch, Standard, VerificationRule
from specref.verification import verify

GAMMA = 4
SIZES = ((32, 4096), (32, 65_536), (1_000, 512), (1_000, 2048), (32_000, 16), (32_000, 64))
"""Vocabulary and rows: 5 to 18 megabytes of probabilities, which a cache may hold, and 75, which it does not."""
BARS = {32: 6.0, 1_000: 3.0, 32_000: 3.0}
REPEATS = 15
LOOPED = 64
"""Rows that transformers' function, which takes one at a time, is called for."""


@dataclass(frozen=True)
class Rows:
    """Random rows of probabilities and drafts drawn from them."""

    p: Tensor
    q: Tensor
    draft: Tensor


def rows(vocabulary: int, batch: int, device: str) -> Rows:
    """Rows that are somewhat alike, as those of a target and its draft are."""
    generator = torch.Generator(device).manual_seed(1)
    logits = torch.randn((batch, GAMMA + 1, vocabulary), generator=generator, device=device) * 3
    other = logits[:, :GAMMA] + torch.randn((batch, GAMMA, vocabulary), generator=generator, device=device)
    q = other.softmax(-1)
    draft = torch.multinomial(q.reshape(-1, vocabulary), 1, generator=generator).reshape(batch, GAMMA)
    return Rows(logits.softmax(-1), q, draft)


def seconds(function: Callable[[], object], device: str) -> float:
    """The median of some calls."""
    function()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def table(device: str) -> None:
    """One line per vocabulary and rule."""
    rules: list[VerificationRule] = [Standard(), Block(), DeterministicDraft(), SampleAndMatch(), Greedy()]
    print(f"gamma {GAMMA}, {torch.get_num_threads()} thread, {device}; base: draw the uniforms, read p and q once")
    print(f"{'V':>7} {'rows':>6} {'rule':<20} {'base ms':>9} {'verify ms':>10} {'/ base':>7} {'bar':>5} {'validation ms':>14} {'M rows/s':>9}")
    for vocabulary, batch in SIZES:
        given, generator = rows(vocabulary, batch, device), torch.Generator(device).manual_seed(2)

        def base(given: Rows = given, batch: int = batch, generator: torch.Generator = generator) -> None:
            torch.rand((batch, GAMMA + 1), dtype=torch.float64, device=device, generator=generator)
            given.p.sum(), given.q.sum()

        floor = seconds(base, device)
        for rule in rules if (vocabulary, batch) in SIZES[::2] else rules[:1]:
            call = lambda check=False, rule=rule, given=given, generator=generator: verify(rule, given.p, given.q, given.draft, generator, check=check)  # noqa: E731
            took, checked = seconds(call, device), seconds(lambda call=call: call(check=True), device)
            bar = f"{BARS[vocabulary]:.0f}x" if isinstance(rule, Standard) else ""
            name, rate = type(rule).__name__, batch / took / 1e6
            print(
                f"{vocabulary:>7} {batch:>6} {name:<20} {1e3 * floor:>9.3f} {1e3 * took:>10.3f} {took / floor:>7.2f} {bar:>5} {1e3 * (checked - took):>14.3f} {rate:>9.3f}"
            )


def beside_transformers(device: str) -> None:
    """Rows per second of transformers' function, called for one row after the other, where it is installed."""
    try:
        from specverify.gallery.transformers import speculative_sampling
    except ImportError:
        print("transformers is not installed here: no comparison")
        return
    for vocabulary, batch in SIZES[::2]:
        given, generator = rows(vocabulary, LOOPED, device), torch.Generator(device).manual_seed(2)

        def loop(given: Rows = given) -> None:
            for p, q, draft in zip(given.p, given.q, given.draft, strict=True):
                speculative_sampling(p, q, draft)

        many = rows(vocabulary, batch, device)
        theirs = seconds(loop, device) / LOOPED
        ours = seconds(lambda many=many, generator=generator: verify(Standard(), many.p, many.q, many.draft, generator, check=False), device) / batch
        print(
            f"{vocabulary:>7} transformers' function in a loop: {1e6 * theirs:.1f} us a row, here {1e6 * ours:.2f} us in a batch: {theirs / ours:.1f} times as fast"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    torch.set_num_threads(1)
    table(device)
    beside_transformers(device)


if __name__ == "__main__":
    main()
