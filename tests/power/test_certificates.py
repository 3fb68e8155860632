"""Certificates: what a million draws in batches promise, and a fault that only the joint law of a block shows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from specverify.audit.records import PropertyRecord

STEPS = """
import torch
import specverify as sv


def one(p, q, draft):
    for i, x in enumerate(draft.tolist()):
        if torch.rand(()) >= p[i, x] / q[i, x]:
            return [*draft[:i].tolist(), int(torch.multinomial((p[i] - q[i]).clamp(min=0), 1))]
    return [*draft.tolist(), int(torch.multinomial(p[-1], 1))]


def many(p, q, draft, bonus):
    rows, gamma = draft.shape
    ratio = (p[:, :gamma] / q).gather(-1, draft[..., None])[..., 0]
    n = (torch.rand(rows, gamma) < ratio).long().cumprod(1).sum(1)
    weights = torch.cat([(p[:, :gamma] - q).clamp(min=0), bonus[:, None]], 1)[torch.arange(rows), n]
    tokens = torch.where(torch.arange(gamma + 1) < n[:, None], torch.nn.functional.pad(draft, (0, 1)), -1)
    return tokens.scatter_(1, n[:, None], torch.multinomial(weights, 1))


@sv.subject("verify_chain", rule="standard", batch=True)
def right(p, q, draft):
    return one(p, q, draft) if draft.dim() == 1 else many(p, q, draft, p[:, -1])


@sv.subject("verify_chain", rule="standard", batch=True)
def bonus_from_q(p, q, draft):
    return one(p, q, draft) if draft.dim() == 1 else many(p, q, draft, q[:, -1])
"""


@pytest.mark.slow
def test_a_bonus_from_q_passes_first_tokens_and_fails_blocks(audit: Callable, project: Callable[[str], Path]) -> None:
    done = audit(str(project(STEPS)), "-n", "1")
    assert done.failed("right") == []
    assert done.failed("bonus_from_q") == ["CHN-014"]
    given = {(row.subject, row.property): row.certificate for row in done.records if isinstance(row, PropertyRecord) and row.certificate}
    assert given["right", "CHN-013"].bound <= 0.004
    assert given["right", "CHN-014"].bound <= 0.01
    assert {place for place in given if place[0] == "bonus_from_q"} == {("bonus_from_q", "CHN-013")}
    assert "that of the tokens of a block, bonus included by 0.00" in done.out
