"""`python -m benchmarks.fuzz_exact --cases 10000`: the explored laws of correct steps on random tables, held against the product law; 1 if one differs."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specverify.contracts import CONTRACTS, Case, array, array_of
from specverify.contracts.arrays import EPS, round_to
from specverify.law import Comparison, ExactLaw, Outcome, product_law
from specverify.subjects import explore
from specverify.subjects.declare import DECLARED, subject
from specverify.subjects.replies import Explored, explored
from specverify.subjects.trial import Bound

TWINS = Path(__file__).parents[1] / "tests" / "twins" / "specverify_subjects.py"
SIZES = [(v, gamma) for v in (2, 3, 4) for gamma in (1, 2, 3)]
SECONDS = 10.0
OTHERWISE = {
    "chn_recursive_and_hashed": "hashes its seed, which is hidden: found by two executions or a replay, unless a case leaves nothing to coins",
    "chn_fractions": "draws 60 bits at once",
    "chn_coins_ahead": "keeps 50,000 coins between calls",
    "chn_residual_by_rejection": "500 proposals a call, ten seconds a law",
}
"""Twins that are not explored, and why."""
SMALLEST = {"float32": 2.0**-149, "float64": 5e-324}
PROBES = 1
KINDS = ("weights", "weights", "weights", "point", "near one", "subnormal")
PAIRS = ("free", "free", "free", "equal", "disjoint", "ulp", "draft is a point")

Row = tuple[float, ...]


@dataclass
class Tally:
    """What became of one step's cases."""

    cases: int = 0
    explored: int = 0
    seconds: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    largest: tuple[float, float] = (0.0, 0.0)
    wrong: list[str] = field(default_factory=list)

    def note(self, found: Comparison, law: ExactLaw, case: Case) -> None:
        """One explored law."""
        self.explored += 1
        self.verdicts[found.verdict] += 1
        self.largest = max(self.largest, (found.tv, law.tolerance))
        if found.verdict == "different":
            self.wrong.append(f"{found.verdict}, TV {found.tv:.3g}, tolerance {law.tolerance:.3g}: p {_told(case, 'p')}, q {_told(case, 'q')}")


def _told(case: Case, name: str) -> list[Row]:
    return list(array_of(case, name).rows())


def row(rng: random.Random, v: int, dtype: str) -> Row:
    """Small whole weights with zeros and ties, a point mass, nearly one, or a zero in whose place the smallest number stands."""
    kind = rng.choice(KINDS)
    point = (
        [float(token == rng.randrange(v)) for token in range(v)] if kind in {"point", "near one"} else [float(rng.choice((0, 1, 1, 2, 3, 8))) for _ in range(v)]
    )
    values = list(normalised(point if any(point) else [1.0] + [0.0] * (v - 1), dtype))
    empty = [token for token, x in enumerate(values) if x == 0]
    if kind == "near one" and empty and 1.0 in values:
        values[values.index(1.0)], values[empty[0]] = 1 - 2 * EPS[dtype], 2 * EPS[dtype]
    if kind == "subnormal" and empty:
        values[rng.choice(empty)] = SMALLEST[dtype]
    return tuple(values)


def normalised(values: Sequence[float], dtype: str) -> Row:
    """Weights over their sum, rounded to `dtype`."""
    return round_to(dtype, (x / sum(values) for x in values))


def pair(rng: random.Random, v: int, dtype: str) -> tuple[Row, Row]:
    """A row of the target and one of the draft: free, equal, with disjoint supports, an ulp apart, or a draft that is a point mass."""
    p, q, kind = row(rng, v, dtype), row(rng, v, dtype), rng.choice(PAIRS)
    if kind == "equal":
        return p, p
    if kind == "ulp":
        token = rng.randrange(v)
        return p, round_to(dtype, (x * (1 - EPS[dtype]) if i == token else x for i, x in enumerate(p)))
    if kind == "disjoint":
        cut = rng.randrange(1, v)
        return kept(p, range(cut), dtype), kept(q, range(cut, v), dtype)
    return p, tuple(float(i == q.index(max(q))) for i in range(v)) if kind == "draft is a point" else q


def kept(values: Row, tokens: range, dtype: str) -> Row:
    """The row cut to some tokens; all of its mass on the first of them if next to none is left."""
    cut = [x if i in tokens else 0.0 for i, x in enumerate(values)]
    return normalised(cut if sum(cut) > 2.0**-20 else [float(i == tokens[0]) for i in range(len(values))], dtype)


def table(rng: random.Random, dtypes: Sequence[str]) -> Case:
    """P and q of a chain, each position with a pair of its own; the more drafts there can be, the rarer."""
    v, gamma = rng.choices(SIZES, [1 / v**gamma for v, gamma in SIZES])[0]
    dtype = rng.choice(dtypes)
    pairs = [pair(rng, v, dtype) for _ in range(gamma)]
    p, q = [*(one for one, _ in pairs), row(rng, v, dtype)], [other for _, other in pairs]
    return {"p": array(dtype, (gamma + 1, v), itertools.chain(*p)), "q": array(dtype, (gamma, v), itertools.chain(*q))}


def steps() -> dict[str, Bound]:
    """The steps of tests/exact and the twins: torch's, numpy's, and those of plain Python."""
    from tests.exact import test_numpy_steps, test_steps

    DECLARED.clear()
    for name, (step, draw) in test_steps.STEPS.items():
        subject("verify_chain", dtypes=("float64", "float32"), name=name)(_step(step, draw))
    for name, (step, draw, coin) in test_numpy_steps.STEPS.items():
        subject("verify_chain", arrays="numpy", dtypes=("float64", "float32"), name=name)(_numpy_step(step, draw, coin))
    spec = importlib.util.spec_from_file_location("twins", TWINS)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    chosen = [one for one in DECLARED if one.contract == "verify_chain" and one.name not in OTHERWISE]
    return {one.name: Bound(one, CONTRACTS["verify_chain"]) for one in chosen}


def _step(step: Callable[..., Any], draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, q, draft: step(p, q, draft, draw)


def _numpy_step(step: Callable[..., Any], draw: Callable[..., Any], coin: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, q, draft: step(p.astype(float), q.astype(float), draft.tolist(), draw, coin)


def judge(bound: Bound, case: Case, tally: Tally) -> None:
    """Explore one law, and compare."""
    start = time.monotonic()
    seen = explored(explore._law(bound, case, spans=1, seconds=SECONDS, probe=PROBES))  # noqa: SLF001  in this process, without a copy
    tally.cases += 1
    tally.seconds += time.monotonic() - start
    if isinstance(seen, Explored):
        law = projected(seen.law)
        tally.note(law.compare(product_law(_told(case, "p"))), law, case)
    else:
        tally.refused[seen.reason.removeprefix("The law cannot be explored exactly: ")[:70]] += 1


def projected(law: ExactLaw) -> ExactLaw:
    """The law of the completed tokens."""
    masses: dict[Outcome, float] = {}
    for outcome, mass in law.probabilities.items():
        tokens = outcome if outcome[0] in {"raised", "malformed"} else outcome[2]
        masses[tokens] = masses.get(tokens, 0.0) + mass
    return replace(law, probabilities=masses)


def part(job: tuple[int, int, int, int]) -> dict[str, Tally]:
    """Every n-th case: a case is made by its number alone."""
    seed, first, n, cases = job
    import torch

    torch.set_num_threads(1)
    explore.WIDEST = 10**6
    bound = steps()
    names = sorted(bound)
    tallies = {name: Tally() for name in names}
    for number in range(first, cases, n):
        name = names[number // n % len(names)]
        rng = random.Random(f"{seed}/{number}")
        wide = [dtype for dtype in bound[name].declaration.dtypes if dtype in SMALLEST]
        judge(bound[name], table(rng, wide), tallies[name])
    return tallies


def merged(one: Tally, other: Tally) -> Tally:
    """Two parts of one step's cases."""
    return Tally(
        one.cases + other.cases, one.explored + other.explored, one.seconds + other.seconds, one.refused + other.refused, one.verdicts + other.verdicts,
        max(one.largest, other.largest), one.wrong + other.wrong,
    )  # fmt: skip


def line(name: str, tally: Tally) -> str:
    """One step's row of the table."""
    tv, tolerance = tally.largest
    refused = "".join(f"\n    refused {count}: {reason}" for reason, count in tally.refused.items())
    wrong = "".join(f"\n    {one}" for one in tally.wrong[:3])
    verdicts = " ".join(f"{count} {verdict}" for verdict, count in sorted(tally.verdicts.items()))
    head = f"{name:<32} {tally.cases:>5} {tally.explored:>5} {tv:>9.2g} {tolerance:>9.2g} {len(tally.wrong):>5}  {tally.seconds / max(1, tally.cases):>6.3f}"
    return f"{head}  {verdicts}{refused}{wrong}"


def main() -> int:
    """Print a line per step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=20_261_130)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    start = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        parts = pool.map(part, [(asked.seed, i, asked.processes, asked.cases) for i in range(asked.processes)])
    total = dict(parts[0])
    for more in parts[1:]:
        total = {name: merged(tally, more[name]) for name, tally in total.items()}
    print(f"{'step':<32} {'cases':>5} {'expl.':>5} {'TV':>9} {'allowed':>9} {'wrong':>5}  {'s/case':>6}")
    print("\n".join(itertools.starmap(line, total.items())))
    wrong = sum(len(tally.wrong) for tally in total.values())
    count, known = sum(tally.cases for tally in total.values()), sum(tally.explored for tally in total.values())
    print(f"{count:,} cases, {known:,} explored, {wrong} violations, {time.monotonic() - start:.0f} s in {asked.processes} processes")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
