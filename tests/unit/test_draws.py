"""Boundary draws take the place of uniform ones, and leave no trace."""

import random

import numpy as np
import torch

from specverify.subjects.draws import boundary_draws, seed_everything


def test_every_uniform_primitive_is_replaced_and_put_back() -> None:
    before = (torch.rand, torch.rand_like, torch.Tensor.uniform_, random.random, np.random.random)
    with boundary_draws(["low"]) as count:
        drawn = [torch.rand(2).sum(), torch.rand_like(torch.ones(2)).sum(), torch.empty(2).uniform_().sum(), random.random(), np.random.random(2).sum()]
        assert [float(x) for x in drawn] == [0.0] * 5
        assert count() == 9
    assert before == (torch.rand, torch.rand_like, torch.Tensor.uniform_, random.random, np.random.random)


def test_the_top_is_the_greatest_value_below_one_of_each_dtype() -> None:
    with boundary_draws(["top"]):
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            assert torch.rand((), dtype=dtype).item() == 1 - torch.finfo(dtype).eps / 2


def test_values_are_taken_in_turn_across_calls() -> None:
    with boundary_draws(["low", "top"]):
        assert [random.random() > 0.5 for _ in range(4)] == [False, True, False, True]


def test_uniform_over_another_range_draws_as_usual() -> None:
    with boundary_draws(["low"]):
        assert 2 <= float(torch.empty(1).uniform_(2, 3)) < 3


def test_seeding_reaches_every_global_generator() -> None:
    def draws():
        return (random.random(), float(np.random.random()), float(torch.rand(())))

    seed_everything(2**61 + 5)
    first = draws()
    seed_everything(2**61 + 5)
    assert draws() == first
    assert draws() != first


def test_a_loop_that_rejects_boundary_draws_ends() -> None:
    """A rejection sampler that turns down every boundary value gets real draws after a while: that path has probability zero."""
    seed_everything(1)
    with boundary_draws(["top"]):
        tries = 1
        while float(torch.rand(())) > 0.5:
            tries += 1
    assert tries < 10_000
