"""A bound in the place of one uniform number; everything else is drawn as usual, and nothing stays patched."""

import random

import numpy as np
import pytest
import torch

from specverify.subjects.draws import part, put_uniform, seed_everything


def draw_all() -> list[float]:
    """Nine uniform numbers, through every primitive that is watched."""
    drawn = [torch.rand(2), torch.rand_like(torch.ones(2)), torch.empty(2).uniform_(), torch.tensor([random.random()]), torch.tensor(np.random.random(2))]
    return torch.cat([part.double() for part in drawn]).tolist()


@pytest.mark.parametrize("place", range(9))
def test_one_number_is_put_at_its_bound_and_the_others_are_as_drawn(place: int) -> None:
    seed_everything(3)
    plain = draw_all()
    seed_everything(3)
    with put_uniform(0.0, place) as told:
        drawn = draw_all()
        assert told() == (9, "float32" if place < 6 else "float64")
    assert drawn == [0.0 if i == place else u for i, u in enumerate(plain)]


def test_nothing_stays_patched() -> None:
    before = (torch.rand, torch.rand_like, torch.Tensor.uniform_, random.random, np.random.random)
    with put_uniform(0.0, 0):
        draw_all()
    assert before == (torch.rand, torch.rand_like, torch.Tensor.uniform_, random.random, np.random.random)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_top_is_the_greatest_value_below_one_of_each_dtype(dtype: torch.dtype) -> None:
    with put_uniform(1.0, 0):
        assert torch.rand((), dtype=dtype).item() == 1 - torch.finfo(dtype).eps / 2


@pytest.mark.parametrize("keywords", [{"from": 2.0, "to": 3.0}, {"to": 0.5}])
def test_uniform_over_another_range_is_left_alone(keywords: dict) -> None:
    with put_uniform(0.0, 0) as told:
        assert float(torch.empty(1).uniform_(**keywords)) > 0
        assert told() == (0, "")


def test_uniform_over_the_unit_range_said_in_words_is_met() -> None:
    with put_uniform(0.0, 0):
        assert float(torch.empty(1).uniform_(**{"from": 0.0, "to": 1.0})) == 0


def test_seeding_reaches_every_global_generator() -> None:
    def draws() -> tuple[float, ...]:
        return (random.random(), float(np.random.random()), float(torch.rand(())))

    seed_everything(2**61 + 5)
    first = draws()
    seed_everything(2**61 + 5)
    assert draws() == first
    assert draws() != first


def test_a_loop_that_rejects_boundary_draws_ends() -> None:
    with put_uniform(1.0, 0):
        tries = 1
        while float(torch.rand(())) > 0.5:
            tries += 1
    assert tries < 10_000


def test_no_two_generators_share_a_stream() -> None:
    """With one seed for all, numpy's legacy generator and torch's are the same Mersenne twister, and nothing would be independent."""
    assert len({part(5, name) for name in ("python", "numpy", "torch", "generator")}) == 4
    seed_everything(5)
    generator = torch.Generator().manual_seed(part(5, "generator"))
    assert not torch.equal(torch.rand(8, generator=generator), torch.rand(8))
