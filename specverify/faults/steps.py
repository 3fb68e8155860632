"""Laws of verify steps from their parts, computed and not drawn. The tool's side alone: numpy, and nothing of this is imported where subjects run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from specverify.law import Law, Outcome

Rows = NDArray[np.float64]
Accept = Callable[[Rows, Rows, int], Rows]
"""(p, q, i) to the chance of each draft token at position i to be accepted, (V,)."""
Replace = Callable[[Rows, Rows, int], Rows]
"""(p, q, i) to the weights of the replacement at position i, (V,); or (V, V), a row for each rejected token."""
Last = Callable[[Rows, Rows], Rows]
"""(p, q) to the weights of the bonus token, (V,)."""


def ratio(p: Rows, q: Rows) -> Rows:
    """min(1, p / q); a token of q = 0 is never drafted, and any number does for it."""
    return np.asarray(np.divide(np.minimum(p, q), q, out=np.ones(np.broadcast_shapes(p.shape, q.shape)), where=q > 0))  # p over a subnormal q would overflow


def standard_acceptance(p: Rows, q: Rows, i: int) -> Rows:
    """Of the right step."""
    return ratio(p[i], q[i])


def residual(p: Rows, q: Rows, i: int) -> Rows:
    """Of the right step."""
    return np.asarray(np.maximum(p[i] - q[i], 0.0))


def last_row(p: Rows, _q: Rows) -> Rows:
    """Of the right step."""
    return np.asarray(p[-1])


@dataclass(frozen=True)
class Step:
    """A step that judges position after position with fresh randomness; with the defaults it is right (theory S4).

    Attributes:
        accept: chance of each draft token.
        replace: weights of the replacement; p where all are zero.
        bonus: weights of the token behind a draft that is accepted whole.
        emits_bonus: whether it is emitted at all.
    """

    accept: Accept = standard_acceptance
    replace: Replace = residual
    bonus: Last = last_row
    emits_bonus: bool = True

    def __call__(self, p: Rows, q: Rows) -> Law:
        """The law of (n, gamma + 1 tokens completed from p), the draft drawn from q; p (gamma + 1, V), q (gamma, V)."""
        gamma, blocks, before = len(q), list[Rows](), np.ones(())
        for i in range(gamma):
            accepted = self.accept(p, q, i)
            drawn = _normalised(self.replace(p, q, i), p[i])
            stopped = (q[i] * (1 - accepted)) @ np.broadcast_to(drawn, (p.shape[1],) * 2)
            blocks.append(_outer(before, stopped))
            before = _outer(before, q[i] * accepted)
        last = _normalised(self.bonus(p, q), p[gamma]) if self.emits_bonus else p[gamma]
        return _completed(p, [*enumerate(blocks), (gamma if self.emits_bonus else gamma - 1, _outer(before, last))])


def enumerated(
    stops: Callable[[Rows, Rows, tuple[int, ...]], list[float]], rest: Callable[[Rows, Rows, tuple[int, ...], int], Rows]
) -> Callable[[Rows, Rows], Law]:
    """The law of a step that looks at the draft as a whole.

    Args:
        stops: (p, q, draft) to the chance of each accepted length, gamma + 1 of them.
        rest: (p, q, draft, n) to the weights of the token behind n accepted ones, (V,); p where all are zero.
    """

    def law(p: Rows, q: Rows) -> Law:
        blocks = [np.zeros((p.shape[1],) * (n + 1)) for n in range(len(p))]
        for draft in product(range(p.shape[1]), repeat=len(q)):
            drawn = math.prod(q[i, x] for i, x in enumerate(draft))
            for n, chance in enumerate(stops(p, q, draft) if drawn else ()):
                if chance:
                    blocks[n][draft[:n]] += drawn * chance * _normalised(rest(p, q, draft, n), p[n])
        return _completed(p, list(enumerate(blocks)))

    return law


def _normalised(weights: Rows, otherwise: Rows) -> Rows:
    """Rows over their sums; another row where there is no weight."""
    total = weights.sum(-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), otherwise)


def _outer(before: Rows, row: Rows) -> Rows:
    return before[..., None] * row


def _completed(p: Rows, blocks: list[tuple[int, Rows]]) -> Law:
    """Masses of emitted blocks by accepted length, each block filled up to gamma + 1 tokens from p."""
    masses: dict[Outcome, float] = {}
    for n, block in blocks:
        whole = block
        for row in p[block.ndim :]:
            whole = _outer(whole, row)
        for tokens, mass in _cells(whole):
            masses[n, tokens] = masses.get((n, tokens), 0.0) + mass
    return Law(masses)


def _cells(masses: Rows) -> Iterator[tuple[Outcome, float]]:
    inside = masses > 0
    return zip(map(tuple, np.argwhere(inside).tolist()), masses[inside].tolist(), strict=True)
