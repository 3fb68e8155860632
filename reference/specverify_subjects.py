"""The reference as specverify's subjects: it is audited like anybody's code."""

import functools
import importlib.util
import itertools
import tempfile
from types import SimpleNamespace

import torch

import specref
import specverify as sv
from specref.generation import ModelDrafter, ModuleModel, TableModel, speculative
from specref.generation.drafters import ngrams
from specref.generation.transformers_cache import CachedTexts
from specref.generation.transformers_models import CausalModel
from specref.grammar import Automaton
from specref.logprobs import likeliest, token_logprobs
from specref.processors import Processors
from specref.rest import Rest, build
from specref.rules import (
    Block,
    DeterministicChildren,
    DeterministicDraft,
    Greedy,
    GreedyTree,
    RecursiveRejection,
    SampleAndMatch,
    Standard,
    TrieSampleAndMatch,
)
from specref.tree_verification import verify_tree
from specref.trees import NONE, Tree, Trees, pack
from specref.vocabulary import MISSING, to_draft, to_target
from specref.warp import GREEDY

DTYPES = ("float64", "float32", "float16", "bfloat16")

sv.subject("sample", dtypes=DTYPES, batch=True, seed="generator", refuses=True)(specref.sample)
sv.subject("residual", dtypes=DTYPES, batch=True, refuses=True)(specref.residual)


@sv.subject("verify_chain", rule="standard", dtypes=DTYPES, seed="generator", refuses=True, batch=True)
def verify_chain(p, q, draft, generator):
    """One chain, or a batch of them."""
    return specref.verify(Standard(), p, q, draft, generator) if draft.dim() == 2 else specref.verify_chain(p, q, draft, generator)  # noqa: PLR2004


@sv.subject("warp", dtypes=DTYPES, batch=True)
def warp(logits, temperature, top_k, top_p):
    return specref.warp(logits, temperature, top_k, top_p)


@sv.subject("verify_chain", rule="block", dtypes=DTYPES, seed="generator", refuses=True)
def block(p, q, draft, generator):
    return specref.verify_chain(p, q, draft, generator, Block())


@sv.subject("verify_chain", rule="sample-and-match", dtypes=DTYPES, seed="generator", refuses=True)
def sample_and_match(p, q, draft, generator):
    return specref.verify_chain(p, None, draft, generator, SampleAndMatch())


@sv.subject("verify_deterministic_draft", dtypes=DTYPES, seed="generator", refuses=True)
def deterministic_draft(p, draft, generator):
    return specref.verify_chain(p, None, draft, generator, DeterministicDraft())


@sv.subject("verify_chain_greedy", dtypes=DTYPES)
def greedy(logits, draft):
    return specref.verify_chain(GREEDY(logits), None, draft, torch.Generator(), Greedy())


@sv.subject("retriever", refuses=True)
def retriever(corpus, context, n_min, n_max, m, budget):
    """REST, its datastore built anew on disk."""
    vocabulary = 1 + max(itertools.chain(context, *corpus))
    with tempfile.TemporaryDirectory() as folder, build(folder, corpus, vocabulary) as store:
        return Rest(store, n_max, n_min, m, budget).retrieve(context).prefixes


@sv.subject("tree_buffers")
def tree_buffers(paths):
    tree = Tree.from_paths(paths)
    return tree.mask(), tree.positions(1), tree.retrieve(), tree.tokens


@sv.subject("build_tree")
def build_tree(parents, selected):
    """The reference's tree of the nodes, breadth-first, and back to the order of the slots; the context, which is no node of it, before them."""
    chosen = selected.tolist()
    above = [NONE if parents[node] == NONE else chosen.index(parents[node]) for node in chosen]
    order = [NONE]
    for node in order:
        order += [child for child, parent in enumerate(above) if parent == node]
    places = torch.tensor([order.index(node) for node in range(NONE, len(chosen))])
    tree = Tree((0,) * len(chosen), tuple(order.index(above[node]) + NONE for node in order[1:]))
    mask = torch.nn.functional.pad(tree.mask(), (1, 0, 1, 0))
    mask[:, 0] = True
    lists = [[order[child + 1] + 1 for child in row if child != NONE] for row in pack([tree]).children[0][places].tolist()]
    following = dict(pair for row in lists for pair in itertools.pairwise(row))
    positions = torch.nn.functional.pad(tree.positions(1), (1, 0))
    return mask[places][:, places], positions[places], [row[0] if row else NONE for row in lists], [following.get(slot, NONE) for slot in range(len(places))]


def in_company(parents, tokens) -> Trees:
    """The nodes; where there are slots without one, beside a chain as long as all slots, so that the reference's own padding takes their place."""
    held, slots = int((tokens != NONE).sum()), len(tokens)
    tree = Tree(tuple(tokens.tolist()[:held]), tuple(parents.tolist()[:held]))
    return pack([tree, Tree((0,) * slots, tuple(range(NONE, slots - 1)))] if held < slots else [tree])


def accepted(verdict):
    """Of the first tree: its path, and the token after it."""
    return verdict.path[0], verdict.tokens[0, verdict.accepted[0]]


def tree_step(rule, p, q, parents, tokens, generator):
    trees = in_company(parents, tokens)
    p, q = (rows if rows is None else rows.expand(len(trees.sizes), *rows.shape) for rows in (p, q))
    return accepted(verify_tree(rule, p, q, trees, generator))


@sv.subject("verify_tree_greedy", dtypes=DTYPES, conventions={"pad": NONE})
def greedy_tree(logits, parents, tokens):
    return tree_step(GreedyTree(), GREEDY(logits), None, parents, tokens, torch.Generator())


TREE_RULES = (
    ("with_replacement", RecursiveRejection(replacement=True), "with-replacement", "standard"),
    ("without_replacement", RecursiveRejection(replacement=False), "without-replacement", "standard"),
    ("deterministic_children", DeterministicChildren(), "deterministic", "standard"),
    ("trie_sample_and_match", TrieSampleAndMatch(), "deterministic", "sample-and-match"),
)
"""Name, rule, how its children are drawn, and what it is declared as."""
for called, rule, siblings, declared in TREE_RULES:
    sv.subject("verify_tree", name=called, siblings=siblings, rule=declared, dtypes=DTYPES, seed="generator", refuses=True, conventions={"pad": NONE})(
        functools.partial(tree_step, rule)
    )


@sv.subject("verify_batch", rule="standard", dtypes=DTYPES, seed="generator", supports=("undefined padding",), name="verify_batch")
def verify_batch(p, q, draft, lengths, generator):
    """Chains of several lengths, and one generator for all."""
    return specref.verify(Standard(), p, q, draft, generator, lengths)


@sv.subject("verify_batch", rule="standard", dtypes=DTYPES, rng="generators", supports=("temperature", "undefined padding"))
def verify_batch_of_generators(p, q, draft, lengths, *, generators, temperature):
    """A generator for each request; the rows of greedy ones are point masses."""
    return specref.verify(Standard(), p, q, draft, generators, lengths)


@sv.subject("draft_and_verify", rule="standard", seed="generator", dtypes=DTYPES, conventions={"drafting": "rows", "without_drafts": "plain"})
def draft_and_verify(target, draft, prefix, gamma, generator):
    """A round of a loop: the draft model samples, the target's rows judge."""
    text, q = prefix, []
    for _ in range(gamma):
        q.append(draft(text))
        text = (*text, int(specref.sample(q[-1], generator)))
    p = torch.stack([target(text[: len(prefix) + i]) for i in range(gamma + 1)])
    rows, drafted = torch.stack(q) if q else p[:0], torch.tensor(text[len(prefix) :], dtype=torch.int64)
    return specref.verify_chain(p, rows, drafted, generator), rows, drafted


@sv.subject(
    "processed_rows",
    dtypes=DTYPES,
    refuses=True,
    supports=("temperature", "repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram_size", "min_tokens", "logit_bias"),
    conventions={
        "repetition_over": "prompt and generated",
        "penalties_over": "generated",
        "ngrams_over": "prompt and generated",
        "min_tokens_over": "generated",
    },
)
def processed_rows(logits, prefix, draft, parameters):
    named = {
        "repetition": "repetition_penalty",
        "presence": "presence_penalty",
        "frequency": "frequency_penalty",
        "ngram": "no_repeat_ngram_size",
        "least": "min_tokens",
    }
    chosen = {own: parameters[name] for own, name in named.items()}
    processors = Processors(dict(map(tuple, parameters["logit_bias"])), eos=parameters["eos_token_id"], **chosen)
    return specref.warp(processors(logits, prefix, draft, parameters["prompt_length"]), parameters["temperature"])


@sv.subject("vocab_map", batch=True, supports=("int32",), conventions={"table": "offsets"})
def target_ids(ids, table):
    return to_target(ids, table)


@sv.subject("vocab_map", batch=True, supports=("int32",), conventions={"direction": "target to draft", "missing": MISSING})
def draft_ids(ids, table):
    return to_draft(ids, table)


@sv.subject("grammar_mask", supports=("tree",), conventions={"order": "parents first"})
def grammar_mask(grammar, tokens, parents):
    return Automaton(torch.tensor(grammar.transitions)).mask(grammar.state, tokens, parents)


@sv.subject("logprobs", dtypes=DTYPES, refuses=True, conventions={"kind": "processed"}, supports=("top",))
def logprobs(rows, tokens, emitted, temperature, top):
    given = rows, tokens[:emitted]
    entries = token_logprobs(*given, temperature)
    return (entries, likeliest(*given, top, temperature)) if top else entries


@sv.subject("verify_packed", rule="standard", dtypes=DTYPES, rng="generators", supports=("temperature", "undefined padding"))
def verify_packed(batch):
    """Rows of probabilities, dense."""
    return specref.verify(Standard(), *batch.dense(), batch.generators, batch.lengths)


@sv.subject("verify_packed", rule="standard", dtypes=DTYPES, rng="generators", supports=("temperature", "top_k", "top_p"), conventions={"target": "logits"})
def verify_packed_of_logits(batch):
    """Each request under its own parameters."""
    logits, q, draft = batch.dense()
    told = zip(logits, batch.temperature.tolist(), batch.top_k.tolist(), batch.top_p.tolist(), strict=True)
    return specref.verify(Standard(), torch.stack([specref.warp(*one) for one in told]), q, draft, batch.generators, batch.lengths)


@sv.subject("generate", models="module", seed="generator")
def generate(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos, generator):
    """The loop on modules that read their text anew."""
    sampling = specref.Sampling(temperature, top_k, top_p)
    drafter = ModelDrafter(ModuleModel(draft, draft.vocab_size), sampling)
    stop = () if eos is None else eos
    written = speculative(
        ModuleModel(target, target.vocab_size), drafter, [prompt.tolist()], generator, max_new_tokens=max_new_tokens, gamma=gamma, sampling=sampling, eos=stop
    )
    return written.tokens[0]


def cached_generate(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos, generator):
    """The loop on models of transformers, whose caches forget what was rejected."""
    sampling = specref.Sampling(temperature, top_k, top_p)
    stop = () if eos is None else eos
    drafter = ModelDrafter(CausalModel(draft), sampling)
    written = speculative(CausalModel(target), drafter, [prompt.tolist()], generator, max_new_tokens=max_new_tokens, gamma=gamma, sampling=sampling, eos=stop)
    return written.tokens[0]


if importlib.util.find_spec("transformers"):
    sv.subject("generate", models="transformers", seed="generator")(cached_generate)


@sv.subject("drafter", models="module", seed="generator", conventions={"drafting": "rows", "amount": "gamma"})
def drafter(context, source, gamma, generator):
    """A draft model that samples."""
    proposals = ModelDrafter(ModuleModel(source, source.vocab_size)).start(1, context.device)
    draft = proposals.draft([context.tolist()], [gamma], generator)
    return draft.tokens[0], draft.q[0]


@sv.subject("drafter", name="prompt_lookup", conventions={"source": "context"})
def prompt_lookup(context, source, gamma):
    """What followed the context's end before."""
    draft = ngrams().start(1, context.device).draft([context.tolist()], [gamma], ())
    return draft.tokens[0, : draft.lengths[0]], None


@sv.subject("generate", models="module", seed="generator", batch=True, conventions={"padding": "right"})
def generate_together(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos, generator):
    """The same with several prompts side by side."""
    sampling = specref.Sampling(temperature, top_k, top_p)
    drafter = ModelDrafter(ModuleModel(draft, draft.vocab_size), sampling)
    stop = () if eos is None else eos
    texts = [row[:length].tolist() for row, length in zip(*prompt, strict=True)]
    model = ModuleModel(target, target.vocab_size)
    return speculative(model, drafter, texts, generator, max_new_tokens=max_new_tokens, gamma=gamma, sampling=sampling, eos=stop).tokens


@sv.subject("kv_cache", dtypes=DTYPES, supports=("select",), conventions={"full": "grows"})
class CacheOfOneText:
    """The state of one text in a transformers model, its cache made of one layer; a model's place in `append` is taken by what is handed over."""

    def __init__(self, capacity):
        self.layer = SimpleNamespace(keys=None, values=None)
        self.state = CachedTexts(1, SimpleNamespace(layers=[self.layer]))

    def append(self, k, v):
        known = (self.layer.keys, self.layer.values)
        self.layer.keys, self.layer.values = (torch.cat([*([] if old is None else [old]), new[None, None]], 2) for old, new in zip(known, (k, v), strict=True))
        self.state.grow(self.state.with_new([len(k)]))

    def length(self):
        return self.state.counts[0]

    def rollback(self, to_length):
        self.state.crop([to_length])

    def select(self, kept):
        self.state.nodes = self.length()
        self.state.keep([kept])

    def rows(self):
        return [] if self.layer.keys is None else self.layer.keys[0, 0], [] if self.layer.values is None else self.layer.values[0, 0]


def read(reader, tokens, chunks, parents):
    """A prompt chunk by chunk, its last token with the tree behind it."""
    length, state = len(tokens) - len(parents), reader.start(1)
    parts = [part for part in tokens[: length - 1].split([*chunks[:-1], chunks[-1] - 1]) if len(part)]
    rows = [reader.logits(part[None], [len(part)], state, [len(part)])[0] for part in parts]
    tree = Tree(tuple(tokens[length:].tolist()), tuple(parents.tolist()))
    return torch.cat([*rows, reader.tree_logits(tokens[None, length - 1 : length], [1], state, [tree])[0]])


@sv.subject("prefill", supports=("chunks", "tree"), conventions={"returns": "log-probabilities"})
def prefill(model, tokens, chunks, parents):
    """A function of the prefix, trees behind it."""
    return read(TableModel(lambda text: model(text).double().log().tolist(), model.width), tokens, chunks, parents)


@sv.subject("prefill", models="module", supports=("chunks",), conventions={"returns": "logits"})
def prefill_of_a_module(model, tokens, chunks, parents):
    """A module that reads its text anew for every chunk."""
    reader = ModuleModel(model, model.vocab_size)
    state = reader.start(1)
    return torch.cat([reader.logits(part[None], [len(part)], state, [len(part)])[0] for part in tokens.split(chunks)])


if importlib.util.find_spec("transformers"):

    @sv.subject("prefill", models="transformers", supports=("chunks", "tree"), conventions={"returns": "logits"})
    def prefill_with_a_cache(model, tokens, chunks, parents):
        """A model with a cache of keys and values, trees by its mask."""
        return read(CausalModel(model), tokens, chunks, parents)


@sv.subject("session", models="module")
class DraftsOfOneText:
    """The draft model's proposals for one text."""

    def __init__(self, model):
        self.drafter, self.generator = ModelDrafter(ModuleModel(model, model.vocab_size)), torch.Generator()

    def begin(self, prompt):
        self.text, self.proposals = prompt.tolist(), self.drafter.start(1, torch.device("cpu"))

    def draft(self, gamma):
        self.drafts = self.proposals.draft([self.text], [gamma], self.generator)
        return self.drafts.tokens, self.drafts.q

    def accept(self, n, token):
        self.text += [*self.drafts.tokens[0, :n].tolist(), token]

    def state(self):
        return self.text


def parents_of(first, sibling, size):
    """The node above each, from lists of slots that end with NONE; slot k + 1 is node k."""
    above = [NONE] * size
    for slot in range(size + 1):
        child = first[slot]
        while child != NONE:
            above[child - 1], child = slot + NONE, sibling[child]
    return tuple(above)


def lcrs_step(rule, batch):
    """Packed trees in the reference's own form; slots beyond its largest tree are cut off."""
    links, sizes = batch.lcrs(end=NONE), batch.sizes.tolist()
    lists = zip(links.tokens.tolist(), links.first_child.tolist(), links.next_sibling.tolist(), sizes, strict=True)
    trees = pack([Tree(tuple(tokens[1 : size + 1]), parents_of(first, sibling, size)) for tokens, first, sibling, size in lists])
    p, q = (rows if rows is None else rows[:, : max(sizes) + 1] for rows in (links.target, links.q))
    verdict = verify_tree(rule, p, q, trees, batch.generators)
    return verdict.tokens, verdict.accepted


for called, rule, siblings, declared in TREE_RULES:
    sv.subject(
        "verify_tree_lcrs",
        name=f"packed_{called}",
        siblings=siblings,
        rule=declared,
        dtypes=DTYPES,
        rng="generators",
        supports=("temperature", "undefined padding"),
    )(functools.partial(lcrs_step, rule))
