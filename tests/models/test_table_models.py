"""Models made of tables: the row that a query gets is that of its text, by whatever way it came, and any fault of a cache, a position or a mask changes it."""

import itertools
import math
from typing import Any

import pytest
import torch

from specverify.contracts import array
from specverify.contracts.heard import heard
from specverify.contracts.table_models import Table
from specverify.errors import SpecverifyError
from specverify.exact import exact_law
from specverify.law import Law
from specverify.models import built
from specverify.models.seen import NO_MASS, logits, prefix

V, DEPTH = 3, 3
TEXT = (1, 0)
IDS = torch.tensor([[*TEXT, 2, 1, 0]])


def table(shift: int, text: tuple[int, ...] = TEXT) -> Table:
    """Rows that differ by prefix, some tokens without mass."""
    count = sum(V**depth for depth in range(DEPTH + 1))
    weights = [[(3 * row + 2 * token + shift * (row + token * token + 1)) % 5 + (token == row % V) for token in range(V)] for row in range(count)]
    return Table(array("float32", (count, V), [x / sum(row) for row in weights for x in row]), text)


def joint(rows: Table, text: tuple[int, ...], new: int) -> Law:
    """The law of the next tokens behind a text."""
    return Law(
        {tokens: math.prod(rows.line((*text, *tokens[:i]))[token] for i, token in enumerate(tokens)) for tokens in itertools.product(range(V), repeat=new)}
    )


@pytest.mark.parametrize(
    ("entries", "seen"),
    [
        ([(0, 5), (1, 6), (2, 7)], (5, 6, 7)),
        ([(2, 7), (0, 5), (1, 6)], (5, 6, 7)),
        ([(4, 5), (5, 6)], (5, 6)),
        ([(0, 5), (2, 6)], (-2, -6, 0, -7)),
        ([(0, 5), (1, 6), (1, 7)], (-1, -6, 0, -7, 0, -8)),
        ([], ()),
    ],
    ids=["in order", "by position", "shifted", "a hole", "twice in one place", "nothing"],
)
def test_a_text_is_what_stands_in_a_row(entries: list[tuple[int, int]], seen: tuple[int, ...]) -> None:
    assert prefix(entries) == seen


def test_a_token_without_mass_is_never_drawn_and_never_makes_nan() -> None:
    rows = Table(array("float32", (1, 2), [0.0, 1.0]), (0,))
    told = torch.tensor(logits(rows, (0,)))
    assert told.tolist() == [NO_MASS, 0.0]
    assert all(
        (told.to(dtype) / temperature).softmax(-1).tolist() == [0.0, 1.0]
        for dtype in (torch.float32, torch.bfloat16, torch.float16)
        for temperature in (0.2, 1, 50)
    )


def test_a_module_tells_the_row_behind_each_id() -> None:
    rows, model = table(1), built("module", table(1))
    told = model(torch.cat([IDS, IDS.flip(1)])).softmax(-1)
    assert told.shape == (2, 5, V)
    assert all(torch.allclose(told[0, i], torch.tensor(rows.line(tuple(IDS[0, : i + 1].tolist())))) for i in range(5))
    assert model.calls == 1


def test_what_is_no_text_has_a_row_too_where_rows_follow_none() -> None:
    """A broken cache's ids are below 0, before any text or behind one."""
    found = Table(array("float32", (3, 2), (1, 0, 0, 1, 0.5, 0.5)), ())
    assert all(found.number(prefix) in range(3) for prefix in ((-1,), (-1, -2, 0, -1), (0, -3), (-9, -9, 1)))


def test_an_unknown_form_of_model_is_told() -> None:
    with pytest.raises(SpecverifyError, match="no form of model 'jax'"):
        built("jax", table(1))


class TestTransformers:
    """The model with a cache of transformers."""

    @pytest.fixture(autouse=True)
    def library(self) -> Any:
        return pytest.importorskip("transformers", reason="no transformers here", exc_type=ImportError)

    @pytest.fixture
    def model(self) -> Any:
        return built("transformers", table(1))

    @pytest.fixture
    def whole(self, model: Any) -> torch.Tensor:
        return model(input_ids=IDS).logits

    def test_one_pass_tells_what_the_module_tells(self, whole: torch.Tensor) -> None:
        assert torch.equal(whole, built("module", table(1))(IDS))

    @pytest.mark.parametrize("chunks", [(1, 1, 1, 1, 1), (2, 3), (4, 1)])
    def test_chunks_tell_what_one_pass_tells(self, library: Any, model: Any, whole: torch.Tensor, chunks: tuple[int, ...]) -> None:
        cache = library.DynamicCache()
        assert torch.equal(torch.cat([read(model, part, cache) for part in IDS.split(chunks, 1)], 1), whole)

    def test_a_cut_cache_tells_what_a_fresh_one_tells(self, library: Any, model: Any, whole: torch.Tensor) -> None:
        cache = library.DynamicCache()
        read(model, torch.tensor([[*TEXT, 0, 0]]), cache)
        cut(cache, 2)
        assert torch.equal(read(model, IDS[:, 2:], cache), whole[:, 2:])

    def test_a_stale_a_short_and_a_shifted_cache_tell_something_else(self, library: Any, model: Any, whole: torch.Tensor) -> None:
        stale, short, shifted = library.DynamicCache(), library.DynamicCache(), library.DynamicCache()
        read(model, torch.tensor([[*TEXT, 0]]), stale)
        read(model, IDS[:, 1:2], short)
        read(model, IDS[:, :2], shifted)
        assert not torch.equal(read(model, IDS[:, 2:], stale), whole[:, 2:])
        assert not torch.equal(read(model, IDS[:, 2:], short), whole[:, 2:])
        assert not torch.equal(read(model, IDS[:, 2:], shifted, position_ids=torch.tensor([[3, 4, 5]])), whole[:, 2:])

    def test_padding_on_the_left_changes_nothing(self, model: Any, whole: torch.Tensor) -> None:
        padded, mask = torch.cat([torch.zeros(1, 2, dtype=torch.long), IDS], 1), torch.tensor([[0, 0, 1, 1, 1, 1, 1]])
        assert torch.equal(model(input_ids=padded, attention_mask=mask).logits[:, 2:], whole)
        assert not torch.equal(model(input_ids=padded).logits[:, 2:], whole)

    @pytest.mark.parametrize("kind", ["bool", "added"])
    def test_nodes_of_a_tree_tell_what_their_paths_tell(self, model: Any, kind: str) -> None:
        """Two drafts behind the text, and one behind the first of them."""
        ids, positions = torch.tensor([[*TEXT, 2, 1, 0]]), torch.tensor([[0, 1, 2, 2, 3]])
        mask = torch.ones(5, 5, dtype=torch.bool).tril()
        mask[3, 2] = mask[4, 3] = False
        shown = mask[None, None] if kind == "bool" else torch.zeros(5, 5).masked_fill(~mask, torch.finfo(torch.float32).min)[None, None]
        told = model(input_ids=ids, attention_mask=shown, position_ids=positions).logits[0]
        for node, path in ((2, (*TEXT, 2)), (3, (*TEXT, 1)), (4, (*TEXT, 2, 0))):
            assert told[node].tolist() == pytest.approx(logits(table(1), path))

    @pytest.mark.parametrize("more", [{}, {"cache_implementation": "static"}, {"prompt_lookup_num_tokens": 2}, {"assistant": True}], ids=str)
    def test_generate_follows_the_table(self, model: Any, more: dict[str, Any]) -> None:
        drafter, ids = built("transformers", table(2)), torch.tensor([[*TEXT, 2, *TEXT]])
        drafter.generation_config.update(num_assistant_tokens=2, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
        more = {"assistant_model": drafter} if more.pop("assistant", False) else more

        @torch.no_grad()
        def generate() -> torch.Tensor:
            return model.generate(ids.clone(), do_sample=True, top_k=0, max_new_tokens=2, attention_mask=torch.ones_like(ids), **more)[0, ids.shape[1] :]

        seen = exact_law(generate, probe=0, max_seconds=60).compare(joint(table(1), tuple(ids[0].tolist()), 2))
        assert seen.tv < 1e-6

    def test_an_encoder_decoder_reads_the_prompt_and_starts_with_an_id_of_its_own(self) -> None:
        """The decoder's start is no part of the table's prefixes; twice is one too often."""
        rows, model = table(1), built("seq2seq", table(1))
        assert model.config.decoder_start_token_id == V

        def told(start: list[int]) -> list[float]:
            return model(input_ids=torch.tensor([TEXT]), decoder_input_ids=torch.tensor([[*start, 2]])).logits[0, -1].tolist()

        assert told([V]) == pytest.approx(logits(rows, (*TEXT, 2)))
        assert told([V, V]) == pytest.approx(logits(rows, (*TEXT, V, V, 2)))

    @pytest.mark.parametrize("how", ["plain", "decoder alone", "looked up"])
    def test_whisper_follows_the_table_behind_what_it_hears(self, how: str) -> None:
        """By its own generate(): alone, and with drafts that are right to weigh as they are weighed."""
        model, drafter = built("whisper", table(1)), built("whisper", table(2)).decoder_alone()
        drafter.generation_config.update(num_assistant_tokens=2, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
        more = {"plain": {}, "decoder alone": {"assistant_model": drafter}, "looked up": {"prompt_lookup_num_tokens": 2}}[how]
        told = heard(TEXT)
        features = torch.tensor(told.values).reshape(told.shape)

        @torch.no_grad()
        def generate() -> torch.Tensor:
            return model.generate(features.clone(), do_sample=True, temperature=1.0, top_k=0, max_new_tokens=2, **more)[0]

        assert exact_law(generate, probe=0, max_seconds=60).compare(joint(table(1), TEXT, 2)).tv < 1e-6

    def test_an_encoder_decoder_follows_the_table(self) -> None:
        from specverify.models.seq2seq import TableForSeq2SeqLM

        start = 2
        rows = table(1, (*TEXT, start))
        model, ids = TableForSeq2SeqLM(rows, start).eval(), torch.tensor([TEXT])

        @torch.no_grad()
        def generate() -> torch.Tensor:
            return model.generate(ids.clone(), do_sample=True, top_k=0, max_new_tokens=2, attention_mask=torch.ones_like(ids))[0, 1:]

        assert exact_law(generate, probe=0, max_seconds=60).compare(joint(rows, rows.text, 2)).tv < 1e-6


@torch.no_grad()
def read(model: Any, ids: torch.Tensor, cache: Any, **more: Any) -> torch.Tensor:
    return model(input_ids=ids, past_key_values=cache, use_cache=True, **more).logits


def cut(cache: Any, length: int) -> None:
    """Cuts keys and values to a length, by the versions' common way."""
    layer = cache.layers[0]
    layer.keys, layer.values = layer.keys[:, :, :length], layer.values[:, :, :length]


class TestRandomWeights:
    """Real models by a seed."""

    @pytest.fixture(autouse=True)
    def library(self) -> Any:
        return pytest.importorskip("transformers", reason="no transformers here", exc_type=ImportError)

    def test_the_oracle_tells_what_the_library_computes(self) -> None:
        from specverify.models.real_llama import random_causal

        oracle, steps, blocks = random_causal(3).scored([1, 2, 3], [5, 8, 13, 21, 2, 1], 3)
        assert oracle.dtype == torch.float64
        assert max((steps - oracle).abs().max(), (blocks - oracle).abs().max()) < 1e-4 < oracle.std()

    def test_the_oracle_of_whisper_tells_what_the_library_computes(self) -> None:
        from specverify.models.real_whisper import random_whisper

        model = random_whisper(3)
        oracle, steps, blocks = model.scored([1, 2, 3], [5, 8, 13, 21, 2, 1], 3)
        assert oracle.dtype == torch.float64
        assert max((steps - oracle).abs().max(), (blocks - oracle).abs().max()) < 1e-4 < oracle.std()
        assert not torch.allclose(model.scored([3, 2, 1], [5, 8, 13, 21, 2, 1], 3)[0], oracle, atol=0.1)

    def test_a_seed_is_a_model_and_shaking_changes_it(self) -> None:
        from specverify.models.real_llama import random_causal

        ids, before = torch.tensor([[1, 2, 3]]), torch.get_rng_state()
        told = [random_causal(seed, shaken)(input_ids=ids).logits for seed, shaken in ((0, 0), (0, 0), (0, 10), (1, 0))]
        assert torch.equal(told[0], told[1])
        assert not any(torch.equal(told[0], other) for other in told[2:])
        assert torch.equal(before, torch.get_rng_state())
