"""Speculative beam search finds what the target's own beam search finds, with fewer calls."""

import itertools
import math
import random

import pytest
import torch

from specref.generation import TableModel
from specref.generation.beam import beam_search, speculative_beam_search


def table(seed: int, vocabulary: int, *, ties: bool = False) -> TableModel:
    """Rows that depend on the whole prefix; with ties, their weights are small whole numbers, zeros among them."""

    def row(prefix: tuple[int, ...]) -> list[float]:
        rng = random.Random(hash((seed, prefix)))
        weights = [rng.randint(0, 2) if ties else rng.random() for _ in range(vocabulary)]
        return [math.log(w) if w else -math.inf for w in (weights if any(weights) else [1.0] * vocabulary)]

    return TableModel(row, vocabulary)


def every_text(model: TableModel, prompt: tuple[int, ...], length: int) -> list[tuple[float, tuple[int, ...]]]:
    """All continuations with their scores, the best first."""
    found = []
    for tokens in itertools.product(range(model.vocabulary), repeat=length):
        score = 0.0
        for i, token in enumerate(tokens):
            score += torch.tensor(model.row(prompt + tokens[:i]), dtype=torch.float64).log_softmax(0)[token].item()
        found.append((-score, prompt + tokens))
    return sorted(found)


def test_a_beam_as_wide_as_all_texts_finds_the_best() -> None:
    model, prompt = table(1, 3), (0, 2)
    right = every_text(model, prompt, 3)
    found = beam_search(model, prompt, width=27, max_new_tokens=3).hypotheses
    assert [one.tokens for one in found] == [tokens for _, tokens in right]
    assert [one.score for one in found] == pytest.approx([-score for score, _ in right])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("width", "draft_width"), [(1, 1), (2, 2), (2, 4), (3, 5)])
@pytest.mark.parametrize("gamma", [0, 1, 3])
def test_it_is_the_targets_own_search(width: int, draft_width: int, gamma: int, *, ties: bool) -> None:
    for seed in range(6):
        target, draft = table(seed, 4, ties=ties), table(seed // 2 * 2, 4, ties=ties)  # every second draft is the target
        for eos in ((), 1):
            plain = beam_search(target, [3], width=width, max_new_tokens=6, eos=eos)
            ours = speculative_beam_search(target, draft, [3], width=width, draft_width=draft_width, gamma=gamma, max_new_tokens=6, eos=eos)
            assert ours.hypotheses == plain.hypotheses
            assert ours.target_calls <= plain.target_calls


def test_a_draft_that_is_the_target_saves_gamma_of_gamma_plus_one_calls() -> None:
    model = table(5, 4)
    assert beam_search(model, [0], width=2, max_new_tokens=8).target_calls == 8
    assert speculative_beam_search(model, model, [0], width=2, draft_width=2, gamma=3, max_new_tokens=8).target_calls == 2


def test_a_step_is_kept_only_where_the_draft_holds_all_of_the_targets_best() -> None:
    """A search that goes on with what the draft holds, best or not, is told apart: the draft's beam here lacks the target's second text."""
    target, draft = table(7, 4), table(8, 4)
    plain = beam_search(target, [0], width=3, max_new_tokens=5)
    guided = beam_search(draft, [0], width=3, max_new_tokens=5)
    assert {one.tokens for one in plain.hypotheses} != {one.tokens for one in guided.hypotheses}
    assert speculative_beam_search(target, draft, [0], width=3, draft_width=3, gamma=4, max_new_tokens=5).hypotheses == plain.hypotheses


def test_bad_input_is_refused() -> None:
    model = table(1, 3)
    with pytest.raises(ValueError, match="empty prompt"):
        beam_search(model, [], width=1, max_new_tokens=1)
    with pytest.raises(ValueError, match="1 <= width <= draft_width"):
        speculative_beam_search(model, model, [0], width=2, draft_width=1, gamma=1, max_new_tokens=1)
    with pytest.raises(ValueError, match="vocabulary of 4 tokens and the target one of 3"):
        speculative_beam_search(model, table(1, 4), [0], width=1, draft_width=1, gamma=1, max_new_tokens=1)
