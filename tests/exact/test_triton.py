"""Kernels run by Triton's interpreter have the right law, and what is not followed in them is told.

Needs Triton, which the test environment does not have: `pip install -e '.[triton]'` (285 MB, Linux; no GPU), then `pytest tests/exact/test_triton.py`.
"""

import importlib.util
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from specverify.exact import NotExact, exact_law
from specverify.exact import triton as follower
from specverify.law import ExactLaw, Law
from specverify.stats import log_e_value

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed; the extra `triton` brings it", allow_module_level=True)

HALF_QUARTER = torch.tensor([0.5, 0.25, 0.125, 0.125])
DRAWS = 500
"""Launches, 10 to 20 ms each."""
SECONDS = 5.0
"""Of a core: the bar for one law at V 8, gamma 3."""


os.environ["TRITON_INTERPRET"] = "1"  # Triton asks for it where a kernel is declared, of its own at import, and once more at a launch


def _kernels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("triton_kernels", Path(__file__).with_name("triton_kernels.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


K = _kernels()
if not hasattr(K.tl.rand, "rewriter"):
    pytest.skip("Triton was imported for compiling before these tests were", allow_module_level=True)


def rows(n: int, width: int, seed: int) -> Tensor:
    table = torch.rand(n, width, generator=torch.Generator().manual_seed(seed))
    return table / table.sum(-1, keepdim=True)


def verified(p: Tensor, q: Tensor, draft: Tensor, fault: str = "", *, given: bool = False, seed: int = 17) -> list[Tensor]:
    gamma, width = q.shape
    out, count = torch.full((gamma + 1,), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    uniforms = torch.rand(gamma + 1) if given else torch.zeros(1)
    K.verify[1,](p, q, draft, uniforms, out, count, seed, 3, width, gamma, 8, fault, given)
    return [*out[: int(count)]]


def right(p: Tensor, q: Tensor, draft: Tensor) -> Law:
    """Given the draft, by the formula."""
    p, q, drafts = p.double(), q.double(), tuple(draft.tolist())
    masses, left = {}, 1.0
    for i, x in enumerate(drafts):
        accept, rest = min(1.0, float(p[i, x] / q[i, x])), (p[i] - q[i]).clamp(min=0)
        for y, share in enumerate((rest / rest.sum()).tolist()):
            outcome = (*drafts[:i], y)
            masses[outcome] = masses.get(outcome, 0.0) + left * (1 - accept) * share
        left *= accept
    for y, share in enumerate(p[-1].tolist()):
        outcome = (*drafts, y)
        masses[outcome] = masses.get(outcome, 0.0) + left * share
    return Law({outcome: mass for outcome, mass in masses.items() if mass > 0})


def written(kernel: Any, *given: Any, n: int = 1) -> Callable[[], Tensor]:
    """A function that launches a kernel and returns what it writes."""

    def function() -> Tensor:
        out = torch.zeros(n, dtype=torch.int32)
        kernel[1,](*(one() if callable(one) else out if one is None else one for one in given))
        return out

    return function


def law_of(kernel: Any, *given: Any, n: int = 1) -> ExactLaw:
    return exact_law(written(kernel, *given, n=n))


@pytest.mark.parametrize("given", [False, True], ids=["by seed and offset", "uniforms given"])
@pytest.mark.parametrize(("width", "gamma"), [(2, 1), (5, 2), (8, 3)])
def test_a_verify_kernel_has_the_right_law(width: int, gamma: int, *, given: bool) -> None:
    p, q, draft = rows(gamma + 1, width, 1), rows(gamma, width, 2), torch.arange(gamma) % width
    start = time.process_time()
    law = exact_law(lambda *rest: verified(*rest, given=given), p, q, draft)
    assert time.process_time() - start < SECONDS
    assert law.open_mass == 0
    assert law.compare(right(p, q, draft)).verdict in {"equal", "rounding"}


@pytest.mark.parametrize("fault", ["row off by one", "residual from p", "bonus from q", "one offset for two decisions"])
def test_planted_faults_have_another_law(fault: str) -> None:
    p, q = rows(4, 8, 1), rows(3, 8, 2)
    draft = (p[:-1] / q - 0.6).abs().argmin(-1)  # tokens that are often accepted and often not
    start = time.process_time()
    law = exact_law(verified, p, q, draft, fault)
    assert time.process_time() - start < SECONDS
    comparison = law.compare(right(p, q, draft))
    assert comparison.verdict == "different"
    assert comparison.tv > 1e-3
    assert any("used twice" in note for note in law.notes) == (fault == "one offset for two decisions")


def test_acceptance_at_zero_is_found_with_its_probability() -> None:
    p, q, draft = torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), torch.tensor([0])
    comparison = exact_law(verified, p, q, draft, "<=").compare(right(p, q, draft))
    assert comparison.verdict == "grid"
    assert math.fsum(comparison.impossible.values()) == 2.0**-31  # Triton's uniform numbers have 31 bits
    assert exact_law(verified, p, q, draft).compare(right(p, q, draft)).verdict in {"equal", "rounding"}


def test_a_race_in_a_kernel_has_its_closed_form() -> None:
    law = law_of(K.race, HALF_QUARTER, None, 5, 0, 4)
    assert law.compare(Law({(i,): float(x) for i, x in enumerate(HALF_QUARTER)})).verdict in {"equal", "rounding"}
    assert law.idealised


def test_lanes_are_draws_of_their_own_and_the_first_is_that_of_rand() -> None:
    law = law_of(K.lanes, None, 5, 9, n=2)
    expected = {(0, 0): 3 / 8, (0, 1): 1 / 8, (1, 0): 3 / 16, (1, 1): 1 / 16, (1, 2): 3 / 16, (1, 3): 1 / 16}
    assert law.compare(Law(expected)).tv < 1e-6


def test_normal_numbers() -> None:
    assert law_of(K.normal, None, 5, 9)[1,] == pytest.approx(0.5, abs=1e-12)


def test_what_is_added_at_an_address_is_decided() -> None:
    law = law_of(K.counted, None, 5, 9)
    assert law.compare(Law({(0,): 9 / 16, (1,): 6 / 16, (2,): 1 / 16})).tv < 1e-6


def test_masked_loads_and_stores() -> None:
    """Of four elements the last two are `other`, which is the fourth draw; the third is not stored."""
    law = exact_law(lambda: written(K.masked, torch.rand(4), None, 2, n=4)())
    assert law[1, 1, 0, 1] == 2.0**-6
    assert {outcome[2] for outcome in law.probabilities} == {0}


def test_an_address_that_a_draw_decides() -> None:
    law = exact_law(lambda: written(K.led_by_a_token, torch.rand(1), torch.tensor([7, 8], dtype=torch.int32), None)())
    assert law.probabilities == {(7,): 0.75, (8,): 0.25}


def test_descriptors_own_reductions_masked_atomics_and_loops() -> None:
    described = exact_law(lambda: written(K.described, torch.rand(4), None, n=4)())
    assert described[1, 1, 1, 1] == 2.0**-8
    assert len(described.probabilities) == 16
    assert law_of(K.own_reduction, None, 5, 9)[0,] == pytest.approx(9 / 16, abs=1e-6)
    assert law_of(K.masked_count, None, 5, 9)[1,] == pytest.approx(1 / 4, abs=1e-6)
    waiting = law_of(K.waiting, None, 5, 9)
    assert [round(waiting[n,], 6) for n in range(4)] == [0.5, 0.25, 0.125, 0.125]


def test_a_fault_of_the_following_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    from specverify.exact import triton_memory

    monkeypatch.setattr(triton_memory, "_places", lambda *_: 1 / 0)
    with pytest.raises(NotExact, match="not followed rightly"):
        law_of(K.lanes, None, 5, 9, n=2)


def test_uniform_numbers_have_the_values_that_the_genuine_kernel_gives() -> None:
    bits = torch.tensor([0, 1, 2**24 + 1, 2**31 - 1, 123_456_789, 2**30 + 77, 65, 2**31 - 64], dtype=torch.int32)
    out = torch.empty(8)
    K.numbers[1,](bits, out, 8)
    from specverify.exact import triton_random

    assert torch.equal(triton_random._even().values(bits.long()), out)
    assert out.max() < 1


def raw_address() -> Tensor:
    out, u = torch.zeros(1, dtype=torch.int32), torch.zeros(4)
    K.by_address[1,](u.data_ptr(), out, 1)
    return out


def of_bfloat16() -> Tensor:
    return written(K.halves, torch.rand(1, dtype=torch.bfloat16), None)()


def as_integers() -> Tensor:
    return written(K.as_integers, torch.rand(1), None)()


def the_draw_itself() -> Tensor:
    out = torch.zeros(1)
    K.the_draw_itself[1,](out, 5, 9)
    return out


REFUSED = {
    "sum of draws": (written(K.sum_of_draws, None, 5, 9), "sum"),
    "product of draws": (written(K.product_of_draws, None, 5, 9), "mul"),
    "bits of a draw": (written(K.bits_of_a_draw, None, 5, 9), "continuous"),
    "32-bit whole numbers": (written(K.whole_numbers, None, 5, 9), "32-bit whole numbers"),
    "another generator": (written(K.philox_by_hand, None, 5, 9), "philox"),
    "a block of seeds": (written(K.block_of_seeds, None, 5, 9), "block of seeds"),
    "one number read as two": (written(K.one_number_read_as_two, None, 5, 9), "twice from one state"),
    "past the end": (written(K.past_the_end, None, 5, 9), "outside of its arguments"),
    "an address of no argument": (raw_address, "outside of its arguments"),
    "bfloat16": (of_bfloat16, "bfloat16"),
    "draws as integers": (as_integers, "int32"),
    "a draw returned": (the_draw_itself, "continuous"),
}
"""Each would have a silently wrong law, or one that says nothing, without its guard; with a word of the reason."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_followed_is_told(name: str) -> None:
    function, word = REFUSED[name]
    with pytest.raises(NotExact, match=word):
        exact_law(function)


def test_real_numbers_instead_of_the_grid_are_refused() -> None:
    with pytest.raises(NotExact, match="grid"):
        exact_law(written(K.race, HALF_QUARTER, None, 5, 0, 4), grid=False)


@pytest.mark.slow
def test_many_seeds_of_the_genuine_kernel_follow_the_law() -> None:
    p, q, draft = rows(2, 3, 1), rows(1, 3, 2), torch.tensor([1])
    law = exact_law(verified, p, q, draft)
    counts: dict[Any, int] = {}
    for seed in range(DRAWS):
        outcome = tuple(int(token) for token in verified(p, q, draft, seed=seed))
        counts[outcome] = counts.get(outcome, 0) + 1
    assert log_e_value(counts, Law(law.probabilities)) < math.log(1e6)
    assert len(counts) == len(law.probabilities)


def test_other_releases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "TESTED", ("3.8.0",))
    with pytest.raises(NotExact, match="whose interpreter is not followed"):
        law_of(K.race, HALF_QUARTER, None, 5, 0, 4)


def test_a_compiled_kernel_is_refused() -> None:
    from triton.runtime.jit import JITFunction

    compiled = JITFunction(K.race.fn)
    with pytest.raises(NotExact, match="compiled Triton kernel"):
        law_of(compiled, HALF_QUARTER, None, 5, 0, 4)


def test_a_kernel_is_left_as_it_was() -> None:
    before = written(K.race, HALF_QUARTER, None, 5, 0, 4)()
    law_of(K.race, HALF_QUARTER, None, 5, 0, 4)
    assert torch.equal(written(K.race, HALF_QUARTER, None, 5, 0, 4)(), before)


def test_a_read_that_escapes_is_seen_by_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads that lose their nodes give a wrong law; the genuine kernel at other points of the box does not."""
    from specverify.exact import triton_memory

    monkeypatch.setattr(triton_memory, "_seen", lambda *_: None)
    with pytest.raises(NotExact, match="replay"):
        exact_law(lambda: written(K.led_by_a_token, torch.rand(1), torch.tensor([7, 8], dtype=torch.int32), None)(), probe=16)
