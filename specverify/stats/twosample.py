"""Two samples, neither law known: an engine with speculation and without."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specverify.law import Outcome

START = 0.5
"""What each outcome's count starts with (Krichevsky and Trofimov)."""

ROUNDING = 1e-9
"""Relative: permutations that differ by less count as equal, which makes the p-value no smaller."""


class TwoSample:
    """An anytime-valid test of equal laws, by blocks of one draw x from A and one draw y from B.

    A block multiplies E by f_A(x) f_B(y) / (f_0(x) f_0(y)), f_0 = (f_A + f_B) / 2, where f_A and f_B come from earlier blocks only. If both draws have
    the law p, the expectation is s t with s = sum p f_A / f_0 and t = sum p f_B / f_0, and s + t = 2, so s t <= 1 for any positive f_A and f_B
    (Turner, Ly and Gruenwald, arXiv 2106.02693). They need not sum to 1: counts do, and the outcomes need not be known beforehand.

    Attributes:
        log_e: natural logarithm of E.
        blocks: how many were counted.
    """

    def __init__(self) -> None:
        self.log_e, self.blocks = 0.0, 0
        self._counts: tuple[Counter[Outcome], Counter[Outcome]] = (Counter(), Counter())

    def add(self, x: Outcome, y: Outcome) -> float:
        """Count a block, x from A and y from B; the new log E."""
        self.log_e += math.log(self._share(0, x)) + math.log(self._share(1, y))
        self._counts[0][x] += 1
        self._counts[1][y] += 1
        self.blocks += 1
        return self.log_e

    def _share(self, side: int, outcome: Outcome) -> float:
        mine, others = self._counts[side][outcome] + START, self._counts[1 - side][outcome] + START
        return 2 * mine / (mine + others)


def log_two_sample(blocks: Iterable[tuple[Outcome, Outcome]]) -> float:
    """Natural logarithm of E after all blocks."""
    test = TwoSample()
    for x, y in blocks:
        test.add(x, y)
    return test.log_e


@dataclass(frozen=True)
class Discrepancy:
    """The squared maximum mean discrepancy, and its permutation p-value, at least 1 / (permutations + 1)."""

    squared: float
    p_value: float


def mmd_hamming(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], *, permutations: int = 999, seed: int = 0) -> Discrepancy:
    """Maximum mean discrepancy of token sequences of one length, kernel the share of positions that agree; p by permutation of the labels.

    Gretton et al., JMLR 13 (2012) 723. The p-value counts the observed labels among the permutations, so it is valid at any number of them.

    Args:
        first: n sequences of token ids, padded to one length.
        second: m sequences of the same length.
        permutations: how many relabellings are drawn.
        seed: of the relabellings.
    """
    import numpy as np

    rows = np.asarray([*first, *second])
    kernel = np.zeros((len(rows), len(rows)))
    for column in rows.T:
        kernel += column[:, None] == column[None, :]
    signs = np.repeat([1 / len(first), -1 / len(second)], [len(first), len(second)])
    rng = np.random.default_rng(seed)
    labels = np.stack([signs, *(rng.permutation(signs) for _ in range(permutations))])
    values = np.einsum("ij,ij->i", labels @ kernel, labels) / rows.shape[1]
    least = values[0] - ROUNDING * abs(values[0])
    return Discrepancy(float(values[0]), float((values >= least).sum() / (permutations + 1)))
