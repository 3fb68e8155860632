"""What a pass means: bounds on the total variation between the law that was sampled and the right one, for a number of draws fixed beforehand.

Upper bound. A* = {p' > p} is a fixed event, TV(p', p) = p'(A*) - p(A*), and TV(phat, p) >= phat(A*) - p(A*), so TV(p', p) - TV(phat, p) <= p'(A*) - phat(A*),
a binomial mean's shortfall: above sqrt(ln(1/a) / 2N) with probability at most a (Hoeffding 1963). No union over events, so the size of
the vocabulary costs nothing but the noise in TV(phat, p).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from specverify.law import Law, Outcome

KEPT = 255
"""Outcomes of a coarsened law that keep their cell."""

TAIL = 257
"""Cells that share the rest, by hash: 512 in all, for which 5.4 million draws bound the total variation by 0.004 at 1e-6."""

MEAN_DEVIATION = math.sqrt(2 / math.pi)
"""E|Z| of a standard normal: the mean absolute deviation of a relative frequency in standard deviations."""

Counts = Mapping[Outcome, int]


def tv_upper(counts: Counts, right: Law, a: float) -> float:
    """What TV(p', right) is at most, with confidence 1 - a, p' the law of the draws: TV(phat, right) + sqrt(ln(1/a) / 2N)."""
    return tv_upper_suite([(counts, right)], a)


def tv_upper_suite(parts: Sequence[tuple[Counts, Law]], a: float) -> float:
    """The same for the mean over cases, each with the weight of its draws: the proof's event is the union of the cases' events.

    Raises:
        ValueError: nothing was drawn.
    """
    sizes = [sum(counts.values()) for counts, _ in parts]
    if not sum(sizes):
        raise ValueError("nothing was drawn")
    seen = math.fsum(n * Law.empirical(counts).total_variation(right) for n, (counts, right) in zip(sizes, parts, strict=True) if n)
    return min(1.0, seen / sum(sizes) + _shortfall(sum(sizes), a))


def tv_lower(first: Counts, second: Counts, right: Law, a: float) -> float:
    """What TV(p', right) is at least, with confidence 1 - a: the event is chosen on the first half of the draws and measured on the second."""
    found, again = Law.empirical(first), Law.empirical(second)
    event = [outcome for outcome, mass in found.probabilities.items() if mass > right[outcome]]
    excess = math.fsum(again[outcome] - right[outcome] for outcome in event)
    return max(0.0, excess - _shortfall(sum(second.values()), a))


def samples_for(right: Law, tau: float, a: float) -> int:
    """Roughly how many draws of a right law bring the upper bound down to tau: both its terms fall with the root of N."""
    noise = MEAN_DEVIATION / 2 * math.fsum(math.sqrt(mass * (1 - mass)) for mass in right.probabilities.values() if mass < 1)
    return math.ceil(((noise + math.sqrt(math.log(1 / a) / 2)) / tau) ** 2)


def coarsening(right: Law, *, kept: int = KEPT, tail: int = TAIL) -> Callable[[Outcome], Outcome]:
    """A declared map onto at most kept + tail cells: the most probable outcomes stay, the others fall into cells ("tail", i) by a hash.

    It depends on the right law alone, never on draws. A bound on the coarse laws bounds their distance only, which is at most that of the laws.
    """
    ranked = sorted(right.probabilities.items(), key=lambda item: (-item[1], repr(item[0])))
    top = {outcome for outcome, _ in ranked[:kept]}
    return lambda outcome: outcome if outcome in top else ("tail", int.from_bytes(blake2b(repr(outcome).encode(), digest_size=8).digest()) % tail)


def coarse(counts: Counts, onto: Callable[[Outcome], Outcome]) -> dict[Outcome, int]:
    """Counts of the image."""
    image: dict[Outcome, int] = {}
    for outcome, n in counts.items():
        image[onto(outcome)] = image.get(onto(outcome), 0) + n
    return image


def _shortfall(total: int, a: float) -> float:
    return math.sqrt(math.log(1 / a) / (2 * total))
