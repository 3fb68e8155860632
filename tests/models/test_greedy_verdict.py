"""The greedy verdict: near-tie, fault or too many near-ties, on numbers; and on loops over real models, in this interpreter or the one that SPECVERIFY_TRANSFORMERS names."""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from specprops.greedy_verdict import Place, rate, verdict
from specprops.violation import Violation

NAMED = os.environ.get("SPECVERIFY_TRANSFORMERS")
LOOPS = Path(__file__).with_name("greedy_loops.py")
RIGHT = ("CachedSingle", "WithoutCache", "InDouble", "CachedSingleInHalf", "WithoutCacheInHalf")
HIDDEN = ("ValuesNotCropped", "OneHeadNotCropped")
"""Faults that no table shows: of a second layer, and of one head of it."""
HEARING = Path(__file__).with_name("hearing_loops.py")
SHOWN = ("PositionsOffByOne", "StaleMask", "Lenient")


def place(margin: float, noise: float, token: int, flips: int = 0) -> Place:
    """Token 0 is ahead in the oracle; readings without speculation differ from it by the noise, and may have token 1 ahead."""
    oracle = (margin, 0.0, -9.0)
    readings = [(margin - noise, 0.0, -9.0) if number < 2 - flips else (-1e-9, 0.0, -9.0) for number in range(2)]
    return Place("Somewhere", (token,), 0, oracle, *readings)


def test_a_token_that_rounding_leaves_open_is_told_and_not_accused() -> None:
    assert verdict([place(0.5, 0.1, 0), place(0.15, 0.1, 1)]).startswith(
        "1 near-ties in 2 tokens, 0 in 4 without speculation; rounding moves logits by 0.1 at most"
    )


def test_a_token_beyond_twice_the_noise_is_a_fault_and_the_margin_is_shown() -> None:
    with pytest.raises(Violation, match=r"leaves plain decoding's at token 0, where that is ahead by 0\.25 in the logits; rounding explains 0\.2\.") as told:
        verdict([place(0.5, 0.1, 0), place(0.25, 0.1, 1)])
    assert told.value.kind == "logic"


def test_a_token_far_behind_is_a_fault_though_it_is_not_the_second() -> None:
    with pytest.raises(Violation):
        verdict([place(0.01, 0.1, 2)])


def test_many_near_ties_that_the_control_does_not_have_are_a_finding() -> None:
    often = [place(0.15, 0.1, int(number % 10 == 0)) for number in range(1000)]
    with pytest.raises(Violation, match="100 near-ties in 1,000 tokens, 0 in 2,000") as told:
        verdict(often)
    assert told.value.kind == "rate"


def test_as_many_as_the_control_has_are_none() -> None:
    verdict([place(0.05, 0.1, int(number % 10 == 0), flips=2 * (number % 10 == 0)) for number in range(1000)])


@pytest.mark.parametrize("frequency", [0.001, 0.03])
def test_the_gates_evidence_is_at_most_one_on_average(frequency: float) -> None:
    """Over subjects that have near-ties twice as often as the control, the most that is granted; 5 standard errors."""
    torch.manual_seed(0)
    ties, control = (
        torch.distributions.Binomial(size, torch.tensor(mass)).sample((2000,)).int().tolist() for size, mass in ((1000, 2 * frequency), (2000, frequency))
    )
    values = torch.tensor([rate(a, 1000, b, 2000) for a, b in zip(ties, control, strict=True)], dtype=torch.float64).exp()
    assert values.mean() - 5 * values.std() / len(values) ** 0.5 < 1


@pytest.mark.slow
@pytest.mark.skipif(
    not NAMED and importlib.util.find_spec("transformers") is None, reason="no transformers here; SPECVERIFY_TRANSFORMERS names an interpreter that has it"
)
def test_loops_on_real_models(audit: Callable) -> None:
    """A right loop is never accused, though rounding moves its texts in half precision; a faulty one is, with the margin."""
    done = audit(str(LOOPS), "--python", NAMED or sys.executable, "-n", "2")
    assert {name: done.failed(name) for name in RIGHT} == {name: [] for name in RIGHT}, done.out
    assert {name: done.failed(name) for name in HIDDEN} == {name: ["GEN-030"] for name in HIDDEN}
    assert {name for name in SHOWN if "GEN-030" in done.failed(name)} == set(SHOWN)
    coarse = [finding for finding in done.findings() if finding.subject == "CastsToHalf"]
    assert [(finding.property, finding.severity) for finding in coarse] == [("GEN-030", "advisory")]
    assert "In double precision its texts are plain decoding's" in coarse[0].message
    assert all("is ahead by" in finding.message for finding in done.findings() if finding.property == "GEN-030")


@pytest.mark.slow
@pytest.mark.skipif(
    not NAMED and importlib.util.find_spec("transformers") is None, reason="no transformers here; SPECVERIFY_TRANSFORMERS names an interpreter that has it"
)
def test_loops_on_models_that_hear(audit: Callable) -> None:
    """Two layers and an encoder: a right loop passes, and faults that no table shows are found."""
    done = audit(str(HEARING), "--python", NAMED or sys.executable, "-n", "2")
    assert done.failed("Hears") == [], done.out
    assert {name: done.failed(name) for name in ("ValuesNotCropped", "HeardKeysCropped")} == {"ValuesNotCropped": ["GEN-030"], "HeardKeysCropped": ["GEN-030"]}
    assert set(done.failed("HeardBefore")) & {"GEN-005", "GEN-030"}
