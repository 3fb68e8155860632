"""Verifying a batch of drafts by a rule: arguments checked, uniforms drawn, the rule applied."""

from __future__ import annotations

import torch
from torch import Tensor

from specref._rows import check_device, check_rows, check_tokens, ignoring
from specref.draws import Generators, check_generators, coins_and_last
from specref.rules import Round, Verdict, VerificationRule

AT_ONCE = 2**19
"""Entries of a row of p for every batch member that are judged at once on a CPU: what is made of them then stays in its cache."""


def verify(
    rule: VerificationRule, p: Tensor, q: Tensor | None, draft: Tensor, generator: Generators, lengths: Tensor | None = None, *, check: bool = True
) -> Verdict:
    """Accept a prefix of each draft, and emit one token more.

    Nothing is written into any argument. With `check=False` and one generator nothing waits for the device.

    Args:
        rule: how; see `specref.rules`.
        p: rows of the target, (B, gamma + 1, V).
        q: rows of the draft, (B, gamma, V), or none for a rule that does not read them.
        draft: draft token ids, (B, gamma), integers; anything after a row's own end.
        generator: source of all draws, on the device of `p`; or one for each row, and then a row's tokens depend on nobody else's.
        lengths: draft tokens of each row, (B,), at most gamma; gamma by default. The row of p that follows them is number lengths[b].
        check: whether the arguments' values are looked at.

    Returns:
        Tokens, (B, gamma + 1), filled up with PAD, and the number of accepted ones, (B,).

    Raises:
        ValueError: shapes or devices that do not fit, rows that are no probabilities, tokens out of range, lengths out of range.
    """
    _check_shapes(rule, p, q, draft, lengths)
    check_generators(generator, len(draft))
    rows, gamma = draft.shape
    ends = torch.full((rows,), gamma, device=draft.device) if lengths is None else lengths.long()
    if check:
        _check_values(p, q, draft, ends)
    coins, last = coins_and_last(ends, gamma, generator)
    return _in_pieces(rule, Round(p, q if rule.needs_q else None, draft.long(), ends, coins, last, whole=lengths is None))


def _in_pieces(rule: VerificationRule, given: Round) -> Verdict:
    """The verdict of a large batch, some thousand rows at a time, since a row's depends on that row alone."""
    rows, at_once = len(given.draft), max(1, AT_ONCE // given.p.shape[2])
    if rows <= at_once or given.p.device.type != "cpu":
        return rule(given)
    pieces = [rule(given.rows(i, i + at_once)) for i in range(0, rows, at_once)]
    return Verdict(*map(torch.cat, zip(*pieces, strict=True)))


def _check_shapes(rule: VerificationRule, p: Tensor, q: Tensor | None, draft: Tensor, lengths: Tensor | None) -> None:
    if p.dim() != 3 or draft.dim() != 2:  # noqa: PLR2004
        raise ValueError(f"p must have shape (B, gamma + 1, V) and draft (B, gamma); got {tuple(p.shape)} and {tuple(draft.shape)}")
    rows, gamma = draft.shape
    if p.shape[:2] != (rows, gamma + 1):
        raise ValueError(f"{rows} drafts of {gamma} tokens need p of shape ({rows}, {gamma + 1}, V), not {tuple(p.shape)}")
    if p.shape[2] == 0:
        raise ValueError(f"p has shape {tuple(p.shape)}; its last axis must hold at least one probability")
    if rule.needs_q and q is None:
        raise ValueError(f"{type(rule).__name__} needs the draft's rows q, (B, gamma, V)")
    if q is not None and q.shape != (rows, gamma, p.shape[2]):
        raise ValueError(f"q must have shape {(rows, gamma, p.shape[2])}, not {tuple(q.shape)}: both models need one vocabulary")
    if lengths is not None and (lengths.shape != (rows,) or lengths.is_floating_point() or lengths.dtype == torch.bool):
        raise ValueError(f"lengths must hold {rows} integers, one for each row, not {lengths.dtype} of shape {tuple(lengths.shape)}")
    for name, other in (("q", q), ("draft", draft), ("lengths", lengths)):
        if other is not None:
            check_device("p", p, name, other)


def _check_values(p: Tensor, q: Tensor | None, draft: Tensor, ends: Tensor) -> None:
    gamma = draft.shape[1]
    bad = (ends < 0) | (ends > gamma)
    if bad.any():
        row = int(bad.nonzero()[0, 0])
        raise ValueError(f"lengths, row {row}: {int(ends[row])} is outside 0 … {gamma}")
    inside = torch.arange(gamma + 1, device=p.device) <= ends[:, None]
    check_rows("p", ignoring(p, ~inside))
    if gamma:
        check_tokens("draft", draft, p.shape[-1], inside[:, 1:])
        if q is not None:
            check_rows("q", ignoring(q, ~inside[:, 1:]))
