"""Joint laws of accepted length and tokens under each exact rule: the tokens' law is p's product under all of them, the length tells them apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from specverify.law import Law, Outcome
from specverify.observe import Observed
from specverify.stats import log_e_value

Rows = Sequence[Sequence[float]]
Masses = dict[Outcome, float]
FITS = math.log(1e3)


def joint(p: Rows, stop: Callable[[int, Sequence[int]], float]) -> Law:
    """The law of (n, gamma + 1 tokens) from the mass of each emitted block; what a block lacks is completed from p."""
    masses: Masses = {}
    for n in range(len(p)):
        for block in itertools.product(range(len(p[0])), repeat=n + 1):
            mass = stop(n, block)
            for rest in itertools.product(range(len(p[0])), repeat=len(p) - n - 1) if mass else ():
                masses[n, (*block, *rest)] = mass * math.prod(p[n + 1 + i][t] for i, t in enumerate(rest))
    return Law.of(masses)


def standard(p: Rows, q: Rows) -> Law:
    """Theory S4: accepted tokens with min(p, q), the replacement with (p - q)+, the bonus with p."""

    def stop(n: int, block: Sequence[int]) -> float:
        accepted = math.prod(min(p[i][t], q[i][t]) for i, t in enumerate(block[:n]))
        last = block[n]
        return accepted * (p[n][last] if n == len(q) else max(p[n][last] - q[n][last], 0.0))

    return joint(p, stop)


def sample_and_match(p: Rows, q: Rows) -> Law:
    """Theory S9: a draw from p at each row; it goes on while the draft, drawn from q, is the same."""

    def stop(n: int, block: Sequence[int]) -> float:
        accepted = math.prod(p[i][t] * q[i][t] for i, t in enumerate(block[:n]))
        last = block[n]
        return accepted * p[n][last] * (1.0 if n == len(q) else 1 - q[n][last])

    return joint(p, stop)


def block(p: Rows, q: Rows) -> Law:
    """Sun et al., arXiv 2403.10444: the longest prefix whose own test passes; the replacement from (p_tau p - q)+."""
    gamma, width = len(q), range(len(p[0]))
    masses: Masses = {}
    for draft in itertools.product(width, repeat=gamma):
        drawn = math.prod(q[i][t] for i, t in enumerate(draft))
        if drawn == 0:
            continue
        weights = [1.0]
        for i, t in enumerate(draft):
            weights.append(min(weights[-1] * p[i][t] / q[i][t], 1.0))
        tests = [_block_test(p, q, weights, i) for i in range(gamma + 1)]
        for tau in range(gamma + 1):
            mass = drawn * tests[tau] * math.prod(1 - tests[i] for i in range(tau + 1, gamma + 1))
            row = list(p[gamma]) if tau == gamma else [max(weights[tau] * a - b, 0.0) for a, b in zip(p[tau], q[tau], strict=True)]
            total = math.fsum(row)
            for last in width if mass and total else ():
                emitted = (*draft[:tau], last)
                for rest in itertools.product(width, repeat=gamma - tau):
                    key = tau, (*emitted, *rest)
                    tail = math.prod(p[tau + 1 + i][t] for i, t in enumerate(rest))
                    masses[key] = masses.get(key, 0.0) + mass * row[last] / total * tail
    return Law.of(masses)


def _block_test(p: Rows, q: Rows, weights: Sequence[float], i: int) -> float:
    """Probability that the test of prefix i passes; the empty prefix always does, the whole one with its weight."""
    if i == 0:
        return 1.0
    if i == len(q):
        return weights[i]
    excess = math.fsum(max(weights[i] * a - b, 0.0) for a, b in zip(p[i], q[i], strict=True))
    return excess / (excess + 1 - weights[i]) if excess + 1 - weights[i] > 0 else 1.0


def plain(p: Rows, _q: Rows) -> Law:
    """Plain decoding: one token of the first row, whatever was drafted."""
    return joint(p, lambda n, block: p[0][block[0]] if n == 0 else 0.0)


RULES: dict[str, Callable[[Rows, Rows], Law]] = {"standard": standard, "sample-and-match": sample_and_match, "block": block, "plain": plain}


def inferred(seen: Observed, p: Rows, q: Rows) -> str | None:
    """The rule whose joint law fits the draws, the best if several do; none if no known rule does."""
    evidence = {name: log_e_value(seen.counts, rule(p, q)) for name, rule in RULES.items()}
    best = min(evidence, key=evidence.__getitem__)
    return best if evidence[best] < FITS else None
