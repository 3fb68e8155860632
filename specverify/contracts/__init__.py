"""What a subject may fill: one module per contract, and the table of them."""

from specverify.contracts import (
    accept_probability,
    build_tree,
    draft_and_verify,
    drafter,
    filter_logits,
    first_rejection,
    generate,
    grammar_mask,
    helper,
    keep_fraction,
    kv_cache,
    logprobs,
    pad_path,
    positive_part,
    prefill,
    processed_rows,
    ratio,
    recurrent_state,
    repeat_kv,
    residual,
    retriever,
    rotary,
    rotate_half,
    sample,
    seeding,
    session,
    tree_buffers,
    verify_batch,
    verify_chain,
    verify_chain_greedy,
    verify_deterministic_draft,
    verify_packed,
    verify_tree,
    verify_tree_greedy,
    verify_tree_lcrs,
    vocab_map,
    warp,
)
from specverify.contracts.arrays import Array, array, recast
from specverify.contracts.base import Case, Contract, Malformed, Opaque, Parameter, Stream, array_of, digest
from specverify.contracts.families import Family, expand
from specverify.contracts.helper import fitted
from specverify.errors import unknown

_MODULES = (
    positive_part, residual, ratio, accept_probability, first_rejection, warp, filter_logits, keep_fraction, sample, pad_path, seeding, helper,
    rotate_half, rotary, repeat_kv, kv_cache, prefill, recurrent_state, session,
    verify_chain, verify_chain_greedy, verify_deterministic_draft, verify_batch, verify_packed, draft_and_verify, drafter, generate, retriever, tree_buffers,
    verify_tree_greedy, verify_tree, verify_tree_lcrs, build_tree,
    processed_rows, vocab_map, grammar_mask, logprobs,
)  # fmt: skip

CONTRACTS: dict[str, Contract] = {module.CONTRACT.name: module.CONTRACT for module in _MODULES}
"""Every contract that can be declared, by name."""


def contract(name: str) -> Contract:
    """The contract of that name, or SpecverifyError with the nearest one."""
    if name not in CONTRACTS:
        raise unknown("contract", name, CONTRACTS)
    return CONTRACTS[name]


__all__ = [
    "CONTRACTS", "Array", "Case", "Contract", "Family", "Malformed", "Opaque", "Parameter", "Stream", "array", "array_of", "contract", "digest", "expand",
    "fitted", "recast",
]  # fmt: skip
