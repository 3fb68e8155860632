"""The adapters of transformers: tiny random models, whose cached reads are held against fresh ones, and what is generated with them."""

import itertools
import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from specref.generation.drafters import Drafter, ModelDrafter, ngrams, script
from specref.generation.loop import autoregressive, speculative
from specref.generation.models import padded
from specref.generation.transformers_cache import COLUMNS_PER_TOKEN
from specref.generation.transformers_models import CausalModel, EncoderDecoderModel
from specref.rest import Rest, build
from specref.trees import Tree
from specref.warp import GREEDY
from specverify import exact_law
from specverify.law import Law

if os.environ.get("SPECVERIFY_REQUIRE_TRANSFORMERS"):
    import transformers
else:
    transformers = pytest.importorskip("transformers", reason="no transformers here", exc_type=ImportError)
transformers.logging.set_verbosity_error()

V, POSITIONS = 13, 96
DTYPES = [torch.float64, torch.float32]
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-4}
"""Most that two logits may differ by, of about 1 to 10 in size: theory, A6; a wrong slot, mask or position moves them by 0.1 and more."""
FLOAT32_INSIDE = 1e-6
"""Of a T5 of transformers 4 in float64, whose softmax is taken in float32."""
SCALE = 20
"""Of the weights, so that rows are far from uniform and far from each other."""
NONE = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
LLAMA = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, **NONE}
SIZES = {
    "Llama": LLAMA, "Qwen2": LLAMA, "Qwen3": LLAMA, "Mistral": {**LLAMA, "sliding_window": None}, "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": POSITIONS, **NONE},
    "Mistral, window": {**LLAMA, "sliding_window": 5},
    "Qwen2, window": {**LLAMA, "sliding_window": 5, "use_sliding_window": True, "max_window_layers": 1},
    "T5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0, "eos_token_id": None, "pad_token_id": 0},
    "Whisper": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
                "num_mel_bins": 4, "max_source_positions": 8, "max_target_positions": POSITIONS, "decoder_start_token_id": 1, **NONE},
}  # fmt: skip
CLASSES = {"GPT2": "GPT2LMHeadModel", "T5": "T5ForConditionalGeneration", "Whisper": "WhisperForConditionalGeneration"}
BATCHED = ["Llama", "Qwen2", "Qwen3", "Mistral", "GPT2", "Whisper"]
SINGLE = ["Mistral, window", "Qwen2, window", "T5"]
CAUSAL = [name for name in SIZES if name not in {"T5", "Whisper"}]


def tiny(name: str, seed: int = 0, dtype: torch.dtype = torch.float64, v: int = V, **changed: Any) -> Any:
    """A random model of a family."""
    torch.manual_seed(seed)
    family = name.split(",")[0]
    config = getattr(transformers, f"{family}Config")(vocab_size=v, **{**SIZES[name], **changed})
    model = getattr(transformers, CLASSES.get(family, f"{family}ForCausalLM"))(config).eval().to(dtype)
    for weights in (one for one in model.parameters() if one.dim() == 2):
        weights.data.mul_(1 if name == "T5" else SCALE)  # T5 begins with large ones
    return model


def encoder_inputs(name: str, rows: int, dtype: torch.dtype) -> dict[str, Tensor]:
    random_numbers = Generator().manual_seed(5)
    if name == "Whisper":
        return {"input_features": torch.randn((rows, 4, 16), dtype=dtype, generator=random_numbers)}
    mask = torch.ones((rows, 6), dtype=torch.int64)
    mask[0, 4:] = 0
    return {"input_ids": torch.randint(1, V, (rows, 6), generator=random_numbers), "attention_mask": mask} if name == "T5" else {}


def adapted(model: Any, inputs: dict[str, Tensor]) -> Any:
    return EncoderDecoderModel(model, **inputs) if inputs else CausalModel(model)


@torch.no_grad()
def fresh(model: Any, text: Sequence[int], inputs: dict[str, Tensor]) -> Tensor:
    """Logits of a whole text, read at once without a cache, (T, V)."""
    given = {"decoder_input_ids" if inputs else "input_ids": torch.tensor([list(text)])}
    return model(**given, **inputs, use_cache=False).logits[0]


class Walk:
    """Random reads, crops and selections of a batch, each read held against a fresh one."""

    def __init__(self, name: str, rows: int, dtype: torch.dtype, seed: int) -> None:
        self.random = random.Random(seed)
        self.model, self.inputs, self.rows = tiny(name, seed, dtype), encoder_inputs(name, rows, dtype), rows
        self.adapter, self.close = adapted(self.model, self.inputs), CLOSE[dtype]
        if name == "T5" and transformers.__version__.startswith("4."):
            self.close = max(self.close, FLOAT32_INSIDE)
        self.state = self.adapter.start(rows)
        self.texts: list[list[int]] = [[] for _ in range(rows)]
        self.sources = list(range(rows))

    def read(self) -> None:
        lengths = [self.random.randint(0 if text else 1, 6) for text in self.texts]
        lengths[0] = max(1, lengths[0])
        wanted = [self.random.randint(min(1, length), length) for length in lengths]
        width = max(lengths) + self.random.randint(0, 1)
        tokens = torch.tensor([[self.random.randrange(V) for _ in range(width)] for _ in lengths])
        found = self.adapter.logits(tokens, lengths, self.state, wanted)
        assert found.shape == (len(lengths), max(wanted), V)
        for i, (text, length, count) in enumerate(zip(self.texts, lengths, wanted, strict=True)):
            text.extend(tokens[i, :length].tolist())
            if count:
                torch.testing.assert_close(found[i, :count], self.fresh(i)[-count:], rtol=0, atol=self.close)

    def fresh(self, i: int) -> Tensor:
        return fresh(self.model, self.texts[i], {name: one[self.sources[i]][None] for name, one in self.inputs.items()})

    def crop(self) -> None:
        lengths = [self.random.randint(max(0, len(text) - 5), len(text)) for text in self.texts]
        self.state.crop(lengths)
        self.texts = [text[:length] for text, length in zip(self.texts, lengths, strict=True)]

    def select(self) -> None:
        rows = [self.random.randrange(len(self.texts)) for _ in range(self.random.randint(1, 4) if self.rows > 1 else 1)]
        self.state.select(rows)
        self.texts, self.sources = [list(self.texts[row]) for row in rows], [self.sources[row] for row in rows]

    def branch(self) -> None:
        """A tree behind each text, of which a random branch stays."""
        unread = [[self.random.randrange(V) for _ in range(self.random.randint(1, 3))] for _ in self.texts]
        trees = [
            Tree.from_paths([[self.random.randrange(4) for _ in range(self.random.randint(0, 4))] for _ in range(self.random.randint(0, 4))])
            for _ in self.texts
        ]
        found = self.adapter.tree_logits(padded(unread, self.adapter.device), [len(one) for one in unread], self.state, trees)
        paths = []
        for i, (tree, more) in enumerate(zip(trees, unread, strict=True)):
            for row, branch in zip(found[i], ((), *tree.branches), strict=False):
                right = fresh(self.model, [*self.texts[i], *more, *(tree.tokens[node] for node in branch)], {})[-1]
                torch.testing.assert_close(row, right, rtol=0, atol=self.close)
            paths.append(self.random.choice([(), *tree.branches]))
            self.texts[i] += [*more, *(tree.tokens[node] for node in paths[-1])]
        self.state.keep(paths)

    def run(self, steps: int = 40, *, trees: bool = False) -> None:
        for _ in range(steps):
            self.random.choice([self.read, self.read, self.crop, self.select, *([self.branch] * 3 * trees)])()
            assert self.state.counts == [len(text) for text in self.texts]
            longest = max(map(len, self.texts))
            assert longest <= self.state.real.shape[1] <= (longest if len(self.texts) == 1 else COLUMNS_PER_TOKEN * longest + 6)
            if longest > POSITIONS - 10:
                self.crop()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "rows"), [*((name, 1) for name in SIZES), *((name, 3) for name in BATCHED)])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_was_read_cropped_and_selected_the_logits_are_those_of_the_text(name: str, rows: int, dtype: torch.dtype, seed: int) -> None:
    """A7 of the theory: a cache after crops is that of a fresh read; beyond a window too."""
    Walk(name, rows, dtype, seed).run()


TREES = ["Llama", "Qwen2", "Qwen3", "Mistral", "GPT2"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_tree_is_read_as_its_branches_are(name: str, rows: int, dtype: torch.dtype) -> None:
    """A6 and A7 of the theory: each node's logits are those of its branch read alone, and the cache of the branch that stays is that of a fresh read."""
    for seed in range(2):
        Walk(name, rows, dtype, seed).run(20, trees=True)


def test_trees_where_they_would_be_wrong_are_refused() -> None:
    for name in (*SINGLE, "Whisper"):
        adapter = adapted(tiny(name), encoder_inputs(name, 1, torch.float64))
        with pytest.raises(ValueError, match="cannot read trees"):
            adapter.tree_logits(torch.tensor([[1]]), [1], adapter.start(1), [Tree((1,), (-1,))])


def with_a_datastore(name: str, dtype: torch.dtype, asked: Sequence[list[int]], new: int, folder: Path) -> None:
    """Plain decoding, and with drafts from a store of the model's own texts, a batch of up to five at a time."""
    model, draws = tiny(name, 1, dtype), Generator()
    target = CausalModel(model)
    texts = [autoregressive(target, prompt, draws, max_new_tokens=new, sampling=GREEDY).tokens[0] for prompt in asked]
    saved = 0
    with build(folder, [text[::2] if i % 2 else text for i, text in enumerate(texts)], V) as store:
        for i in range(0, len(asked), 5):
            done = speculative(target, Rest(store, longest=6, count=12), asked[i : i + 5], draws, max_new_tokens=new, gamma=6, sampling=GREEDY)
            for prompt, plain, tokens in zip(asked[i : i + 5], texts[i : i + 5], done.tokens, strict=True):
                assert not differ(model, plain, tokens, prompt, {})
            saved += new - done.trace.target_calls
    assert saved > 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["Llama", "GPT2"])
def test_greedy_decoding_with_a_datastore_is_greedy_decoding(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    with_a_datastore(name, dtype, prompts(5), 16, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["Llama", "GPT2"])
def test_greedy_decoding_with_a_datastore_is_greedy_decoding_on_many_prompts(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    with_a_datastore(name, dtype, prompts(100, 30), 48, tmp_path)


def test_cropped_back_from_far_beyond_the_window() -> None:
    """Keys that the window has left behind are there again."""
    model, text = tiny("Mistral, window"), [1 + i % 11 for i in range(40)]
    adapter = CausalModel(model)
    state = adapter.start(1)
    adapter.logits(torch.tensor([text]), [40], state, [1])
    state.crop([8])
    found = adapter.logits(torch.tensor([text[8:12]]), [4], state, [4])
    torch.testing.assert_close(found[0], fresh(model, text[:12], {})[8:], rtol=0, atol=CLOSE[torch.float64])
    assert torch.equal(fresh(model, text[:12], {})[-1], fresh(model, [2, *text[1:12]], {})[-1])  # two layers of window 5 see eight back


def prompts(count: int, longest: int = 12) -> list[list[int]]:
    """Ragged ones."""
    numbers = random.Random(7)
    return [[numbers.randrange(1, V) for _ in range(numbers.randint(1, longest))] for _ in range(count)]


def drafters(model: Any, right: Sequence[int], prompt: int, name: str, inputs: dict[str, Tensor], dtype: torch.dtype) -> Iterator[Drafter]:
    """A smaller random model, n-grams, the target itself, a script that is right four times out of five."""
    smaller = tiny("T5" if name == "T5" else "Llama", 9, dtype, **({"num_layers": 1} if name == "T5" else {"num_hidden_layers": 1}))
    yield ModelDrafter(adapted(smaller, inputs if name == "T5" else {}), GREEDY)
    yield ngrams()
    yield ModelDrafter(adapted(model, inputs), GREEDY)
    yield script([token if i % 5 else (token + 1) % V for i, token in enumerate(right)], prompt)


def differ(model: Any, one: Sequence[int], other: Sequence[int], prompt: Sequence[int], inputs: dict[str, Tensor]) -> bool:
    """Whether two continuations differ, but for a near tie of two tokens at the first place (theory, 1f: at most twice the noise, in float64)."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), None)
    if place is None:
        return False
    if model.dtype == torch.float64:
        return True
    widened = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()}
    row = fresh(model.double(), [*prompt, *one[:place]], widened)[-1]
    model.float()
    return abs(float(row[one[place]] - row[other[place]])) > 2 * CLOSE[torch.float32]


def identical(name: str, dtype: torch.dtype, asked: Sequence[list[int]], new: int) -> None:
    """One prompt after the other: plain, speculative with every drafter and a gamma of 1 to 4, and transformers' own."""
    model, inputs = tiny(name, 1, dtype), encoder_inputs(name, 1, dtype)
    target, draws = adapted(model, inputs), Generator()
    for i, prompt in enumerate(asked):
        plain = autoregressive(target, prompt, draws, max_new_tokens=new, sampling=GREEDY).tokens[0]
        for drafter in drafters(model, plain, len(prompt), name, inputs, dtype):
            done = speculative(target, drafter, prompt, draws, max_new_tokens=new, gamma=1 + i % 4, sampling=GREEDY)
            assert not differ(model, plain, done.tokens[0], prompt, inputs)
            assert done.trace.target_calls == len(done.trace.rounds)
        if dtype == torch.float64 and not inputs:
            own = model.generate(torch.tensor([prompt]), attention_mask=torch.ones((1, len(prompt)), dtype=torch.int64), max_new_tokens=new, do_sample=False)
            assert plain == own[0, len(prompt) :].tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_greedy_speculative_decoding_is_greedy_decoding(name: str, dtype: torch.dtype) -> None:
    """Four prompts for each family."""
    identical(name, dtype, prompts(4), 24)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["Llama", "GPT2"])
def test_greedy_speculative_decoding_is_greedy_decoding_on_many_prompts(name: str, dtype: torch.dtype) -> None:
    """A hundred prompts."""
    identical(name, dtype, prompts(100, 30), 64)


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("gamma", [1, 4])
def test_a_ragged_batch_of_ten_is_greedy_decoding_of_each(name: str, gamma: int) -> None:
    """With a drafter whose acceptance differs from row to row."""
    model, asked, draws = tiny(name, 2), prompts(10), Generator()
    target = adapted(model, encoder_inputs(name, 1, torch.float64))
    done = speculative(target, ModelDrafter(CausalModel(tiny("Llama", 9)), GREEDY), asked, draws, max_new_tokens=64, gamma=gamma, sampling=GREEDY)
    looked_up = speculative(target, ngrams(), asked, draws, max_new_tokens=64, gamma=gamma, sampling=GREEDY)
    assert done.tokens == looked_up.tokens == [autoregressive(target, prompt, draws, max_new_tokens=64, sampling=GREEDY).tokens[0] for prompt in asked]


@pytest.mark.parametrize("name", BATCHED)
def test_a_row_of_a_batch_is_what_it_is_alone(name: str) -> None:
    """S12h, at temperature 1 with stop tokens: rows end at their own time, and leave."""
    asked, eos = prompts(8), 3
    inputs = encoder_inputs(name, 8, torch.float64)
    model, drafter = tiny(name, 3), ModelDrafter(CausalModel(tiny("Llama", 4)))

    def run(rows: Sequence[int]) -> Any:
        target = adapted(model, {key: one[list(rows)] for key, one in inputs.items()})
        return speculative(target, drafter, [asked[row] for row in rows], [Generator().manual_seed(row) for row in rows], max_new_tokens=40, gamma=3, eos=eos)

    batch = run(range(8))
    assert batch.tokens == [run([row]).tokens[0] for row in range(8)]
    assert len({len(tokens) for tokens in batch.tokens}) > 2


@pytest.mark.parametrize(("new", "gamma"), [(2, 1), pytest.param(3, 2, marks=pytest.mark.slow)])
def test_the_law_is_the_targets(new: int, gamma: int) -> None:
    """S3 on a tiny Llama with a Llama's drafts: every outcome of the new tokens, by the exact engine."""
    small = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}
    model, draft = (tiny("Llama", seed, torch.float32, v=5, **small) for seed in (1, 2))
    target, drafter = CausalModel(model), ModelDrafter(CausalModel(draft))

    def generate() -> Tensor:
        return torch.tensor(speculative(target, drafter, [1, 2], Generator(), max_new_tokens=new, gamma=gamma).tokens[0])

    def right(tokens: tuple[int, ...]) -> float:
        rows = fresh(model, [1, 2, *tokens], {}).double().softmax(-1)
        return math.prod(float(rows[1 + i, token]) for i, token in enumerate(tokens))

    law = exact_law(generate, probe=0, max_seconds=300)
    assert law.compare(Law({tokens: right(tokens) for tokens in itertools.product(range(5), repeat=new)})).tv <= 1e-6


@pytest.mark.parametrize("name", [*CAUSAL, "T5", "Whisper"])
def test_one_call_per_round_reads_each_token_once(name: str) -> None:
    """The prompt, each round's drafts, and each emitted token but a row's last: of a round's emitted tokens all but one were read as drafts."""
    model, inputs = tiny(name, 1), encoder_inputs(name, 1, torch.float64)
    target, widths, argument = adapted(model, inputs), [], "decoder_input_ids" if inputs else "input_ids"
    hook = model.register_forward_pre_hook(lambda module, args, kwargs: widths.append(kwargs[argument].shape[1]), with_kwargs=True)
    done = speculative(target, ngrams(), [1, 2, 3, 1, 2], Generator().manual_seed(1), max_new_tokens=40, gamma=3)
    hook.remove()
    rounds = done.trace.rounds
    assert len(widths) == len(rounds) == done.trace.target_calls
    drafted, accepted = sum(len(one.drafted) for one in rounds), sum(one.accepted for one in rounds)
    assert sum(widths) == 5 + (len(rounds) - 1) + drafted == 5 + (len(done.tokens[0]) - 1) + (drafted - accepted)


def test_only_the_wanted_logits_are_made() -> None:
    """A long prompt gives one row of logits for each row of the batch, at most."""
    model, made = tiny("Llama"), []
    target = CausalModel(model)
    hook = model.register_forward_hook(lambda module, args, output: made.append(output.logits.shape))
    target.logits(torch.ones((2, 50), dtype=torch.int64), [50, 20], target.start(2), [1, 1])
    hook.remove()
    assert made == [(2, 2, V)]


def test_a_draft_model_reads_no_further_than_its_rows_may_go() -> None:
    """Rows of one batch near the end of a table of positions: nothing behind a row's limit is read."""
    target, drafter = CausalModel(tiny("GPT2", 1, n_positions=16)), ModelDrafter(CausalModel(tiny("GPT2", 2, n_positions=16)))
    full = [[1 + row] * 10 for row in range(6)]
    done = speculative(target, drafter, full, Generator().manual_seed(0), max_new_tokens=6, gamma=4)
    assert [len(tokens) for tokens in done.tokens] == [6] * 6


def dynamic() -> Any:
    return tiny("Llama", rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}, rope_scaling={"rope_type": "dynamic", "factor": 2.0})


def stateful(name: str) -> Any:
    kinds = {"Jamba": {**LLAMA, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 9, "use_mamba_kernels": False}}
    return getattr(transformers, f"{name}ForCausalLM")(
        getattr(transformers, f"{name}Config")(vocab_size=V, **kinds.get(name, {"hidden_size": 16, "num_hidden_layers": 1, **NONE}))
    ).eval()


def run_on(name: str, prompt: list[int]) -> None:
    speculative(CausalModel(tiny(name)), ngrams(), prompt, Generator(), max_new_tokens=8)


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("LlamaForCausalLM is in training mode, where dropout", lambda: CausalModel(tiny("Llama").train())),
    ("MambaForCausalLM keeps more than keys and values of its tokens", lambda: CausalModel(stateful("Mamba"))),
    ("JambaForCausalLM keeps more than keys and values of its tokens", lambda: CausalModel(stateful("Jamba"))),
    ("LlamaForCausalLM has dynamic rotary positions", lambda: CausalModel(dynamic())),
    ("T5ForConditionalGeneration is an encoder-decoder; EncoderDecoderModel is its adapter", lambda: CausalModel(tiny("T5"))),
    ("LlamaForCausalLM is no encoder-decoder; CausalModel is its adapter", lambda: EncoderDecoderModel(tiny("Llama"), input_ids=torch.ones((1, 1)))),
    ("an encoder-decoder needs what its encoder reads", lambda: EncoderDecoderModel(tiny("T5"))),
    ("3 texts, and the encoder has read 2 inputs", lambda: EncoderDecoderModel(tiny("Whisper"), **encoder_inputs("Whisper", 2, torch.float64)).start(3)),
    ("2 rows: MistralForCausalLM attends to a window of columns", lambda: CausalModel(tiny("Mistral, window")).start(2)),
    ("2 rows: Qwen2ForCausalLM attends to a window of columns", lambda: CausalModel(tiny("Qwen2, window")).start(1).select([0, 0])),
    (
        "2 rows: T5ForConditionalGeneration takes no decoder_position_ids",
        lambda: EncoderDecoderModel(tiny("T5"), **encoder_inputs("T5", 1, torch.float64)).start(2),
    ),
    (f"row 0 would be {POSITIONS + 1} tokens long, and GPT2LMHeadModel has {POSITIONS} positions", lambda: run_on("GPT2", [1] * (POSITIONS - 2))),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED, ids=[one[0] for one in REFUSED])
def test_what_cannot_be_right_is_refused(sentence: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="^" + sentence.replace("(", r"\(")):
        call()
