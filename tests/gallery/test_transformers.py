"""gallery:transformers on an installed transformers, of this interpreter or of the one that SPECVERIFY_TRANSFORMERS names."""

import importlib.util
import os
import subprocess
import sys

import pytest

NAMED = os.environ.get("SPECVERIFY_TRANSFORMERS")
PYTHON = NAMED or sys.executable
pytestmark = pytest.mark.skipif(
    not NAMED and not os.environ.get("SPECVERIFY_REQUIRE_TRANSFORMERS") and importlib.util.find_spec("transformers") is None,
    reason="no transformers here; SPECVERIFY_TRANSFORMERS names an interpreter that has it",
)

STEP, FILTERS, WARPERS = "transformers._speculative_sampling", "transformers.TopK_TopP", "transformers.warpers"
ASSISTED, AS_IT_COMES, ENCODED = "transformers.assisted", "transformers.assisted_as_it_comes", "transformers.assisted_encoder_decoder"
LOOKUP, DYNAMIC, STATIC = "transformers.prompt_lookup", "transformers.DynamicCache", "transformers.StaticCache"
POSITIONS = {f"transformers.{family}.{name}" for family in ("llama", "cohere") for name in ("rotate_half", "apply_rotary_pos_emb", "repeat_kv")}
OWN = {
    4: {
        (AS_IT_COMES, "GEN-024", "advisory"),
        (LOOKUP, "GEN-001", "finding"),
        (DYNAMIC, "KVC-005", "finding"),
        (DYNAMIC, "KVC-007", "finding"),
        (DYNAMIC, "KVC-010", "advisory"),
    },
    5: {
        (ENCODED, "GEN-018", "advisory"),
        (AS_IT_COMES, "GEN-024", "advisory"),
        (DYNAMIC, "KVC-010", "advisory"),
        (STATIC, "KVC-008", "advisory"),
        (STATIC, "KVC-010", "advisory"),
    },
}
"""What each version shows beside the step's grid effect."""

LISTED = """
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
model = LlamaForCausalLM(LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1))
for temperature, top_k, top_p in ((0.5, 3, 0.9), (0.5, 3, 1.0)):
    asked = GenerationConfig(do_sample=True, temperature=temperature, top_k=top_k, top_p=top_p)
    listed = model._get_logits_processor(asked, input_ids_seq_length=1, encoder_input_ids=None, prefix_allowed_tokens_fn=None, logits_processor=[])
    print(*(type(one).__name__ for one in listed))
"""


def version() -> int:
    """The first number of the library's version."""
    told = subprocess.run([PYTHON, "-c", "from importlib.metadata import version; print(version('transformers'))"], capture_output=True, text=True, check=True)
    return int(told.stdout.split(".")[0])


def test_the_published_verdicts_hold(audit) -> None:
    """The step emits a token of target probability zero at a uniform draw of exactly 0; version 4 looks nothing up without an end token and keeps rows through a reset; version 5 drafts badly
    behind an encoder and counts a row that it refuses."""
    own, judged = OWN[version()], {STEP, FILTERS, WARPERS, ASSISTED, AS_IT_COMES, ENCODED, LOOKUP, DYNAMIC, *POSITIONS}
    done = audit("gallery:transformers", "--python", PYTHON, "-n", "2")
    assert done.code == int(version() < 5), done.out
    assert {row.subject for row in done.subjects()} == judged | ({STATIC} if version() > 4 else set())
    assert {(row.subject, row.property, row.severity) for row in done.findings()} == {(STEP, "CHN-004", "grid")} | own
    for name in judged - {subject for subject, _, severity in own if severity == "finding"}:
        assert set(done.status(name).values()) <= {"ok", "grid", "advisory", "not applicable"}


def test_generate_lists_the_warpers_in_the_order_in_which_the_entry_calls_them() -> None:
    """Temperature, top-k, top-p; no top-p at 1."""
    done = subprocess.run([PYTHON, "-W", "ignore", "-c", LISTED], capture_output=True, text=True)
    full, without = done.stdout.splitlines()
    assert full.split() == ["TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper"]
    assert without.split() == ["TemperatureLogitsWarper", "TopKLogitsWarper"]
