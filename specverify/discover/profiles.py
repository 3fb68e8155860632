"""What code that fills a contract looks like: names met in the wild, what its parameters stand for, the operations that it is made of, what its docstring says.

A contract without a profile here is looked for by its name, its equivalents and its parameters, as `scoring` says.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """Signs of one contract; each pattern is a regular expression on lower-case text without leading underscores.

    Attributes:
        names: of symbols that hardly mean anything else.
        hints: within a qualified name, such as "greedy" in GreedyVerifier.verify; they count less.
        needed: roles that the parameters must play, or it is no candidate; a class is exempt.
        roles: further ones.
        operators: words of `operators`.
        doc: each pattern found in the docstring counts.
        methods: of a class: groups of patterns, one name for each group must be there.
        never: qualified names that rule it out.
        without: parameters' names and words of `operators` that rule it out.
        forms: which forms of symbol can fill it.
    """

    names: str
    hints: str = r"(?!)"
    needed: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    doc: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    never: str = r"(?!)"
    without: str = r"(?!)"
    forms: tuple[str, ...] = ("function", "method", "callable")


FUNCTION = ("function", "method")
MODELS = r"(?!draft$)(\w+_)?(model|net|lm|gpt)"
"""Parameters that are models: what takes one is a loop, no step."""

PIECES = {
    "residual": Profile(
        r"norm_max|(get_|compute_|calc(ulate)?_|make_)?residual(_(distribution|probs?|law|dist))?|recovered?_(probs?|distribution)|adjusted_(probs?|distribution)|pytorch_residual",
        r"residual|recover|leftover", ("p row", "q row"), (), ("positive part", "division by a sum"),
        (r"residual|resampl|after rejecti", r"max\(\s*0?,?\s*p\s*-\s*q|\(p\s*-\s*q\)|norm\(|p - q"), never=r".*(forward|block|layer).*", without="multinomial",
    ),
    "positive_part": Profile(
        r"max_fn|norm_relu|relu_norm(alize)?|normali[sz]ed?_positive(_part)?|positive_part|norm_positive",
        r"max|relu|positive", ("row",), (), ("positive part", "division by a sum"), (r"max\(0|positive part|norm\(max",), never=r".*(loss|norm|forward).*", without="softmax",
    ),
    "ratio": Profile(r"(safe|stable|protected)_?div(ide)?|div_no_nan|guarded_div\w*|safe_ratio", r"(safe|guard)\w*", ("numerator", "denominator"), (), ("division",), (r"divi(de|sion)",)),
    "accept_probability": Profile(
        r"accept(ance)?_(prob(ability|abilities|s)?|ratios?|rate|threshold|token)|accepts?|acceptance_(test|criterion)|(is|should)_accept(ed)?",
        r"accept", ("p row", "q row"), ("draft", "uniforms"), ("minimum", "division", "gather"), (r"accept", r"min\(1|p\s*/\s*q|p\(x\)|criterion"),
        never=r".*(tracker|sum|mean).*", without="multinomial|sum",
    ),
    "first_rejection": Profile(
        r"(find_|compute_|get_)*first_(true|false|reject\w*|mismatch|zero)(_ind(ex|ices))?|(num_|count_|n_)?accepted_(prefix|len(gth)?s?|count)|(count_)?leading_(true|ones)|accept_len(gth)?|(n|num|count)_accept(ed)?(_tokens|_drafts?)?|longest_(accepted|match\w*|common)_prefix\w*|match(ed|ing)?_(prefix_)?len(gth)?",
        r"first|leading|accepted", ("decisions",), (), ("cumprod", "cumsum", "argmax"), (r"first|leading", r"reject|accept|true|kept"), never=r"gather\w*",
    ),
    "sample": Profile(
        r"(gumbel|multinomial|categorical|token)_sample|(sample|pick|select|choose|draw)_(next_)?(token|from_\w+|ids?|logits|probs|row|one|multinomial|categorical)|(\w+_)?sampler|sample_token_id|\w*sampler",
        r"sample|draw|pick|select_many|choose", ("probs",), ("temperature",), ("multinomial", "race", "uniform", "argmax"), (r"sampl|draw",),
        never=r".*(observer|distributions?|search|greedy|watermark|typical|residual)\w*|.*_(draft|logprobs)|scores_\w+", without=rf"{MODELS}|draft_\w+|loop|quantile",
    ),
    "pad_path": Profile(r"pad_(tree_)?paths?|pad_branch(es)?|pad_retrieve\w*", r"pad", ("path", "length", "pad"), (), ("repeated list",), (r"pad", r"path")),
    "seeding": Profile(
        r"(set_|fix_|init_)?(random_|global_|all_|manual_)?seeds?|seed_(everything|all|rng)|(set|setup|fix)_(all_)?(seeds?|random\w*|rng)|set_all_seeds?|enable_determinism",
        r"seed", ("seed",), (), ("seeds",), (r"seed", r"reproduc|numpy|random"), never=r".*worker.*", forms=FUNCTION,
    ),
    "logprobs": Profile(
        r"(gather|get|compute|token|select(ed)?|score)_(token_|tokens_|selected_)*log_?probs?|scored?_(tokens|continuations?)|compute_transition_scores|token_log_probs|log_probs_of|get_logprobs",
        r"log_?probs?|score", ("score source", "scored"), (), ("log_softmax", "gather"), (r"log-?\s?prob|log-likelihood|transition scores", r"tokens?\b.*(under|of)"),
        never=r".*(loss|typical|hybrid|verify|rejection|speculative|kernel|spec|greedy).*", without="multinomial|cumprod",
    ),
    "vocab_map": Profile(
        r"d2t|t2d|(draft|assistant)_(id_|ids_|tokens?_)*to_target\w*|(map|translate|convert)_(draft|assistant)\w*|get_target_ids|hot_token_ids?|(apply_)?id_map|to_target_ids",
        r"target_ids|vocab\w*map|translat", ("ids",), ("table",), (), (r"(draft|assistant).*(target|vocab)", r"\bids?\b.*correspond|map"), never=r".*logits.*|.*cache.*", forms=FUNCTION,
    ),
}  # fmt: skip

ROWS = {
    "warp": Profile(
        r"(norm|warp|process)_logits|(adjust|scale)_logits|(logits?|scores?)_to_(probs?|probabilit\w+|dist\w*)|softmax_(with_)?temp(erature)?|temperature_softmax|compute_(target_)?probs|apply_sampling(_params)?|get_(next_)?(token_)?(probs|distribution)|apply_temperature|distributions?|\w*temperature(logits)?warper",
        r"(^|_|\.)warp|temperature|probs|distribution", ("logits",), ("temperature", "top_k", "top_p"), ("softmax", "division"), (r"temperature", r"probabilit|distribution|softmax"),
        never=r".*(draft|verify|sampler|processorlist|guidance|watermark|embedding|attention)\w*", without=rf"{MODELS}|multinomial|loop|targets?|log_softmax|draft\w*",
    ),
    "filter_logits": Profile(
        r"(apply_)?top_?[pk](_?(top_?)?[pk])?(_(filter(ing|ed)?|logits|mask|warper?|sampling))*|nucleus(_filter(ing)?)?|filter_logits|\w*top[kp](logits)?warper",
        r"top_?[kp]|filter|nucleus", ("logits",), ("top_k", "top_p"), ("sort", "topk", "cumsum", "-inf", "mask"), (r"\btop-?_?\s?[kp]|nucleus", r"-inf|filter|mask|restrict"),
        never=r"\w*sampler\.(?!\w*(top|filter|nucleus))\w+|.*(sampler|draft|verify|embedding|attention|min_?p|typical|epsilon|eta|toph|processor|guidance)\w*", without=rf"{MODELS}|multinomial|loop|thres|temperature|draft\w*",
    ),
    "keep_fraction": Profile(r"top_?k|keep_fraction|keep_top\w*", r"top|keep", ("logits", "thres"), (), ("topk", "ceil", "-inf", "scatter"), (r"fraction|share|largest",), without=r"valid|\w*mask"),
    "processed_rows": Profile(
        r"apply_\w*penalt(y|ies)|\w*penalt(y|ies)(logitsprocessor)?|penali[sz]e\w*|logitsprocessorlist|apply_logits?_processors?|no_?repeat_?n_?gram\w*|\w*(minlength|mintokens|minnewtokens\w*|sequencebias|repetitionpenalty|norepeatngram)logitsprocessor",
        r"processor|processed|penalt", ("logits", "history"), (), ("gather", "scatter", "-inf"), (r"penalt|repeat|processor", r"logits?|scores"),
        never=r".*(guidance|whisper|watermark|synthid|bark|dia[a-z]+|codebook|criteria|warper|infnan|verif|nospeech|constrained)\w*", without=rf"{MODELS}|drafts?|audio\w*",
    ),
    "grammar_mask": Profile(
        r"(fill|apply)_(next_)?(token_)?bitmask\w*|grammar_(bit)?mask|traverse_draft_tree|allowed_tokens_mask", r"grammar|bitmask", ("grammar",), ("tree",), ("-inf", "mask"), (r"grammar|bitmask",),
    ),
    "rotate_half": Profile(r"rotated?_(half|every_two|pairs|neox)\w*|half_rotate", r"rotate", ("x",), (), ("joined with a negative",), (r"rotat|half",), without=r"pos(ition)?s?\w*|rotary\w*|rope\w*|cos|sin|base|theta|freqs?\w*|angles?", forms=FUNCTION),
    "rotary": Profile(r"apply_(\w+_)?(rot(ary|e)?|rope)\w*|(rotary|rope)_(apply|embed\w*|forward)", r"rotary|rope", ("x", "cos"), (), (), (r"rotary|rope|rotat",), forms=FUNCTION),
    "repeat_kv": Profile(r"repeat_kv|expand_kv|repeat_(key|value)s?_?\w*", r"repeat", ("kv", "repeats"), (), ("repeat",), (r"repeat|heads",), forms=FUNCTION),
}  # fmt: skip
