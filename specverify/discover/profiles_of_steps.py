"""The same for steps, trees, loops and what keeps state around them."""

from __future__ import annotations

from specverify.discover.profiles import FUNCTION, MODELS, Profile

STEPS = {
    "verify_chain": Profile(
        r"(chain_)?speculative_sampl\w*|rejection_(sampl\w*|step|verify)|spec_(sample|verify)\w*|verify(_chain|_(draft_)?tokens|_drafts?|_and_accept|_proposals?)?|accept_(or_reject|tokens|drafts?|draft_tokens)|speculative_(verify|accept\w*)|typical_(sample|accept\w*|verify)",
        r"verif|speculative|reject|accept", ("p", "draft", "q"), (), ("multinomial", "uniform", "positive part", "gather", "minimum"), (r"accept|verif|lossless", r"speculative|algorithm 1|leviathan|reject|draft"),
        never=r".*(greedy|tracker).*|(\w+\.)?verify_(batch|tree)", without=rf"{MODELS}|u|parents|retrieve_\w+",
    ),
    "verify_chain_greedy": Profile(
        r"greedy_(verify|step|accept\w*|match\w*)|verify_greedy|\w*greedy\w*\.verify|verify_chain_greedy|accept_greedy|(count|num)_match\w*|longest_(match\w*|common)_prefix\w*|match_(prefix|drafts?|tokens)", r"greedy|argmax|exact_match", ("draft", "target argmax"), (), ("argmax", "equality", "cumprod"),
        (r"greedy|argmax|most likely", r"accept|verif|prefix|disagree"), never=r".*(tree|loss|entropy|verify_batch).*", without=rf"{MODELS}|multinomial",
    ),
    "verify_deterministic_draft": Profile(
        r"\w*(one_?hot|deterministic|lookup|n_?gram)_(draft_)?(verify|step|accept|sample|reject)\w*|(verify|rejection_\w+)_(one_?hot|deterministic\w*|lookup|n_?gram)", r"one_?hot|deterministic|look_?up",
        ("draft", "p"), (), ("multinomial", "uniform", "mask"), (r"one-?hot|deterministic|looked? ?up|n-gram", r"reject|accept"), without=rf"{MODELS}|q|draft_(probs|logits|logprobs)",
    ),
    "verify_batch": Profile(
        r"verify_batch(ed)?|batch(ed)?_(verify|rejection_\w+|spec\w*)|(chain_speculative|rejection)_sampl\w*_batch\w*|\w+verifier\.verify_batch", r"batch", ("p", "draft", "batch"), ("q",),
        ("multinomial", "uniform", "cumprod"), (r"batch", r"accept|verif|draft"), without=MODELS,
    ),
    "verify_tree": Profile(
        r"verify_tree|tree_(verify|accept\w*|rejection\w*|speculative_sampl\w*)|evaluate_posterior|(get_)?\w*posterior_mask|\w+verifier\.verify_tree", r"tree|posterior", ("p", "tree"), (), ("multinomial", "gather", "argmax", "cumprod"),
        (r"tree|paths?\b|branch|candidate", r"accept|verif|posterior"), never=r".*greedy.*", without=MODELS,
    ),
    "verify_tree_greedy": Profile(
        r"(greedy_verify|verify_greedy|greedy)_tree|verify_tree_greedy|tree_greedy\w*|\w*greedy\w*\.verify_tree", r"greedy.*tree|tree.*greedy", ("p", "tree"), (), ("argmax", "equality"), (r"greedy|argmax", r"tree|path"), without=rf"{MODELS}|multinomial",
    ),
    "tree_buffers": Profile(
        r"(generate_|make_|get_|build_)*(\w+_and_)?(draft|tree|medusa|eagle)_(draft_)?(buffers?|mask|attention_mask|attn_mask)|\w*draft_buffers?|tree_ancestors|\w*treeplan|tree_positions", r"buffer|tree_(mask|positions|ancestors)",
        (), ("paths",), ("sort",), (r"tree|branch", r"mask|positions|retrieve|parents?|ancestor|laid out"), forms=("function", "method", "class"), never=r".*(loss|prune|config|cost).*",
    ),
    "build_tree": Profile(r"build_(\w+_)?tree\w*|\w*tree\w*\.build|tree_(layout|build\w*|ancestors)|tree_from_parents", r"build|layout|from_parents", ("parents",), (), (), (r"tree", r"parent"), forms=FUNCTION, never=r"\w*(prune|rejection|verif)\w*"),
}  # fmt: skip

LOOPS = {
    "draft_and_verify": Profile(r"draft_(and_|then_)?verify(_step|_round)?|(speculative|speculate|spec|speculation)_(step|round|iteration|cycle)|(one|decode|decoding)_round|step_spec\w*", r"round", ("model",), ("prompt", "amount"), ("model call",), (r"draft", r"verif")),
    "generate": Profile(
        r"(\w+_)?speculative_(decod(e|ing)|sampling|generat\w+)\w*|(auto)?regressive_(sampling|decod\w+|generat\w+)|(base|greedy|plain|vanilla|standard|baseline|naive|ar|target_only)_(decod(e|ing)|generat(e|ion)|sampling)|spec_(gen|generate|decode|decoding)|generate_(speculative|spec)\w*|generate_with_(draft|assistant|spec)\w*|\w*assisted_(decoding|generation)|\w+_llma|\w*speculative\w*decoder",
        r"(decod|generat|sampl|speculat|inference|spec_gen)\w*$", ("prompt",), ("model", "amount"), ("loop", "model call"), (r"generat|decod", r"tokens?|prompt"), forms=("function", "method", "callable", "class"),
        never=r"(?!generate_with_)(.*(config|result|args|output|streamer|mixin|drafts?)|generation|.*(tokenizer|_draft|beam|candidate|prepare|check|validate|custom|drafter|benchmark|calibrat|distill|rollout|residual|observe|for_generation).*)",
        without=r"dim|d_model|depth|(n_|num_)?heads|hidden_(size|dim)|(n_|num_)layers?",
    ),
    "prefill": Profile(
        r"initiali[sz]e_logits|(chunked_|run_)?prefill|tree_(decoding|forward)", r"prefill", (), ("model", "context"), ("model call",), (r"prefill|prompt|tree", r"logits|cache"), forms=FUNCTION,
        never=r".*(chunk_size|timing|warmup)\w*", without=r"(token_)?embeddings|hidden_states|states|slots",
    ),
    "drafter": Profile(
        r"\w*(drafter|draftmodel|candidategenerator\w*|proposer|speculativedecodinggenerator|draftworker|modelworker|speculator)|(generate_|propose_|get_|make_|sample_)(drafts?|draft_tokens|candidates|proposals?)|draft(_tokens|_step|_sequence|_k|_n)?|propose(_tokens)?|speculate(_tokens)?",
        r"(^|\.)[a-z0-9]*(draft|candidate|propos|speculat)[a-z0-9]*$", ("context",), ("amount",), (), (r"draft|candidate|propos", r"tokens?"),
        (r"propose\w*|get_candidates|generate_drafts?|draft|speculate|step",), forms=("class", "callable", *FUNCTION), never=r".*(config|request|export|format|check|quant|backend|technique|verif|result|sliceable|factory|loss|distill)\w*",
    ),
    "session": Profile(r"\w*(draft|spec\w*)session", r"session", (), (), (), (r"draft|session",), (r"begin|start", r"draft|propose", r"accept|commit|observe|roll\w*"), forms=("class",)),
    "recurrent_state": Profile(r"[a-z0-9]*(recurrent|mamba|ssm)(state|cache)s?", r"recurrent|ssm", doc=(r"recurrent|state space",), methods=(r"advance|update\w*|step", r"rollback|restore|crop|reset"), forms=("class",)),
    "retriever": Profile(
        r"reader|writer|\w*(datastore|retriever|suffixarray|suffixtree|suffixautomaton)\w*|(suffix|n_?gram|prompt)_?(lookup|match|search)\w*|(match|find|lookup|search)_n_?grams?|retrieve_drafts?|\w*(ngram|promptlookup|lookup)(drafter|candidategenerator|proposer)",
        r"lookup|ngram|datastore|suffix|retriev|reader|writer", (), ("context", "span"), (), (r"n-?gram|suffix|lookup|datastore|occurrence", r"match|search|continu|tokens"),
        forms=("function", "method", "class", "callable"), methods=(r"search|lookup|retrieve\w*|propose\w*|get_candidates|add_entry|finalize|finali[sz]e\w*",), never=r".*(penalty|norepeat|processor|config|technique|get_ngrams|generated_ngrams|csv|json|file|summary|tensorboard|hybrid)\w*",
    ),
    "kv_cache": Profile(
        r"[a-z0-9]*cache(model|wrapper|manager|pool)?|\w*kv_?(session|manager|pool|buffer|store)|(initiali[sz]e|reset|rollback|rewind|crop|cut|trim|truncate|update|compact)_(past_key_values|(\w+_)?(kv_?)?cache|kv|inference_inputs|past(_kvs?)?)",
        r"cache", (), (), (), (r"\bkv\b|cache|key", r"slot|append|write|past|buffers|store"), forms=("class", "function"),
        methods=(r"append|(transform_)?update\w*|cat|write|copy|push\w*|generate|advance|scatter|_?prefill|extend|insert|add\w*", r"rollback|rewind|crop\w*|truncate\w*|reset|(on_)?reorder\w*|select|gather|copy|trim\w*|read|pop|free"), never=r".*(config|spec|layer|allocator|vocab|inputcache|capture|translator|store|stats|handler|mask)\w*",
    ),
}  # fmt: skip
