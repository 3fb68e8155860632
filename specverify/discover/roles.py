"""What a parameter stands for, told by its name. A name may stand for several things: `t` for a temperature and for a tensor of logits."""

from __future__ import annotations

import re

ROLES = {
    "p": r"p|p_?x|(large|big|main|base|verifier|oracle)_(p|probs?|logits|log_?probs?)|p_?probs?|probs?_p|target|new_logits|target_.*(p|probs?|logits|log_?probs?|distributions?|dist)|.*_target_(probs?|logits)|log_p|p_at_.*|verifier_(probs|logits)|logits",
    "p row": r"p|p_?x|(large|big|main|base|verifier|oracle)_(p|probs?|dist|log_?probs?)|p_?probs?|probs?_p|target_(p|probs?|dist|distribution|prob_\w+)|log_p|p_at_\w+|p_i|target_logprobs?",
    "q": r"q|q_?x|(small|assistant|drafter|speculator)_(p|probs?|logits|log_?probs?)|q_?probs?|probs?_q|draft_.*(p|probs?|logits|log_?probs?|distributions?|dist)|candidate_(logits|probs)|approx_.*|proposal_.*|log_q|q_at_.*|probs",
    "q row": r"q|q_?x|(small|assistant|drafter|speculator|proposal)_(p|probs?|dist|log_?probs?)|q_?probs?|probs?_q|draft_(p|probs?|dist|distribution|prob_\w+)|log_q|q_at_\w+|q_i|draft_logprobs?",
    "draft": r"x|drafts?|proposals?|spec(ulative)?_(token_?)?(ids?|tokens)|draft_?(token_?)?(s|ids?|tokens?)|draft_token_ids|draft_input_ids|drafted(_\w+)?|candidate_(input_)?(ids|tokens)|candidates|proposed(_\w+)?|token_ids|tokens|speculated(_\w+)?",
    "target argmax": r"target_(argmax|ids|tokens|token_ids|predictions?)|argmax|greedy_(ids|tokens)|predict(ed|ions?)(_\w+)?|targets?|p|(target_)?logits|new_logits",
    "lengths": r"(draft_)?(lens?|lengths?)|ends|num_draft(_tokens|ed)?|cu_num_\w+|cu_seqlens\w*|n_drafts",
    "batch": r"ends|lengths?|draft_lens?|seq|cu_\w+|batch(es)?|num_draft_tokens",
    "row": r"p(robs?|robabilities)?|x|t|tensor|diff(erence)?|delta|logits?|weights|r|row|dist(ribution)?",
    "probs": r"p(robs?|robabilities)?|prob|dist(ribution)?s?|t|logits?|scores|weights|log_?probs|(step|last|final|cur(rent)?|next)_?(token_)?(logits|(log_?)?probs|scores)|x",
    "logits": r"(next_)?(token_)?logits?|scores?|t|x|logits_row",
    "uniforms": r"u|us|uniforms?|uniform_\w+|rands?|random_(numbers|values|uniforms)|coins?|thresholds?",
    "temperature": r"temp(erature)?s?|t|tau",
    "temperature processor": r"temp(erature)?(_processor)?",
    "top_k": r"top_?k(_processor|s)?|k",
    "top_p": r"top_?p(_processor|s)?|nucleus(_p)?",
    "thres": r"(filter_)?thres(hold)?|frac(tion)?|keep_frac\w*",
    "numerator": r"num(erator)?|a|x|dividend|top",
    "denominator": r"den(om(inator)?)?|b|y|divisor|bottom",
    "decisions": r"accept\w*|is_accept\w*|keep|kept|mask|match\w*|bool_tensor|rejected|reject_mask|bools?|eq|equal",
    "path": r"paths?|branch|list_?|lst|seq(uence)?",
    "paths": r"paths?|tree(_choices|_paths)?|choices|medusa_choices|tree_candidates|retrieve_paths|candidates|datastore",
    "length": r"(max_)?len(gth)?|size|width|n|depth",
    "pad": r"pad(_?\w+)?|fill(_value)?|value",
    "seed": r"seed|random_seed|s",
    "x": r"x|t|tensor|hidden(_states)?|q|k",
    "cos": r"cos(_\w+)?|freqs?(_cis)?|pos(itions?)?|sinu\w*|rope",
    "sin": r"sin(_\w+)?",
    "positions": r"pos(ition)?s?(_ids)?",
    "kv": r"hidden_states|kv|x|keys?|values?|k|v|states",
    "repeats": r"n_?rep(eats?|s)?|n|num_\w*(groups|repeats?)|repeats?|n_groups|groups",
    "parents": r"parents?(_\w+)?|parent_(list|ids|indices)|tree",
    "tree": r"parents?|tree\w*|candidates|retrieve\w*|draft|paths?|nodes?",
    "context": r"context|tokens?|seq|input_ids|prompt|query|ids|text|suffix|datastore|index_file_path",
    "span": r"(max_|min_)?(ngram|n_gram|match\w*|span|token_span|suffix|chunk)s?(_\w+)?|token_spans|n_min|n_max|max_chunk_len|max_matching_ngram_size|ngram_size|k",
    "prompt": r"prompts?|prompt_\w+|prefix(_ids)?|context(_ids)?|(initial|start)_(ids|tokens)|messages|text|requests?|input_ids|inputs?|x|input_token_ids|token_ids|ids|prompt_ids",
    "model": r"(\w+_)?(model|net|lm|llm|gpt)|target|draft(er)?|model_\w+|self_model|gpt|assistant|decoder|runner",
    "amount": r"(max_)?(new_)?(tokens|len(gth)?|seq_len|steps)|max_\w*(tokens|len(gth)?|steps)|seq_len|gen_length|n|num_\w*tokens|generation_config|gamma|stopping_criteria|decoding|max_new|sampling_params",
    "history": r"input_ids|prefix|history|output_(token_)?ids|prev(ious)?_(ids|tokens|token_ids)|generated(_\w+)?|prompt_(mask|ids)|token_ids|tokens|tensor_arg|past_tokens",
    "scored": r"tokens?|targets?|token_ids|input_ids|sequences|ids|labels|draft_token_ids|continuations|next_tokens?|output_ids",
    "score source": r"logits|log_?probs|scores|outputs|model|input_ids|rows|logprobs",
    "ids": r"(draft_|assistant_)?(token_|input_|candidate_)*ids|tokens|draft_tokens|\w*candidate_ids",
    "table": r"table|d2t|map(ping)?|id_map|hot_\w+|draft_(id_)?to_\w+|offsets?",
    "grammar": r"grammars?|matchers?|fsm|automaton|state|bitmask|vocab_mask",
}  # fmt: skip
"""Role to the names that play it."""
_COMPILED = {role: re.compile(names) for role, names in ROLES.items()}


def plays(name: str, role: str) -> bool:
    """Whether a parameter of that name may stand for the role."""
    return _COMPILED[role].fullmatch(name.lower().strip("_")) is not None


def fill(names: tuple[str, ...], roles: tuple[str, ...]) -> dict[str, str]:
    """Role to the parameter that plays it, each parameter once; the roles are tried in order, so the narrowest come first."""
    found: dict[str, str] = {}
    for role in roles:
        free = [name for name in names if name not in found.values() and plays(name, role)]
        if free:
            found[role] = min(free, key=lambda name: not name.lower().startswith(role[0]))
    return found
