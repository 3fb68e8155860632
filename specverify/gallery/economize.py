"""gallery:economize: the verifiers and the sampler of PyPI's `economize`, on chains and draft trees; its decoding loop with three of its drafters, and its caches.

Written from signatures, docstrings and by trial. A verifier draws from its selector's generator, `generator_for` of the selector's documented protocol; ours hands over the generator of the call.
Its loop runs a model layer by layer, through an adapter that is written for each family of models: ours (`Tables`) has a table for each layer. A real model has the package's own adapter.
"""

from collections.abc import Callable
from typing import Any

import economize
import torch
from economize.arch import ArchAdapter, adapter_for, register_adapter
from economize.decoding import CycleDecoder, DecodeConfig, Draft, GreedySelector, GreedyVerifier, RejectionVerifier, TopPSampler
from economize.modules import DraftKVCache
from economize.runtime import CacheSpec, LayerRunner, PositionalKVCache, StaticKVCache
from economize.techniques.draft_model import DraftModelDrafter
from economize.techniques.early_exit import EarlyExitConfig
from economize.techniques.lookup import LookupConfig
from torch import Generator, Tensor, nn

import specverify as sv
from specverify.models.seen import logits, prefix

BOTH = ("float32", "float64")
NODES = {"order": "parents first", "pad": -1}
"""Of a draft tree: nodes in topological order, padded with -1."""
REJECTION, GREEDY = RejectionVerifier(DecodeConfig()), GreedyVerifier(DecodeConfig())


class Sampler(TopPSampler):  # type: ignore[misc]
    """Its sampler, with a generator that is given."""

    def __init__(self, generator: Generator, **how: float) -> None:
        super().__init__(**how)
        self.given = generator

    def generator_for(self, device: torch.device) -> Generator:  # noqa: ARG002  its protocol's
        """The one that drives every draw."""
        return self.given


def step(p: Tensor, q: Tensor | None, draft: Tensor, generator: Generator) -> list[int]:
    """It takes logits of the target, so it gets the logarithms of the rows; the tokens so far are the draft alone."""
    accepted, token = REJECTION.verify(p.log(), draft.tolist(), q, Sampler(generator), draft, 0)
    return [*draft[:accepted].tolist(), token]


@sv.subject("verify_chain", name="economize.RejectionVerifier.verify", rule="standard", seed="generator", dtypes=BOTH)
def chain(p: Tensor, q: Tensor, draft: Tensor, generator: Generator) -> list[int]:
    """One row."""
    return step(p, q, draft, generator)


@sv.subject("verify_deterministic_draft", name="economize.RejectionVerifier.verify (no probs)", rule="standard", seed="generator", dtypes=BOTH)
def looked_up(p: Tensor, draft: Tensor, generator: Generator) -> list[int]:
    """The same for a draft that was looked up."""
    return step(p, None, draft, generator)


@sv.subject("verify_chain", name="economize.RejectionVerifier.verify_batch", rule="standard", seed="generator", dtypes=BOTH, batch=True)
def batch(p: Tensor, q: Tensor, draft: Tensor, generator: Generator) -> Tensor:
    """A batch of chains of one length; of one row, a batch of one."""
    if draft.ndim == 1:
        (tokens,) = batch(p[None], q[None], draft[None], generator)
        alone: Tensor = tokens[tokens >= 0]
        return alone
    rows, gamma = draft.shape
    accepted, token = REJECTION.verify_batch(p.log(), Draft(draft, [gamma] * rows, probs=q), Sampler(generator), draft, [0] * rows)
    places = torch.arange(gamma + 1)
    tokens = torch.where(places < accepted[:, None], torch.nn.functional.pad(draft, (0, 1)), -1)
    emitted: Tensor = torch.where(places == accepted[:, None], token[:, None], tokens)
    return emitted


@sv.subject(
    "verify_batch", name="economize.RejectionVerifier.verify_batch (ragged)", seed="generator", dtypes=BOTH, conventions={"output": "accepted and bonus"}
)
def ragged(p: Tensor, q: Tensor, draft: Tensor, lengths: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Drafts of several lengths, padded with -1 as it says; one sampler for all rows."""
    tokens = torch.where(torch.arange(draft.shape[1]) < lengths[:, None], draft, -1)
    accepted, token = REJECTION.verify_batch(p.log(), Draft(tokens, lengths.tolist(), probs=q), Sampler(generator), tokens, [0] * len(tokens))
    return accepted, token


@sv.subject("verify_chain_greedy", name="economize.GreedyVerifier.verify", dtypes=BOTH)
def greedy(logits: Tensor, draft: Tensor) -> list[int]:
    """It takes logits as they are."""
    accepted, token = GREEDY.verify(logits, draft.tolist(), None, GreedySelector(), draft, 0)
    return [*draft[:accepted].tolist(), token]


def drafted(parents: Tensor, tokens: Tensor, q: Tensor | None = None) -> Draft:
    """A batch of one tree; pads behind the nodes, with the law of each node."""
    return Draft(tokens[None], [int((tokens >= 0).sum())], parents=parents[None], probs=None if q is None else q[None])


@sv.subject("verify_tree_greedy", name="economize.GreedyVerifier.verify_tree", dtypes=BOTH, conventions=NODES)
def greedy_tree(logits: Tensor, parents: Tensor, tokens: Tensor) -> tuple[list[int], int]:
    """It takes logits as they are."""
    (path,), (token,) = GREEDY.verify_tree(logits[None], drafted(parents, tokens), GreedySelector())
    return path, token


def tree(p: Tensor, q: Tensor | None, parents: Tensor, tokens: Tensor, generator: Generator) -> tuple[list[int], int]:
    """Q has the law that each node was drawn from, given its earlier siblings."""
    (path,), (token,) = REJECTION.verify_tree(p.log()[None], drafted(parents, tokens, q), Sampler(generator))
    return path, token


@sv.subject(
    "verify_tree",
    name="economize.RejectionVerifier.verify_tree (with replacement)",
    siblings="with-replacement",
    seed="generator",
    dtypes=BOTH,
    conventions=NODES,
)
def independent(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor, generator: Generator) -> tuple[list[int], int]:
    """Each node has the row of its parent."""
    return tree(p, q[parents + 1], parents, tokens, generator)


@sv.subject(
    "verify_tree",
    name="economize.RejectionVerifier.verify_tree (without replacement)",
    siblings="without-replacement",
    seed="generator",
    dtypes=BOTH,
    conventions=NODES,
)
def distinct(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor, generator: Generator) -> tuple[list[int], int]:
    """Each node has the row of its parent without the tokens of its earlier siblings."""
    rows = q[parents + 1]
    for i in range(len(tokens)):
        rows[i, tokens[:i][(parents[:i] == parents[i]) & (tokens[:i] >= 0)]] = 0
    return tree(p, rows / rows.sum(-1, keepdim=True), parents, tokens, generator)


@sv.subject(
    "verify_tree", name="economize.RejectionVerifier.verify_tree (no probs)", siblings="deterministic", seed="generator", dtypes=BOTH, conventions=NODES
)
def given(p: Tensor, q: None, parents: Tensor, tokens: Tensor, generator: Generator) -> tuple[list[int], int]:
    """Nodes that were no random choice."""
    return tree(p, None, parents, tokens, generator)


@sv.subject("sample", name="economize.TopPSampler", seed="generator", batch=True, dtypes=BOTH)
def sample(probs: Tensor, generator: Generator) -> Tensor:
    """It takes logits, so it gets the logarithms of the rows."""
    tokens: Tensor = Sampler(generator).select_many(probs.log().reshape(-1, probs.shape[-1]))
    return tokens.reshape(probs.shape[:-1])


# The loop


@register_adapter("specverify-table")
class Tables(ArchAdapter):  # type: ignore[misc]
    """A model whose layers are tables, each of which reads the ids alone: the last one is the model's own, those before are its `exits`.

    Hidden states are an id and a row of logits, (B, S, 1 + V); keys are ids, and values their positions.
    """

    layers = property(lambda self: [nn.Identity() for _ in self.tables])
    embed_tokens = final_norm = lm_head = rotary_emb = property(lambda _: nn.Embedding(1, 1))

    @property
    def tables(self) -> list[Any]:
        """The model of each layer."""
        return [*getattr(self.model, "exits", ()), self.model]

    def embed(self, input_ids: Tensor, ctx: Any = None) -> Tensor:  # noqa: ARG002  its adapters'
        """Ids, and no row yet."""
        return nn.functional.pad(input_ids[..., None].float(), (0, self.config.vocab_size))

    def call_layer(self, index: int, layer: Any, hidden: Tensor, ctx: Any) -> Tensor:  # noqa: ARG002  its adapters'
        """The rows behind what each query sees of the cache, its own id included."""
        model = self.tables[index - 1]
        model.calls += 1
        with ctx.cache.writing_at(ctx.slots):
            held = ctx.cache.update(hidden[:, None, :, :1], ctx.positions[:, None, :, None].float(), index - 1)
        ids, positions = (one[:, 0, :, 0].long().tolist() for one in held)
        visible = (ctx.mask(self.attention_spec(index), hidden.device)[:, 0] == 0).tolist()
        entries = [list(zip(*row, strict=True)) for row in zip(positions, ids, strict=True)]
        rows = [
            [logits(model.table, prefix(one for one, seen in zip(row, query, strict=True) if seen)) for query in queries]
            for row, queries in zip(entries, visible, strict=True)
        ]
        return torch.cat([hidden[..., :1], torch.tensor(rows)], -1)

    def logits(self, hidden: Tensor) -> Tensor:
        """The row, of whichever layer it comes from."""
        return hidden[..., 1:]


HEEDS = ("greedy", "temperature", "top_p", "eos")
Prompts = tuple[Tensor, Tensor]
"""Ids (B, S), filled up on the right, and lengths (B,)."""


def by_a_model(target: Any, draft: Any, config: DecodeConfig) -> Any:
    """Two models, each with a cache of its own."""
    return CycleDecoder(LayerRunner(adapter_for(target)), DraftModelDrafter(LayerRunner(adapter_for(draft)), draft.config.vocab_size), config)


def from_the_text(target: Any, draft: Any, config: DecodeConfig) -> Any:
    """Drafts that are looked up in the text."""
    return economize.apply(target, LookupConfig(), decoding=config)


def by_an_early_exit(target: Any, draft: Any, config: DecodeConfig) -> Any:
    """Drafts of the first layer, which is a table of its own; a real model has two layers."""
    target.exits = [draft]
    return economize.apply(target, EarlyExitConfig(exit_layer=1, head="shared"), decoding=config)


def bind(name: str, looped: Callable[[Any, Any, DecodeConfig], Any]) -> None:
    """A loop that keeps the law, on batches; a cycle is the drafts and one token of the model."""

    @sv.subject("generate", name=name, models="transformers", seed="generator", batch=True, supports=HEEDS, conventions={"padding": "right"})
    def generate(
        prompt: Prompts, target: Any, draft: Any, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None, generator: Generator
    ) -> list[list[int]]:
        loop = looped(target, draft, DecodeConfig(cycle_length=gamma + 1, verifier="rejection" if temperature else None))
        selector = Sampler(generator, temperature=temperature, top_p=top_p) if temperature else GreedySelector()
        rows = [row[:length] for row, length in zip(prompt[0], prompt[1].tolist(), strict=True)]
        return [one.tokens.tolist() for one in loop.decode_batch(rows, most, selector=selector, stop=eos)]


bind("economize.CycleDecoder (draft model)", by_a_model)
bind("economize.EfficientModel (lookup)", from_the_text)
bind("economize.EfficientModel (early exit)", by_an_early_exit)


# Caches

FLOATS, REFUSES = (*BOTH, "float16", "bfloat16"), {"full": "refuses"}
LAYERS, HEADS = 2, 2
"""Of a cache: two, so that one that is forgotten differs from the other."""


class Slots:
    """A cache of several layers and heads that all hold the same rows. Which slots are the text's is its caller's to say: the length is kept here, and what is not there refused."""

    cache: Any = None

    def __init__(self, capacity: int) -> None:
        self.capacity, self.kept = capacity, 0

    def length(self) -> int:
        """Of the text that it holds."""
        return self.kept

    def append(self, k: Tensor, v: Tensor) -> None:
        """Rows (T, D) into the slots behind those that are there."""
        if self.kept + len(k) > self.capacity:
            raise ValueError(f"there is room for {self.capacity} rows")
        self.put(torch.arange(self.kept, self.kept + len(k)), *(rows.expand(1, HEADS, *rows.shape) for rows in (k, v)))
        self.kept += len(k)

    def put(self, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Rows (1, heads, T, D) into slots (T,) of every layer."""
        raise NotImplementedError

    def rollback(self, to_length: int) -> None:
        """What is behind is overwritten by what comes."""
        if not 0 <= to_length <= self.kept:
            raise ValueError(f"there are {self.kept} rows, not {to_length}")
        self.kept = to_length

    def rows(self) -> tuple[Tensor | None, Tensor | None]:
        """Keys and values of the text, which every head of every layer must hold alike; none before the first."""
        if not self.kept:
            return None, None
        both = zip(*map(self.cache.read, range(LAYERS)), strict=True)
        keys, values = (torch.cat([layer[0, :, : self.kept] for layer in layers]) for layers in both)
        if any(not torch.equal(heads, heads[:1].expand_as(heads)) for heads in (keys, values)):
            raise AssertionError("layers or heads that were given the same rows differ")
        return keys[0], values[0]


@sv.subject("kv_cache", name="economize.PositionalKVCache", supports=("select",), dtypes=FLOATS, conventions=REFUSES)
class Positional(Slots):
    """Of a model's layers, which write through it as those of transformers do."""

    kind = PositionalKVCache

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.cache = self.kind(CacheSpec(capacity))

    def put(self, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """As a pass does."""
        with self.cache.writing_at(slots):
            for layer in range(LAYERS):
                self.cache.update(k, v, layer)

    def select(self, kept: list[int]) -> None:
        """As a tree is compacted onto the path that was accepted."""
        if any(row >= self.kept for row in kept):
            raise ValueError(f"there are {self.kept} rows")
        self.cache.gather(torch.tensor([0]), torch.tensor([kept], dtype=torch.long), torch.arange(len(kept))[None])
        self.kept = len(kept)


@sv.subject("kv_cache", name="economize.StaticKVCache", supports=("select", "reset"), dtypes=FLOATS, conventions=REFUSES)
class Static(Positional):
    """One that keeps its memory for the next text."""

    kind = StaticKVCache

    def reset(self) -> None:
        """As for a new generation of one row."""
        self.cache.activate(1)
        self.kept = 0


@sv.subject("kv_cache", name="economize.DraftKVCache", dtypes=FLOATS, conventions=REFUSES)
class OfADrafter(Slots):
    """Of a drafter's own layers; its memory is made with its first rows, whose width it has."""

    def put(self, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Several tokens of a row."""
        self.cache = self.cache or DraftKVCache(LAYERS, 1, HEADS, k.shape[-1], self.capacity, device=k.device, dtype=k.dtype)
        for layer in range(LAYERS):
            self.cache.scatter(layer, k, v, slots[None])
