"""The tool's own draws: at random they follow their weights, and all of them together are the law."""

import math
import random

from specverify.contracts.picks import at_random, every, weights


def test_all_picks_with_their_probabilities() -> None:
    def two(pick) -> tuple[int, int]:
        first = pick([0.5, 0.5, 1.0])
        return first, pick([1.0, 4.0]) if first == 0 else -1

    assert {result: chance for chance, result in every(two)} == {(0, 0): 0.125, (0, 1): 0.375, (2, -1): 0.5}


def test_nothing_to_pick() -> None:
    assert every(lambda _: "once") == [(1.0, "once")]


def test_random_picks_never_fall_on_weight_zero() -> None:
    pick = at_random(random.Random(1))
    drawn = [pick([0.0, 0.25, 0.25, 1.0, 1.0]) for _ in range(4_000)]
    assert set(drawn) == {1, 3}
    assert abs(drawn.count(1) / 4_000 - 0.25) < 0.03


def test_weights_are_the_steps_of_cumulative_sums() -> None:
    assert weights([0.25, 0.25, 2.0]) == [0.125, 0.0, 0.875]
    assert math.fsum(weights([0.1, 0.30000000000000004, 1.0])) == 1
