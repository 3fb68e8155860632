"""What stands around a step, by hand: processors, grammars, id maps, log-probabilities."""

import math

import pytest
import torch

from specref.grammar import Automaton
from specref.logprobs import likeliest, token_logprobs
from specref.processors import Processors, occurrences, repeats
from specref.vocabulary import MISSING, to_draft, to_target

LOGITS = torch.tensor([[2.0, -1.0, 0.5, 0.0], [1.0, 1.0, -2.0, 4.0]])
PREFIX, DRAFT = torch.tensor([3, 1]), torch.tensor([0])


def test_a_row_counts_the_prefix_and_the_drafts_before_it() -> None:
    assert occurrences(4, PREFIX, DRAFT).tolist() == [[0, 1, 0, 1], [1, 1, 0, 1]]
    assert occurrences(4, PREFIX, PREFIX[:0]).tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize(("processors", "rows"), [
    (Processors(), LOGITS.tolist()),
    (Processors(repetition=2.0), [[2, -2, 0.5, 0], [0.5, 0.5, -2, 2]]),
    (Processors(presence=1.0), [[2, -2, 0.5, 0], [0, 0, -2, 4]]),
    (Processors(frequency=0.5), [[2, -1.5, 0.5, 0], [0.5, 0.5, -2, 4]]),
    (Processors(bias={2: 3.0}, repetition=2.0), [[2, -2, 3.5, 0], [0.5, 0.5, 1, 2]]),
    (Processors(least=2), [[-math.inf, -1, 0.5, 0], LOGITS[1].tolist()]),
    (Processors(ngram=1), [[2, -math.inf, 0.5, -math.inf], [-math.inf, -math.inf, -2, -math.inf]]),
])  # fmt: skip
def test_each_processor_of_a_prompt_of_one_and_a_token_generated(processors: Processors, rows: list) -> None:
    assert processors(LOGITS, PREFIX, DRAFT, prompt=1).tolist() == rows


def test_frequency_counts_each_time_and_leaves_the_logits_as_they_were() -> None:
    """Three drafts of one token at 0.5 cost it 1.5 in the bonus row (faults: B139)."""
    logits, drafts = torch.zeros(4, 2), torch.tensor([1, 1, 1])
    found = Processors(frequency=0.5)(logits, torch.tensor([0]), drafts, prompt=1)
    assert found[:, 1].tolist() == [0, -0.5, -1, -1.5]
    assert not logits.any()


def test_n_grams_may_stand_across_prefix_and_draft() -> None:
    """After 0 1 0 a 1 would be the second 0 1; after one draft more, 2, nothing repeats."""
    assert repeats(3, torch.tensor([0, 1]), torch.tensor([0, 2]), 2).nonzero().tolist() == [[1, 1]]
    assert not repeats(3, torch.tensor([0, 1]), torch.tensor([0, 2]), 0).any()


@pytest.mark.parametrize(("arguments", "told"), [
    ((LOGITS, PREFIX, PREFIX, 1), "must be"),
    ((LOGITS, torch.tensor([4]), DRAFT, 1), "prefix, column 0: token 4"),
    ((LOGITS, PREFIX, DRAFT, 3), "prompt is 3"),
    ((LOGITS * math.nan, PREFIX, DRAFT, 1), "logits"),
])  # fmt: skip
def test_what_is_no_step_is_refused(arguments: tuple, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Processors()(*arguments)


def test_a_mask_is_that_of_the_state_behind_the_nodes_own_path() -> None:
    """0 leads to a state that wants 1; the node below the forbidden 1 has none."""
    automaton = Automaton(torch.tensor([[1, -1], [-1, 0]]))
    tokens, parents = torch.tensor([0, 1, 1, 0]), torch.tensor([-1, -1, 0, 1])
    assert automaton.states(0, tokens, parents).tolist() == [0, 1, -1, 0, -1]
    assert automaton.mask(0, tokens, parents).int().tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 0]]
    with pytest.raises(ValueError, match="must have shape"):
        Automaton(torch.tensor([[2]]))


def test_ids_there_and_back() -> None:
    targets = torch.tensor([1, 3, 4])
    ids = torch.tensor([[0, 1], [2, 0]], dtype=torch.int32)
    mapped = to_target(ids, targets - torch.arange(3))
    assert mapped.tolist() == [[1, 3], [4, 1]]
    assert to_draft(mapped, targets).tolist() == ids.tolist()
    assert to_draft(torch.tensor([0, 2, 5]), targets).tolist() == [MISSING] * 3


def test_logprobs_are_of_each_tokens_own_row() -> None:
    rows = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0], [9.0, 9.0]])
    tokens = torch.tensor([1, 1])
    assert token_logprobs(rows, tokens).exp().tolist() == pytest.approx([0.75, 0.2])
    ids, values = likeliest(rows, tokens, 1)
    assert ids.tolist() == [[1], [0]]
    assert values.exp().flatten().tolist() == pytest.approx([0.75, 0.8])
    assert token_logprobs(rows * 2, tokens, 2.0).exp().tolist() == pytest.approx([0.75, 0.2])
    with pytest.raises(ValueError, match="4 tokens were emitted"):
        token_logprobs(rows, torch.zeros(4, dtype=torch.int64))
