"""What a verification rule is given, and what it says: the seam between drafting and verifying."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

PAD = -1
"""Fills rows of tokens after their end."""


class Verdict(NamedTuple):
    """The outcome of one verification.

    Attributes:
        tokens: (B, gamma + 1) int64: the accepted draft tokens, the token that is emitted after them, then PAD.
        accepted: (B,) int64: how many draft tokens were accepted.
    """

    tokens: Tensor
    accepted: Tensor


class Round(NamedTuple):
    """What a rule decides by, for B rows of up to gamma draft tokens.

    Attributes:
        p: rows of the target, (B, gamma + 1, V).
        q: rows of the draft, (B, gamma, V); none for a draft that is no random choice.
        draft: token ids, (B, gamma) int64; PAD after a row's own end.
        lengths: (B,) int64, how many draft tokens each row has; its last row of p is number lengths[b].
        coins: (B, gamma) float64, a uniform on [0, 1) for each draft token.
        last: (B,) float64, the uniform that draws the emitted token.
        whole: whether every row has gamma draft tokens, so that nothing need be masked.
    """

    p: Tensor
    q: Tensor | None
    draft: Tensor
    lengths: Tensor
    coins: Tensor
    last: Tensor
    whole: bool = False

    def rows(self, first: int, end: int) -> Round:
        """A part of the batch."""
        part = slice(first, end)
        q = None if self.q is None else self.q[part]
        return Round(self.p[part], q, self.draft[part], self.lengths[part], self.coins[part], self.last[part], self.whole)

    @property
    def drafted(self) -> Tensor:
        """Which places hold draft tokens, (B, gamma)."""
        return torch.arange(self.draft.shape[1], device=self.draft.device) < self.lengths[:, None]

    def leading(self, accepted: Tensor) -> Tensor:
        """How many draft tokens come before the first that is not accepted, (B, gamma) truth values to (B,)."""
        return leading(accepted if self.whole else accepted & self.drafted)

    def of_draft(self, rows: Tensor) -> Tensor:
        """The entries of the draft tokens in rows, (B, at least gamma, V) to (B, gamma) float64."""
        tokens = self.draft.clamp(0, rows.shape[-1] - 1)[..., None]
        return rows.gather(-1, tokens)[..., 0].double()


class VerificationRule(Protocol):
    """Decides what becomes of a draft.

    A rule is a function of its round, uniforms included: no Python loop over rows or vocabulary, no wait for the device, no
    float64 copy of all rows, and a row's verdict depends on that row alone.
    """

    @property
    def exact(self) -> bool:
        """Whether the emitted tokens, completed by the target, follow the product of the target's rows."""

    @property
    def needs_q(self) -> bool:
        """Whether it reads the draft's rows."""

    def __call__(self, given: Round) -> Verdict:
        """Accept a prefix of each draft, and emit one token more."""

    def expected_accepted(self, p: Tensor, q: Tensor) -> Tensor:
        """Expected number of accepted tokens, () float64, of rows that do not depend on the tokens before: p (gamma + 1, V), q (gamma, V)."""


def row_at(rows: Tensor, places: Tensor) -> Tensor:
    """A copy of one row of each batch member, (B, n, V) and (B,) to (B, V), in float32 or wider."""
    batch = torch.arange(rows.shape[0], device=rows.device)
    flat = rows.is_contiguous()  # then whole rows are copied at once
    return wide(rows.flatten(0, 1).index_select(0, batch * rows.shape[1] + places) if flat else rows[batch, places])


def wide(rows: Tensor) -> Tensor:
    """In float32 or wider, where all arithmetic is done."""
    return rows.to(torch.promote_types(rows.dtype, torch.float32))


def leading(accepted: Tensor) -> Tensor:
    """How many come before the first that is not, (B, gamma) to (B,)."""
    return accepted.long().cumprod(1).sum(1)


def verdict(given: Round, accepted: Tensor, emitted: Tensor) -> Verdict:
    """The accepted prefix, the emitted token, PAD."""
    places = torch.arange(given.draft.shape[1] + 1, device=given.draft.device)
    draft = torch.nn.functional.pad(given.draft, (0, 1))
    tokens = torch.where(places < accepted[:, None], draft, PAD)
    return Verdict(tokens.scatter_(1, accepted[:, None], emitted[:, None]), accepted)


def product_of(acceptance: Tensor) -> Tensor:
    """Expected length of the accepted prefix where positions are independent: sum over i of the product of the first i (theory: S5)."""
    return acceptance.double().cumprod(0).sum()
