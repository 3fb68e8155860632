"""Two ranks in one process: what they exchange, whose numbers they draw, and what ends them."""

from typing import Any

import pytest
import torch

from specverify.models.ranks import Ended, Ranks


def test_both_ranks_get_what_both_sent_however_often() -> None:
    def play(rank: Any) -> list[list[int]]:
        return [rank.gather(torch.tensor([10 * step + rank.process_index])).tolist() for step in range(3)]

    assert Ranks(play).run() == [[0, 1], [10, 11], [20, 21]]


def test_a_rank_draws_the_numbers_of_its_own_seed_whatever_the_other_draws() -> None:
    def play(rank: Any) -> list[float]:
        torch.manual_seed(rank.process_index)
        drawn = []
        for _ in range(3):
            drawn.append(float(torch.rand(())))
            torch.rand(rank.process_index * 5)
            rank.wait_for_everyone()
        return drawn

    found = Ranks(play).run()
    torch.manual_seed(0)
    assert found == [float(torch.rand(())) for _ in range(3)]


def test_a_rank_that_waits_for_one_that_ended_is_told() -> None:
    with pytest.raises(Ended, match="rank 0 waits at exchange 0, and rank 1 has ended"):
        Ranks(lambda rank: rank.wait_for_everyone() if rank.is_main_process else None).run()


def test_the_first_error_of_a_rank_is_the_one_that_comes_out() -> None:
    def play(rank: Any) -> None:
        if not rank.is_main_process:
            raise ValueError("mine")
        rank.wait_for_everyone()

    with pytest.raises(ValueError, match="mine"):
        Ranks(play).run()
