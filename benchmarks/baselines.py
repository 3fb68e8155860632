"""`python -m benchmarks.baselines`: draws and seconds to find each fault, by the criteria that projects publish and by the screen of `specverify.stats`.

The criteria are written from their description in statistics.md 2.10. Each looks at the first token of a block, a fixed number of times. One that flags a fault with
probability f in one run finds it after 1 / f runs on average; it counts as blind where f is no larger than on correct code. Seconds are draws
times what the reference's verify step takes for one here, so they compare numbers of draws; the law of 512 cells costs no more to draw than the first token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.mutant_laws import NOT_A_BUG, Array, Rows, laws, published_rows, right_law, total_variation
from benchmarks.processes import averaged, check, generic, log_factors
from specref.rules import Standard
from specref.verification import verify

RUNS = 400
"""Simulated runs of each criterion on each law."""
REPEATS = 21
"""Of the screen; the median is shown."""
ALPHA = 1e-9
LOOKS = np.unique(np.round(16 * 1.12 ** np.arange(115)).astype(int))
BATCH = 65_536
"""Rows of a call in which the verify step is timed."""

Rng = np.random.Generator


@dataclass(frozen=True)
class Criterion:
    """A published way to accept a sampler: draws it takes, and whether it flags one run of them."""

    draws: int
    flags: Callable[[Array, Array, Rng], bool]


FEW, MANY = 50, 100_000
"""Draws between which the distance must shrink. The first is not in the description: it is the one whose share of runs that pass at V = 10, total variation 0, .004,
.006, .008, .01, comes nearest the published simulation: .97 .80 .57 .30 .10, published .997 .89 .56 .16 .03."""


def shrinking_distance(law: Array, target: Array, rng: Rng) -> bool:
    """vLLM: up to 100,000 draws the L2 distance to the target must shrink 20 times more than that to random references."""
    early = rng.multinomial(FEW, law)
    late = early + rng.multinomial(MANY - FEW, law)
    references = rng.dirichlet(np.ones(len(law)), 100)
    shrinks = [np.linalg.norm(early / FEW - row) / np.linalg.norm(late / MANY - row) for row in (target, *references)]
    return bool(shrinks[0] < 20 * np.mean(shrinks[1:]))


def rank_order(law: Array, target: Array, rng: Rng) -> bool:
    """Transformers: the tokens' frequencies must have the order of their probabilities."""
    return bool((np.argsort(rng.multinomial(10_000, law)) != np.argsort(target)).any())


def cosine(law: Array, target: Array, rng: Rng) -> bool:
    """FlashInfer: the cosine of frequencies and probabilities must exceed 0.99."""
    seen = rng.multinomial(5_000_000, law) / 5_000_000
    return bool(seen @ target / np.linalg.norm(seen) / np.linalg.norm(target) <= 0.99)


def small_total_variation(law: Array, target: Array, rng: Rng) -> bool:
    """Small projects: total variation below 0.05."""
    return total_variation(rng.multinomial(4_000, law) / 4_000, target) >= 0.05


def all_close(law: Array, target: Array, rng: Rng) -> bool:
    """Small projects: every frequency within 0.015."""
    return bool(np.abs(rng.multinomial(12_000, law) / 12_000 - target).max() > 0.015)


CRITERIA = {
    "vLLM L2": Criterion(MANY, shrinking_distance),
    "HF rank": Criterion(10_000, rank_order),
    "FlashInfer cos": Criterion(5_000_000, cosine),
    "TV < .05": Criterion(4_000, small_total_variation),
    "atol .015": Criterion(12_000, all_close),
}


def flagged(criterion: Criterion, law: Array, target: Array, rng: Rng) -> float:
    """The share of runs that it flags."""
    return float(np.mean([criterion.flags(law, target, rng) for _ in range(RUNS)]))


def screen(right: Array, fault: Array, factors: Array, rng: Rng) -> float:
    """Median draws until half Dirichlet, half directed mixture reaches 1e9 on the block of gamma + 1 tokens; infinite beyond the last look."""
    tables, done = np.zeros((REPEATS, right.size + 1), dtype=np.int64), 0
    stops = np.full(REPEATS, np.inf)
    for look in LOOKS:
        tables[:, :-1] += rng.multinomial(look - done, fault, size=REPEATS)
        done = int(look)
        log_e = np.logaddexp(averaged(tables @ factors.T), generic(tables, right)) - np.log(2)
        stops[np.isinf(stops) & (log_e >= -np.log(ALPHA))] = done
        if np.isfinite(np.median(stops)):
            return float(np.median(stops))
    return float("inf")


def seconds_per_draw(rows: Rows) -> float:
    """Of the reference's verify step in batches, one thread: drafts are drawn too."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    p, q = (torch.from_numpy(row.copy()).expand(BATCH, -1, -1) for row in (rows.p, rows.q[:-1]))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        draft = torch.stack([torch.multinomial(row, BATCH, replacement=True, generator=generator) for row in q[0]], dim=1)
        verify(Standard(), p, q, draft, generator, check=False)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / BATCH


def cell(draws: float, each: float) -> str:
    """Draws and seconds."""
    return f"{'blind':>17}" if np.isinf(draws) else f"{draws:>9.3g} {draws * each:>6.2g}s"


def main() -> None:
    """Print the table."""
    check()
    rng, rows = np.random.default_rng(2), published_rows()
    each = seconds_per_draw(rows)
    right, faults = right_law(rows), laws(rows)
    factors = log_factors(right.ravel(), {name: law.ravel() for name, law in faults.items()})
    lawful = {name: flagged(criterion, rows.p[0], rows.p[0], rng) for name, criterion in CRITERIA.items()}
    print(f"{1e6 * each:.2f} us a draw; correct code flagged: " + ", ".join(f"{name} {share:.3f}" for name, share in lawful.items()))
    print(f"{'fault':<20} {'TV block':>8} {'TV 1st':>7} {'screen, 1e-9':>17}" + "".join(f"  {name:>17}" for name in CRITERIA))
    for name, law in faults.items():
        first = law.sum(axis=tuple(range(1, law.ndim)))
        shares = {key: flagged(criterion, first / first.sum(), rows.p[0], rng) for key, criterion in CRITERIA.items()}
        seen = {key: share > lawful[key] + 3 * np.sqrt(max(share * (1 - share), lawful[key] * (1 - lawful[key])) / RUNS) for key, share in shares.items()}
        theirs = [cell(CRITERIA[key].draws / share if seen[key] else np.inf, each) for key, share in shares.items()]
        ours = cell(screen(right.ravel(), law.ravel(), factors, rng), each)
        mark = " (not a bug)" if name == NOT_A_BUG else ""
        print(f"{name:<20} {total_variation(law, right):>8.4f} {total_variation(first, rows.p[0]):>7.4f} {ours}  " + "  ".join(theirs) + mark, flush=True)


if __name__ == "__main__":
    main()
