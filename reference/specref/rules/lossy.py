"""Rules that trade the target's law for longer drafts. They are never a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from specref.rules.chain import accept_by_ratio
from specref.rules.verdict import Round, Verdict, product_of, row_at, verdict, wide


@dataclass(frozen=True)
class Lenient:
    """Speculative sampling with lenience l (2211.17192, appendix A.5): accept with min(1, p / (l q)).

    Law of a token: min(q, p / l) + (1 - sum min(q, p / l)) norm(max(0, p - l q)); no token gets more than p / l. Acceptance: sum of min(q, p / l).

    Attributes:
        lenience: l in (0, 1]; 1 is the standard rule.
    """

    lenience: float
    exact: ClassVar[bool] = False
    needs_q: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.lenience <= 1:
            raise ValueError(f"lenience must lie in (0, 1], not {self.lenience}")

    def __call__(self, given: Round) -> Verdict:
        """One verification."""
        return accept_by_ratio(given, self.lenience)

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i sums of min(q, p / l)."""
        return product_of(torch.minimum(q.double(), p[:-1].double() / self.lenience).sum(-1))


@dataclass(frozen=True)
class Typical:
    """Typical acceptance (Medusa, 2401.10774, section 3): a draft token x is accepted if p(x) > min(epsilon, delta exp(-H(p))), H the entropy.

    Behind the accepted prefix comes the target's likeliest token. No uniform is used.

    Law: a point for each draft; the target's law is not kept. Acceptance: the draft's mass on the accepted set.

    Attributes:
        epsilon: probability above which a token is always accepted.
        delta: factor of exp(-H).
    """

    epsilon: float = 0.3
    delta: float = 0.09
    exact: ClassVar[bool] = False
    needs_q: ClassVar[bool] = False

    def __call__(self, given: Round) -> Verdict:
        """One verification."""
        gamma = given.draft.shape[1]
        n = given.leading(given.of_draft(given.p) > self._threshold(given.p[:, :gamma]))
        return verdict(given, n, row_at(given.p, n).argmax(-1))

    def _threshold(self, p: Tensor) -> Tensor:
        entropy = torch.special.entr(wide(p)).sum(-1, dtype=torch.float64)
        return (self.delta * torch.exp(-entropy)).clamp(max=self.epsilon)

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Sum over i of the product of the first i masses of q on the accepted set."""
        return product_of((q.double() * (p[:-1].double() > self._threshold(p[:-1])[:, None])).sum(-1))
