"""What speculation saves, by the paper's formulas (2211.17192, section 3).

alpha is the acceptance rate, gamma the number of drafted tokens per round, c the time of a draft step in steps of the target, c_hat the same in arithmetic
operations. Acceptances count as independent and alike, as the paper has them.
"""

from __future__ import annotations

import torch
from torch import Tensor


def acceptance_rate(p: Tensor, q: Tensor) -> Tensor:
    """Probability that a token drawn from q is accepted, sum of min(p, q) = 1 - TV(p, q) (theorem 3.5); rows (..., V) to (...) float64."""
    return torch.minimum(p.double(), q.double()).sum(-1)


def expected_tokens(alpha: float, gamma: int) -> float:
    """Tokens per call of the target, (1 - alpha^(gamma + 1)) / (1 - alpha) (equation 1)."""
    _check(alpha, gamma, 0.0)
    return sum(alpha**i for i in range(gamma + 1))


def speedup(alpha: float, gamma: int, c: float) -> float:
    """How many times faster than plain decoding, (1 - alpha^(gamma + 1)) / ((1 - alpha) (gamma c + 1)) (theorem 3.8)."""
    _check(alpha, gamma, c)
    return expected_tokens(alpha, gamma) / (gamma * c + 1)


def operations(alpha: float, gamma: int, c_hat: float) -> float:
    """How many times more arithmetic than plain decoding, (1 - alpha) (gamma c_hat + gamma + 1) / (1 - alpha^(gamma + 1)) (theorem 3.11)."""
    _check(alpha, gamma, c_hat)
    return (gamma * c_hat + gamma + 1) / expected_tokens(alpha, gamma)


def best_gamma(alpha: float, c: float, most: int = 64) -> int:
    """The gamma of the largest speed-up, the smallest among equals (section 3.5); 0 where no draft pays, `most` at most."""
    _check(alpha, most, c)
    return max(range(most + 1), key=lambda gamma: speedup(alpha, gamma, c))


def _check(alpha: float, gamma: int, c: float) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a probability, not {alpha}")
    if gamma < 0 or not c >= 0:
        raise ValueError(f"gamma and the cost of a draft step must be at least 0, not {gamma} and {c}")
