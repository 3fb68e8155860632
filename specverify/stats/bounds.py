"""How far a law can be from the right one after draws that found nothing: bounds on a total variation."""

from __future__ import annotations

import math


def upper_bound(distance: float, draws: int, risk: float) -> float:
    """An upper bound on the total variation of a law to the right one, wrong with a chance of at most `risk`, whatever the number of outcomes.

    The set on which the law exceeds the right one does not depend on the draws, and the frequencies' distance is at least their excess on that set: a binomial mean
    (Hoeffding). So no union over sets is needed. The number of draws must have been fixed before.

    Args:
        distance: total variation of the draws' frequencies to the right law.
        draws: how many there were.
        risk: chance that the bound is wrong.
    """
    return min(1.0, distance + math.sqrt(-math.log(risk) / (2 * draws)))
