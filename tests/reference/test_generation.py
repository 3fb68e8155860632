"""Generation keeps the target's law, whatever drafts, and rows do not know of each other."""

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch

from specref.draws import inverse_cdf
from specref.generation import (
    Decoding,
    ModelDrafter,
    ModuleModel,
    RoundOfRow,
    TableModel,
    TextDrafter,
    Trace,
    autoregressive,
    ngrams,
    retrieved,
    script,
    speculative,
)
from specref.generation.drafters import Draft
from specref.rules import Block, DeterministicDraft, Greedy, Round, SampleAndMatch, Standard
from specref.rules.verdict import leading, row_at, verdict
from specref.warp import GREEDY, Sampling

PROMPT = [0, 1]


def exact_law(*arguments: object, **how: object):
    """By the project's exact engine, where it is installed."""
    return pytest.importorskip("specverify").exact_law(*arguments, **how)


def table(seed: int, vocabulary: int, dtype: torch.dtype = torch.float64) -> TableModel:
    """Rows that depend on the whole prefix, with small weights; some tokens have none. By a hash: an exploration follows the numbers of generators."""

    def row(prefix: tuple[int, ...]) -> list[float]:
        weights = [hashlib.blake2b(repr((seed, prefix, token)).encode()).digest()[0] % 4 for token in range(vocabulary)]
        return [math.log(w) if w else -math.inf for w in (weights if any(weights) else [1] * vocabulary)]

    return TableModel(row, vocabulary, dtype)


def law_of_the_rows(model: TableModel, length: int, sampling: Sampling) -> dict[tuple[int, ...], float]:
    """The product of the target's rows."""
    law = {(): 1.0}
    for _ in range(length):
        rows = {text: sampling(torch.tensor(model.row((*PROMPT, *text)), dtype=torch.float64)).tolist() for text in law}
        law = {(*text, token): mass * share for text, mass in law.items() for token, share in enumerate(rows[text]) if share}
    return law


class Finds:
    """A retriever that finds what is likely, sometimes nothing."""

    def continuation(self, text: Sequence[int], most: int) -> Sequence[int]:
        return [(len(text) + i) % 2 for i in range(most)] if len(text) % 3 else []


DRAFTERS = {
    "a model": lambda target: ModelDrafter(table(2, target.vocabulary)),
    "a model of another temperature": lambda target: ModelDrafter(table(2, target.vocabulary), Sampling(temperature=0.5)),
    "the target itself": ModelDrafter,
    "n-grams": lambda _: ngrams(),
    "a script": lambda _: script([1, 0, 1, 1], len(PROMPT)),
    "a retriever": lambda _: retrieved(Finds()),
    "nothing": lambda _: None,
}
DRAWN = [name for name in DRAFTERS if "model" in name or "target" in name]


def off(target: TableModel, drafter: object, length: int, **how: object) -> float:
    """Total variation between the generated law, explored exactly, and the product of the rows."""
    law = exact_law(lambda g: speculative(target, drafter, PROMPT, g, max_new_tokens=length, **how).tokens[0], torch.Generator(), probe=0, max_seconds=120)
    assert law.open_mass < 1e-15
    right = law_of_the_rows(target, length, how.get("sampling") or Sampling())
    return sum(abs(law[text] - right.get(text, 0.0)) for text in law.probabilities.keys() | right.keys()) / 2


@pytest.mark.parametrize("gamma", [1, 2, 3])
@pytest.mark.parametrize("name", DRAFTERS)
def test_every_drafter_keeps_the_law(name: str, gamma: int) -> None:
    """Three tokens over one to three rounds."""
    target = table(1, 2)
    assert off(target, DRAFTERS[name](target), 3, gamma=gamma) < 1e-12


@pytest.mark.parametrize("rule", [Standard(), Block(), SampleAndMatch()], ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("gamma", [2, 3])
def test_every_exact_rule_keeps_the_law(rule: object, gamma: int) -> None:
    target = table(3, 2)
    assert off(target, ModelDrafter(table(4, 2)), 3, gamma=gamma, rule=rule) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("rule", [Standard(), Block(), SampleAndMatch(), None], ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize(("vocabulary", "gamma"), [(3, 1), (3, 2), (3, 3)])
def test_every_rule_with_every_drafter(name: str, rule: object, vocabulary: int, gamma: int) -> None:
    target = table(5, vocabulary)
    if rule is not None and rule.needs_q and name not in DRAWN:
        pytest.skip("its proposals are no random choice")
    assert off(target, DRAFTERS[name](target), 3, gamma=gamma, rule=rule) < 1e-12


@pytest.mark.parametrize("rule", [SampleAndMatch(), DeterministicDraft()], ids=lambda rule: type(rule).__name__)
def test_rules_without_q_keep_the_law(rule: object) -> None:
    assert off(table(6, 3), script([1, 0], len(PROMPT)), 2, gamma=1, rule=rule) < 1e-12


@pytest.mark.parametrize("sampling", [Sampling(temperature=0.7, top_p=0.8), Sampling(top_k=2), Sampling(min_p=0.4)], ids=str)
def test_warped_laws_are_kept(sampling: Sampling) -> None:
    target = table(7, 3)
    assert off(target, ModelDrafter(table(8, 3)), 2, gamma=2, sampling=sampling) < 1e-12


class BonusFromTheRowBefore(Standard):
    """Wrong: after a draft that was accepted whole, the emitted token comes from the row before the last."""

    def __call__(self, given: Round) -> object:
        n = super().__call__(given).accepted
        wrong = row_at(given.p, (n - (n == given.lengths).long()).clamp(min=0))
        right = super().__call__(given).tokens.gather(1, n[:, None])[:, 0]
        return verdict(given, n, torch.where(n == given.lengths, inverse_cdf(wrong, given.last), right))


class OneCoin(Standard):
    """Wrong: one uniform for all positions."""

    def __call__(self, given: Round) -> object:
        return super().__call__(given._replace(coins=given.coins[:, :1].expand_as(given.coins)))


class DrawsAgain(SampleAndMatch):
    """Wrong: after a mismatch the target draws once more."""

    def __call__(self, given: Round) -> object:
        accepted = super().__call__(given).accepted
        n = leading(given.drafted & (torch.arange(given.draft.shape[1]) < accepted[:, None]))
        return verdict(given, n, inverse_cdf(row_at(given.p, n), given.last))


@dataclass
class SaysAnotherQ:
    """Wrong: a draft that tells other rows than it drew from."""

    inner: ModelDrafter

    @property
    def vocabulary(self) -> int:
        return self.inner.vocabulary

    def start(self, rows: int, device: torch.device) -> object:
        real = self.inner.start(rows, device)
        honest = real.draft

        def draft(*arguments: object) -> Draft:
            told = honest(*arguments)
            return Draft(told.tokens, told.lengths, told.q.sqrt() / told.q.sqrt().sum(-1, keepdim=True))

        real.draft = draft
        return real


@pytest.mark.parametrize("rule", [BonusFromTheRowBefore(), OneCoin(), DrawsAgain()], ids=lambda rule: type(rule).__name__)
def test_a_wrong_rule_is_seen(rule: object) -> None:
    assert off(table(3, 2), ModelDrafter(table(34, 2)), 3, gamma=2, rule=rule) > 1e-3


def test_a_draft_that_tells_another_q_is_seen() -> None:
    assert off(table(3, 2), SaysAnotherQ(ModelDrafter(table(4, 2))), 3, gamma=2) > 1e-3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", DRAFTERS)
def test_greedy_decoding_is_the_targets_own(name: str, dtype: torch.dtype) -> None:
    for seed in range(3):
        target = table(seed, 5, dtype)
        plain = autoregressive(target, PROMPT, torch.Generator(), max_new_tokens=20, sampling=GREEDY).tokens
        for gamma, rule in ((1, None), (3, None), (4, Greedy())):
            assert (
                speculative(target, DRAFTERS[name](target), PROMPT, torch.Generator(), max_new_tokens=20, gamma=gamma, rule=rule, sampling=GREEDY).tokens
                == plain
            )


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize("rule", [None, Block(), SampleAndMatch()], ids=lambda rule: type(rule).__name__)
def test_a_batch_gives_what_its_rows_give_alone(name: str, rule: object) -> None:
    """Prompts of many lengths, ends at many places, a generator for each row."""
    target, rng = table(9, 6), random.Random(1)
    if isinstance(rule, Block) and name not in DRAWN:
        pytest.skip("its proposals are no random choice")
    prompts = [[rng.randrange(6) for _ in range(rng.randint(1, 7))] for _ in range(8)]
    how = {"max_new_tokens": 12, "gamma": 3, "rule": rule, "eos": [4]}
    together = speculative(target, DRAFTERS[name](target), prompts, [torch.Generator().manual_seed(i) for i in range(8)], **how).tokens
    alone = [speculative(target, DRAFTERS[name](target), text, torch.Generator().manual_seed(i), **how).tokens[0] for i, text in enumerate(prompts)]
    assert together == alone
    assert len({len(row) for row in together}) > 2


@dataclass
class Counted:
    """A model that tells how many tokens it was given, and how often."""

    inner: TableModel
    read: int = 0
    calls: int = 0

    @property
    def vocabulary(self) -> int:
        return self.inner.vocabulary

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def start(self, rows: int) -> object:
        return self.inner.start(rows)

    def logits(self, tokens: torch.Tensor, lengths: Sequence[int], state: object, wanted: Sequence[int]) -> torch.Tensor:
        self.calls, self.read = self.calls + 1, self.read + sum(lengths)
        return self.inner.logits(tokens, lengths, state, wanted)


@pytest.mark.parametrize("name", DRAFTERS)
def test_the_target_is_called_once_per_round_and_reads_nothing_twice(name: str) -> None:
    target = Counted(table(10, 4))
    done = speculative(target, DRAFTERS[name](table(10, 4)), PROMPT, torch.Generator().manual_seed(5), max_new_tokens=30, gamma=3)
    rounds = done.trace.rounds
    assert target.calls == done.trace.target_calls == len(rounds)
    rejected = sum(len(one.drafted) - one.accepted for one in rounds)
    assert target.read == len(PROMPT) + len(done.tokens[0]) - 1 + rejected


def test_the_draft_model_reads_nothing_twice() -> None:
    draft = Counted(table(2, 4))
    done = speculative(table(10, 4), ModelDrafter(draft), PROMPT, torch.Generator().manual_seed(5), max_new_tokens=30, gamma=3)
    drafting = [one for one in done.trace.rounds if one.drafted]
    assert draft.calls == done.trace.draft_steps == sum(len(one.drafted) for one in drafting)
    again = sum(max(0, len(one.drafted) - 1 - one.accepted) for one in drafting)
    assert draft.read <= len(PROMPT) + len(done.tokens[0]) + again


def test_the_rounds_stream_as_they_happen() -> None:
    target = table(11, 4)
    decoding = Decoding(target, ModelDrafter(target), PROMPT, torch.Generator().manual_seed(1), max_new_tokens=9, gamma=3)
    seen: list[int] = []
    for one in decoding:
        seen += one.emitted
        assert decoding.new[0] == seen
        assert one.emitted[: one.accepted] == one.drafted[: one.accepted]
    assert seen == decoding.texts[0][len(PROMPT) :]
    assert len(seen) == 9
    assert decoding.trace.block_efficiency == 3.0  # 4, 4 and the last one


def test_an_end_inside_of_an_accepted_draft_cuts_it() -> None:
    always = TableModel(lambda prefix: [0.0 if token == len(prefix) % 4 else -math.inf for token in range(4)], 4)
    done = speculative(always, ModelDrafter(always), [0], torch.Generator(), max_new_tokens=20, gamma=4, eos=3)
    assert done.tokens == [[1, 2, 3]]
    assert done.trace.rounds[0].accepted == 4
    assert done.trace.rounds[0].emitted == (1, 2, 3)


def test_a_stop_token_in_the_prompt_means_nothing() -> None:
    assert len(autoregressive(table(1, 3), [2, 2], torch.Generator(), max_new_tokens=1, eos=2).tokens[0]) == 1


@pytest.mark.parametrize("length", [0, 1, 2])
def test_lengths_are_kept(length: int) -> None:
    target = table(12, 3)
    assert len(speculative(target, ModelDrafter(target), PROMPT, torch.Generator(), max_new_tokens=length, gamma=4).tokens[0]) == length


def test_uniforms_are_told_where_they_are_asked_for() -> None:
    target = table(13, 3)
    done = speculative(target, ModelDrafter(target), PROMPT, torch.Generator().manual_seed(3), max_new_tokens=6, gamma=2, keep_uniforms=True)
    assert all(len(one.uniforms) == len(one.drafted) + 1 for one in done.trace.rounds)
    assert len({u for one in done.trace.rounds for u in one.uniforms}) == sum(len(one.drafted) + 1 for one in done.trace.rounds)


def test_a_module_that_reads_all_anew_gives_the_tables_tokens() -> None:
    target = table(14, 4)

    def module(tokens: torch.Tensor) -> torch.Tensor:
        return torch.tensor([[target.row(tuple(row[: i + 1])) for i in range(len(row))] for row in tokens.tolist()], dtype=torch.float64)

    how = {"max_new_tokens": 8, "gamma": 3}
    one = speculative(ModuleModel(module, 4), ModelDrafter(target), [[0, 1], [2]], torch.Generator().manual_seed(2), **how)
    other = speculative(target, ModelDrafter(target), [[0, 1], [2]], torch.Generator().manual_seed(2), **how)
    assert one.tokens == other.tokens


def test_the_figures_of_a_trace() -> None:
    rounds = [RoundOfRow(0, (1, 2), n, emitted, depth=2) for n, emitted in ((2, (1, 2, 0)), (0, (3,)), (1, (1, 0)))] + [RoundOfRow(0, (), 0, (2,))]
    trace = Trace(2, rounds, target_calls=4, draft_steps=6, target_seconds=4.0, draft_seconds=1.2)
    assert trace.acceptance_by_position() == pytest.approx([2 / 3, 1 / 2])
    assert trace.acceptance == 3 / 5  # 2 of 2, 0 of 1, 1 of 2
    assert trace.block_efficiency == 7 / 4
    assert trace.cost == pytest.approx(0.2)
    assert trace.predicted_speedup == pytest.approx((1 + 0.6 + 0.36) / 1.4)
    assert trace.measured_speedup(Trace(0, [RoundOfRow(0, (), 0, (1,))], 1, 0, 1.0)) == pytest.approx(7 / 5.2)


def test_ngrams_look_up_the_latest_occurrence_of_the_longest_suffix() -> None:
    look = ngrams(3).propose
    assert look([1, 2, 3, 9, 1, 2, 3], 2) == [9, 1]
    assert look([5, 3, 7, 2, 3, 8, 3], 1) == [8]
    assert look([1, 2, 3], 4) == []
    assert look([4], 4) == []
    assert look([4, 4], 3) == [4]


BAD: dict[str, tuple[Callable[[TableModel], object], str]] = {
    "an empty prompt": (lambda t: speculative(t, None, [[0], []], torch.Generator(), max_new_tokens=1), "prompts, row 1: an empty prompt"),
    "no prompt": (lambda t: speculative(t, None, [], torch.Generator(), max_new_tokens=1), "prompts is empty"),
    "a token out of range": (lambda t: speculative(t, None, [0, 3], torch.Generator(), max_new_tokens=1), "prompts, row 0, column 1: token 3 is outside 0 … 2"),
    "another vocabulary": (lambda t: speculative(t, ModelDrafter(table(1, 4)), [0], torch.Generator(), max_new_tokens=1), "vocabulary of 4 tokens and the target one of 3"),
    "gamma": (lambda t: speculative(t, None, [0], torch.Generator(), max_new_tokens=1, gamma=-1), "gamma must be at least 0"),
    "generators": (lambda t: speculative(t, None, [[0], [1]], [torch.Generator()], max_new_tokens=1), "2 rows need one generator for all or one each"),
    "a rule without its q": (lambda t: speculative(t, script([1], 1), [0], torch.Generator(), max_new_tokens=2, rule=Standard()), "needs rows q"),
    "a draft out of range": (lambda t: speculative(t, TextDrafter(lambda _, n: [7] * n), [0], torch.Generator(), max_new_tokens=2), "the draft, row 0, column 0: token 7"),
    "NaN": (lambda _: autoregressive(TableModel(lambda _: [math.nan, 0.0], 2), [0], torch.Generator(), max_new_tokens=1), "column 0: nan is no logit"),
    "nothing left": (lambda _: autoregressive(TableModel(lambda _: [-math.inf] * 2, 2), [0], torch.Generator(), max_new_tokens=1), "every token is masked"),
    "a draft's NaN": (lambda t: speculative(t, ModelDrafter(TableModel(lambda _: [math.nan] * 3, 3)), [0], torch.Generator(), max_new_tokens=2), "the draft model's rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name: str) -> None:
    call, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence):
        call(table(1, 3))


def test_random_texts_do_not_depend_on_their_drafts_in_law() -> None:
    """Frequencies of 3,000 texts from one seed each, as a plain loop would count them: total variation below 0.05 at two tokens of three."""
    target, counts = table(15, 3), dict.fromkeys(itertools.product(range(3), repeat=2), 0)
    generator = torch.Generator().manual_seed(1)
    for text in speculative(target, ModelDrafter(table(2, 3)), [PROMPT] * 3_000, generator, max_new_tokens=2, gamma=2).tokens:
        counts[tuple(text)] += 1
    right = law_of_the_rows(target, 2, Sampling())
    assert sum(abs(count / 3_000 - right.get(text, 0.0)) for text, count in counts.items()) / 2 < 0.05
