"""`python -m benchmarks.naming`: mutants of the reference, each named by its explored law and by draws; 1 where fewer than 90 % are named rightly first.

A mutant is looked at as the suite does: on the first of CHN-008's small tables on which it is found, and on the table that tells faults apart. Draws are
multinomial counts of its explored law, as many as a confirmation takes.
"""

from __future__ import annotations

import math
import sys
from collections import Counter

import numpy as np
import torch

from benchmarks.mutants import MUTANTS, Mutant
from specprops import likely
from specverify.audit.settings import ALPHA, CONFIRM_DRAWS
from specverify.contracts import CONTRACTS, Array, Case, array, array_of
from specverify.contracts.picks import every, weights
from specverify.exact import choose, exact_law
from specverify.faults.laws import CHAIN, alternatives, fault_of, rows_of
from specverify.faults.naming import Named, Seen
from specverify.faults.steps import Step
from specverify.law import Law, Outcome
from specverify.stats import log_e_value

WANTED = 0.9
OFF = 1e-5
"""Total variation of an explored law that is off: far beyond rounding."""
PAIRS = 10
"""Statistical properties of a step, which share alpha."""
TABLES: list[Case] = [
    {"p": array("float64", (len(p), len(p[0])), sum(p, ())), "q": array("float64", (len(q), len(q[0])), sum(q, ()))}
    for p, q in (
        (((0.5, 0.5), (0.25, 0.75)), ((1.0, 0.0),)),
        (((0.25, 0.75), (0.5, 0.5)), ((0.75, 0.25),)),
        (((0.25, 0.75), (0.75, 0.25), (0.5, 0.5)), ((0.75, 0.25), (0.25, 0.75))),
        (((0.5, 0.25, 0.25), (0.0, 0.5, 0.5)), ((0.75, 0.125, 0.125),)),
        (((0.25, 0.25, 0.5), (0.5, 0.0, 0.5), (0.125, 0.375, 0.5)), ((0.5, 0.25, 0.25), (0.25, 0.5, 0.25))),
    )
]
"""Of CHN-008's first cases those that differ most."""
TELLING: Case = {"p": array("float64", (3, 3), likely.P), "q": array("float64", (2, 3), likely.Q)}


def law_of(step: Mutant, case: Case) -> Law:
    """The explored law of (n, gamma + 1 tokens), drafts drawn from q, completions from p."""
    stream = CONTRACTS["verify_chain"].stream(case)
    p, q = (torch.tensor(array_of(case, name).nested(), dtype=torch.float64) for name in ("p", "q"))

    def run() -> Outcome:
        draft = stream.draw(lambda sums: choose(weights(sums), "draft"))["draft"]
        assert isinstance(draft, Array)
        return tuple(draft.values), tuple(step(p.clone(), q.clone(), torch.tensor([int(x) for x in draft.values])))

    masses: dict[Outcome, float] = {}
    for (draft, tokens), mass in exact_law(run).probabilities.items():
        drawn = {"draft": array("int64", (len(draft),), draft)}
        for chance, outcome in every(lambda pick, drawn=drawn, tokens=tokens: stream.finish(pick, drawn, tokens)):  # type: ignore[misc]
            masses[outcome[1:]] = masses.get(outcome[1:], 0.0) + mass * chance
    return Law(masses)


def looked_at(laws: list[tuple[Case, Law]], rng: np.random.Generator | None) -> list[Seen]:
    """The first table on which a finding is made, of the tokens or else of the lengths, and the telling one; nothing if there is none."""
    for project in (lambda outcome: outcome[1], lambda outcome: outcome):
        for case, found in laws:
            one = seen(case, found, rng)
            if is_found(one.through(project)):
                return [one, seen(*laws[-1], rng)]
    return []


def is_found(one: Seen) -> bool:
    """Whether a law that was explored is off, or draws reach a confirmation's threshold."""
    if not one.draws:
        return one.found.total_variation(one.right) > OFF
    return log_e_value({outcome: round(mass * one.draws) for outcome, mass in one.found.probabilities.items()}, one.right) > math.log(PAIRS / ALPHA)


def seen(case: Case, found: Law, rng: np.random.Generator | None) -> Seen:
    """An explored law, or counts drawn from it."""
    rows = rows_of("verify_chain", case)
    assert rows is not None
    faults, right = alternatives("verify_chain", case), Step()(*rows)
    if rng is None:
        return Seen(found, right, faults)
    masses = np.array(list(found.probabilities.values()))
    counts = rng.multinomial(CONFIRM_DRAWS, masses / masses.sum())
    drawn = Law.empirical({outcome: int(n) for outcome, n in zip(found.probabilities, counts, strict=True) if n})
    return Seen(drawn, right, faults, CONFIRM_DRAWS)


def name(ranking: tuple[Named, ...]) -> tuple[str, ...]:
    """The faults that are named, ("unknown",) if none fits."""
    return ranking[0].faults if ranking and ranking[0].fits else ("unknown",)


def line(what: str, fault: str, ranking: tuple[Named, ...]) -> tuple[str, bool]:
    """One line of the table, and whether the right name came first."""
    named = name(ranking)
    hit = (fault or "unknown") in named
    numbers = "  ".join(f"{one.faults[0]} {one.left:.3f} {one.behind:.3g}" for one in ranking)
    return f"  {'' if hit else 'WRONG':<6}{what:<52} {fault or 'unknown':<38} {' = '.join(named):<60} {numbers}", hit


def main() -> int:
    """Print each mutant, then the confusion table and the shares."""
    found = [(what, fault, [(case, law_of(step, case)) for case in (*TABLES, TELLING)]) for what, fault, step in MUTANTS]
    print(
        f"{len(CHAIN)} laws of {len({fault_of(one) for one in CHAIN})} faults; {len(found)} mutants, {sum(not fault for _, fault, _ in found)} of faults that have no law"
    )
    shares = []
    for kind in ("explored laws", f"{CONFIRM_DRAWS:,} draws"):
        rng = None if kind == "explored laws" else np.random.default_rng(9)
        cases = [(what, fault, looked_at(laws, rng)) for what, fault, laws in found]
        rankings = [(what, fault, likely.explained(both)) for what, fault, both in cases if both]
        lines = [line(*one) for one in rankings]
        print(f"\n{kind}: what was changed, fault, named; share left unexplained and distance behind, of the best three")
        print("\n".join([text for text, _ in lines] + [f"  not found: {what}" for what, _, both in cases if not both]))
        known = [hit for (_, hit), (_, fault, _) in zip(lines, rankings, strict=True) if fault]
        confused = Counter((fault or "unknown", name(ranking)[0]) for (_, fault, ranking), (_, hit) in zip(rankings, lines, strict=True) if not hit)
        print(f"named rightly first: {sum(known)} of {len(known)} with a law ({sum(known) / len(known):.0%}); "
              f"unknown, and told so: {sum(hit for _, hit in lines) - sum(known)} of {len(lines) - len(known)}")  # fmt: skip
        print("\n".join(f"  {fault} taken for {other}: {times}" for (fault, other), times in confused.items()) or "  no confusion")
        shares.append(sum(known) / len(known))
    return int(min(shares) < WANTED)


if __name__ == "__main__":
    sys.exit(main())
