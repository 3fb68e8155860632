"""State that outlives a call: no explored law may accuse what is right with it, nor pass what is wrong only over many calls."""

from collections.abc import Callable

import pytest

TEXT = """
import itertools, torch
import specverify as sv

def token(row, u):
    cdf = row.double().cumsum(0)
    return int((cdf <= u * cdf[-1]).sum())

STOCK, AT = torch.rand(1_000_000, dtype=torch.float64), itertools.count()

@sv.subject("sample")
def from_a_stock(probs):
    return token(probs, STOCK[next(AT)])

AHEAD = [torch.rand((), dtype=torch.float64)]

@sv.subject("sample")
def drawn_by_the_call_before(probs):
    u, AHEAD[0] = AHEAD[0], torch.rand((), dtype=torch.float64)
    return token(probs, u)

CALLS = itertools.count()

@sv.subject("sample")
def reseeded_every_seventh_call(probs):
    if next(CALLS) % 7 == 0:
        torch.manual_seed(1)
    return torch.multinomial(probs, 1)

LATER = itertools.count()

@sv.subject("sample")
def greedy_in_the_end(probs):
    return torch.multinomial(probs, 1) if next(LATER) < 300 else probs.argmax()
"""


@pytest.mark.slow
def test_only_what_is_wrong_is_found(audit: Callable, project: Callable) -> None:
    done = audit(str(project(TEXT)))
    assert {finding.subject for finding in done.findings() if finding.severity == "finding"} == {"reseeded_every_seventh_call", "greedy_in_the_end"}, done.out
