"""Names and parameters that engines and research code use for the same things, none of them from a labelled package; and what looks alike and is none."""

from pathlib import Path

import pytest

from specverify.discover import candidates, symbols
from specverify.discover.scoring import points, profiles

ALIKE = {
    "verify_chain": (
        "verify_tokens(draft_tokens, draft_probs, target_probs)", "accept_draft_tokens(spec_tokens, small_probs, large_probs)",
        "speculative_verify(target_logits, draft_logits, draft_token_ids)", "verify_and_accept(draft_ids, drafter_probs, verifier_probs)",
    ),
    "verify_chain_greedy": ("accept_greedy(draft_tokens, target_tokens)", "count_matching(draft_ids, target_ids)", "longest_matching_prefix(draft_tokens, predicted_tokens)"),
    "accept_probability": ("acceptance_probability(target_probs, draft_probs)", "should_accept(p_x, q_x, u)"),
    "first_rejection": ("num_accepted_tokens(accept_mask)", "longest_accepted_prefix(accepted)"),
    "sample": ("select_token(logits, temperature)", "pick_next_token(probs)", "sample_categorical(probs)"),
    "warp": ("softmax_with_temperature(logits, temperature)", "adjust_logits(logits, temperature, top_k, top_p)", "apply_sampling_params(logits, temperature, top_p)"),
    "rotary": ("apply_rotary_emb(q, k, cos, sin)", "apply_rope(x, cos, sin)", "apply_multimodal_rotary(q, k, cos, sin)"),
    "kv_cache": ("trim_prompt_cache(cache, n)", "crop_kv_cache(past, length)", "truncate_past_kvs(past, n)"),
    "draft_and_verify": ("speculative_step(target_model, draft_model, input_ids, gamma)", "decoding_round(draft_model, model, prompt, k)"),
    "generate": ("spec_gen(prompt, target_model, draft_model, max_tokens)", "vanilla_decode(model, prompt_ids, max_new_tokens)", "generate_with_draft(prompt, model, assistant, n)"),
    "drafter": ("draft_tokens(input_ids, k)", "propose(context, num_speculative_tokens)", "generate_candidates(input_ids, max_length)"),
}  # fmt: skip
CACHE = """
class RingStore(Protocol):
    def append(self, k): ...
    def rollback(self, n): ...

class BaseKVCache:
    def append(self, k): self.rows.append(k)
    def rollback(self, n): self.rows = self.rows[:n]

class QuantizedKVCache(BaseKVCache):
    def quantize(self): self.rows = [one.half() for one in self.rows]
"""


def found(folder: Path, text: str) -> dict[str, str]:
    """Symbol to contract, of one file."""
    (folder / "code.py").write_text(text)
    return {one.symbol.name: one.contract for one in candidates(symbols(folder))}


@pytest.mark.parametrize(("contract", "signature"), [(contract, one) for contract, signatures in ALIKE.items() for one in signatures])
def test_a_function_is_found_by_its_name_and_parameters_alone(tmp_path: Path, contract: str, signature: str) -> None:
    assert found(tmp_path, f"def {signature}:\n    return ops.run()\n") == {signature.partition("(")[0]: contract}


@pytest.mark.parametrize(
    "signature",
    [
        "generate_distillation_data(model, prompts, max_new_tokens)", "calibrate_decode(model, prompts, max_new_tokens)", "observe_generation(tokens, latency)",
        "rotate(x, positions, theta)", "verify(self, password)", "draft_email(to, subject)", "top_fraction(scores, valid, fraction)", "cache_dir(path)",
    ],
)  # fmt: skip
def test_what_only_sounds_alike_is_none(tmp_path: Path, signature: str) -> None:
    assert found(tmp_path, f"def {signature}:\n    return ops.run()\n") == {}


def test_a_cache_has_the_operations_of_its_bases_and_a_protocol_is_none(tmp_path: Path) -> None:
    assert found(tmp_path, CACHE) == {"BaseKVCache": "kv_cache", "QuantizedKVCache": "kv_cache"}


def test_classes_that_are_bases_of_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A(B):\n    def f(self): return 1\nclass B(A):\n    def g(self): return 2\n")
    assert {one.name: one.methods for one in symbols(tmp_path) if one.form == "class"} == {"A": ("f", "g"), "B": ("g", "f")}


@pytest.mark.parametrize(
    ("above", "body"), [("@abstractmethod", "..."), ("@staticmethod", "raise NotImplementedError"), ("@staticmethod", "raise NotImplementedError('no')")]
)
def test_an_abstract_method_is_none(tmp_path: Path, above: str, body: str) -> None:
    text = "class Base:\n    {}\n    def sample_token(probs):\n        {}\n"
    assert found(tmp_path, text.format(above, body)) == {}
    assert found(tmp_path, text.format("@staticmethod", "return probs.argmax()")) == {"Base.sample_token": "sample"}


def test_a_decoder_of_a_transformer_is_no_loop(tmp_path: Path) -> None:
    text = "class Decoder:\n    def __init__(self, dim{}): self.dim = dim\n    def forward(self, x, num_tokens):\n        for _ in range(num_tokens): x = self.step(x)\n        return x\n"
    assert found(tmp_path, text.format(", depth, heads")) == {}
    assert found(tmp_path, text.replace("dim", "seed").format("")) == {"Decoder": "generate"}


def test_a_step_that_takes_its_draft_but_no_rows_is_not_excused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def verify(draft_tokens, temperature):\n    return ops.run()\n\ndef verify_chain(gen, current):\n    return ops.run()\n")
    scored = {one.name: points(one, profiles()["verify_chain"])[0] for one in symbols(tmp_path)}
    assert scored["verify"] == 0.0
    assert scored["verify_chain"] > 0
