"""Bounds of a uniform generator: rare ones are grid effects, coarse ones and whole regions are findings."""

from collections.abc import Callable

import pytest

from specverify.audit.records import Finding

TEXT = """
import torch
import specverify as sv

@sv.subject("sample", name="rare")
def rare(probs):
    cdf = probs.double().cumsum(-1)
    return torch.searchsorted(cdf, torch.rand(1, dtype=torch.float64))

@sv.subject("sample", name="short")
def short(probs):
    cdf = probs.double().cumsum(-1) * (1 - 2.0**-14)
    return torch.searchsorted(cdf, torch.rand(1, dtype=torch.float64), right=True).clamp(max=probs.shape[-1] - 1)

@sv.subject("sample", name="coarse")
def coarse(probs):
    return torch.searchsorted(probs.double().cumsum(-1), torch.rand(1, dtype=torch.bfloat16).double()).clamp(max=int(probs.nonzero()[-1]))
"""


@pytest.mark.slow
def test_only_what_is_rare_is_a_grid_effect(audit: Callable, project: Callable) -> None:
    done = audit(str(project(TEXT)))
    assert done.code == 1, done.out
    severities = {f.subject: f.severity for f in done.records if isinstance(f, Finding) and f.property in ("SMP-003", "SMP-002")}
    assert severities == {"rare": "grid", "short": "finding", "coarse": "finding"}


@pytest.mark.slow
def test_a_subject_with_two_sources_of_randomness_is_not_accused(audit: Callable, project: Callable) -> None:
    """Coins from the generator handed over, the replacement from the global one: lawful, as long as we do not seed both alike."""
    text = """
import torch
import specverify as sv

@sv.subject("verify_chain", rule="standard", seed="generator")
def step(p, q, draft, generator):
    for n, token in enumerate(draft.tolist()):
        if torch.rand((), generator=generator) * q[n, token] >= p[n, token]:
            row = (p[n] - q[n]).clamp(min=0)
            return [*draft[:n].tolist(), int((row.cumsum(-1) <= torch.rand(()) * row.sum()).sum().clamp(max=int(row.nonzero()[-1])))]
    return [*draft.tolist(), int(torch.multinomial(p[-1], 1))]
"""
    done = audit(str(project(text)), "--scope", "none")
    assert done.code == 0, done.out
