"""gallery:rest: the tree buffers, the tree step, the caches and the datastore of FasterDecoding/REST, on a checkout.

Written from signatures, shapes and what they return alone. The datastore is a module in Rust, of which the pure functions need the name only: where it is not installed, an empty
one stands in, and what searches is not audited. The parameters of `update_inference_inputs` are told apart by their names in the checkout.
"""

import sys
from types import ModuleType

import specverify as sv

try:
    import draftretriever as store
except ModuleNotFoundError:
    store = sys.modules["draftretriever"] = ModuleType("draftretriever")

from rest.model import modeling_llama_kv, utils

from specverify.gallery.rest import caches, drafts, inputs, pieces, posterior, reading

BOTH = ("float32", "float64")
SEARCHES = hasattr(store, "Reader")
"""Whether the datastore is there."""

sv.subject("pad_path", name="rest.pad_path")(utils.pad_path)
sv.subject("rotate_half", name="rest.rotate_half", dtypes=BOTH)(modeling_llama_kv.rotate_half)
sv.subject("repeat_kv", name="rest.repeat_kv", dtypes=BOTH)(modeling_llama_kv.repeat_kv)
sv.subject("rotary", name="rest.apply_rotary_pos_emb", dtypes=BOTH)(pieces.rotary)
sv.subject("filter_logits", name="rest.top_p_filtering", batch=True, dtypes=BOTH)(pieces.top_p_filtering)

SIZES = {"layers": sv.ints(1, 3), "heads": sv.ints(1, 3), "width": sv.ints(1, 3)}
sv.subject("helper", name="rest.initialize_past_key_values", domain=SIZES, oracle=caches.made)(caches.initialize_past_key_values)
sv.subject("helper", name="rest.reset_past_key_values", domain=SIZES, oracle=caches.cleared)(caches.reset_past_key_values)
ROWS = {"rows": sv.tensors(("n", 2), sv.floats(-4, 4)), "more": sv.tensors(("m", 2), sv.floats(-4, 4))}
KEPT = {"keep": sv.lists(sv.ints(0, 8), min_size=1, max_size=4), "before": sv.ints(0, 4)}
sv.subject("helper", name="rest.KVCache", domain={**ROWS, **KEPT}, ensures=caches.holds)(caches.kept)
sv.subject("kv_cache", name="rest.KVCache (history)", supports=("select", "reset"))(caches.Cache)

sv.subject("prefill", name="rest.initialize_logits", conventions={"returns": "logits"})(reading.initialize_logits)
sv.subject("prefill", name="rest.tree_decoding", supports=("tree",), conventions={"returns": "logits"})(reading.tree_decoding)
sv.subject("verify_tree_greedy", name="rest.evaluate_posterior", dtypes=BOTH)(posterior.greedy)
sv.subject("sample", name="rest.get_nucleus_posterior_mask", dtypes=BOTH)(posterior.get_nucleus_posterior_mask)

PATHS = sv.lists(sv.lists(sv.ints(1, 4), min_size=1, max_size=3), min_size=1, max_size=4)
ENDS = {"prompt": sv.lists(sv.ints(1, 4), min_size=1, max_size=3), "leaf": sv.ints(0, 5), "depth": sv.ints(0, 3)}
sv.subject("helper", name="rest.update_inference_inputs", domain={"paths": PATHS, **ENDS}, oracle=inputs.accepted)(inputs.update_inference_inputs)

if SEARCHES:
    sv.subject("retriever", name="rest.Reader.search", conventions={"weights": "none", "prefixes": "leaves", "cap": 5000})(drafts.searched)
    sv.subject("tree_buffers", name="rest.generate_candidates_and_draft_buffer")(drafts.drafted)
    sv.subject("sample", name="rest.generate_candidates_and_draft_buffer (next token)")(drafts.next_token)
