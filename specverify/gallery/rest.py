"""gallery:rest: the tree buffers, the tree step, the caches and the datastore of FasterDecoding/REST, on a checkout.

Written from signatures, shapes and what they return alone. The datastore is a module in Rust, of which the pure functions need the name only: where it is not installed, an empty
one stands in, and what searches is not audited. The parameters of `update_inference_inputs` are told apart by their names in the checkout.
"""

import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

import specverify as sv

try:
    import draftretriever as store
except ModuleNotFoundError:
    store = sys.modules["draftretriever"] = ModuleType("draftretriever")

from rest.model import kv_cache, modeling_llama_kv, utils

BOTH = ("float32", "float64")
SEARCHES = hasattr(store, "Reader")
"""Whether the datastore is there."""
PAD = -2
"""What fills paths up."""
AHEAD = 64
"""Positions that a cache of ours has room for."""

sv.subject("pad_path", name="rest.pad_path")(utils.pad_path)
sv.subject("rotate_half", name="rest.rotate_half", dtypes=BOTH)(modeling_llama_kv.rotate_half)
sv.subject("repeat_kv", name="rest.repeat_kv", dtypes=BOTH)(modeling_llama_kv.repeat_kv)


@sv.subject("rotary", name="rest.apply_rotary_pos_emb", dtypes=BOTH)
def rotary(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Any:
    """Its tables have two axes of one in front."""
    return modeling_llama_kv.apply_rotary_pos_emb(q, k, cos[None, None], sin[None, None], positions)


@sv.subject("filter_logits", name="rest.top_p_filtering", batch=True, dtypes=BOTH)
def top_p_filtering(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """It has no top-k, which is taken before, and works in place, on a copy of ours."""
    width = logits.shape[-1]
    border = logits.topk(min(top_k, width), -1).values[..., -1:]
    rows = logits.masked_fill(logits < border, -torch.inf).reshape(-1, width)
    filtered: Tensor = utils.top_p_filtering(rows, top_p)
    return filtered.reshape(logits.shape)


# Caches


def caches(layers: int, heads: int, width: int, room: int = AHEAD) -> Any:
    """(pairs, data, lengths) as `initialize_past_key_values` makes them, of a model that has a config alone."""
    sizes = {"num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads, "hidden_size": heads * width, "head_dim": width}
    config = SimpleNamespace(**sizes, max_position_embeddings=room)
    return kv_cache.initialize_past_key_values(SimpleNamespace(config=config, device=torch.device("cpu"), dtype=torch.float32))


SIZES = {"layers": sv.ints(1, 3), "heads": sv.ints(1, 3), "width": sv.ints(1, 3)}


def made(layers: int, heads: int, width: int) -> list[Any]:
    """The right caches: empty, of these sizes, each with memory of its own."""
    return [[2 * layers, 1, heads, AHEAD, width], [0] * 2 * layers, [float(i) for i in range(2 * layers)]]


@sv.subject("helper", name="rest.initialize_past_key_values", domain=SIZES, oracle=made)
def initialize_past_key_values(layers: int, heads: int, width: int) -> list[Any]:
    """The shape of all memory, the lengths, and what each cache holds after a number of its own was written into every one."""
    pairs, data, lengths = caches(layers, heads, width)
    flat = [cache for pair in pairs for cache in pair]
    written = [cache.cat(torch.full((1, heads, 1, width), float(i))) for i, cache in enumerate(flat)]
    data, lengths = (part[0] if isinstance(part, (list, tuple)) else part for part in (data, lengths))
    emptied = [int(n) - 1 for n in lengths]
    return [list(data.shape), emptied, [float(one.flatten()[0]) for one in written]]


@sv.subject("helper", name="rest.reset_past_key_values", domain=SIZES, oracle=lambda layers, heads, width: [0] * 2 * layers)  # noqa: ARG005  as the helper
def reset_past_key_values(layers: int, heads: int, width: int) -> list[int]:
    """The lengths that caches have after it, and that they are those of the list it was given."""
    pairs, _, _ = caches(layers, heads, width)
    for pair in pairs:
        for each in pair:
            each.cat(torch.ones(1, heads, 2, width))
    back = utils.reset_past_key_values(pairs)
    return [int(cache.shape[2]) for pair in back for cache in pair]


def history(rows: Tensor, more: Tensor, keep: list[int], before: int) -> list[Tensor]:
    """What a cache holds after two appends, and after keeping some rows behind the first ones."""
    whole = torch.cat((rows, more))
    before, kept = min(before, len(whole)), [i % len(whole) for i in keep]
    return [whole, torch.cat((whole[:before], whole[kept])), torch.tensor([before + len(kept)])]


@sv.subject(
    "helper",
    name="rest.KVCache",
    domain={
        "rows": sv.tensors(("n", 2), sv.floats(-4, 4)),
        "more": sv.tensors(("m", 2), sv.floats(-4, 4)),
        "keep": sv.lists(sv.ints(0, 8), min_size=1, max_size=4),
        "before": sv.ints(0, 4),
    },
    ensures=lambda rows, more, keep, before, found: bool(len(rows) + len(more) == 0 or alike(found, history(rows, more, keep, before))),
)
def kept(rows: Tensor, more: Tensor, keep: list[int], before: int) -> list[Tensor]:
    """Its rows after `cat` twice, then after `copy`, and its length then."""
    if len(rows) + len(more) == 0:
        return []
    cache = kv_cache.KVCache(torch.zeros(1, 1, AHEAD, 2), torch.tensor(0))
    cache.cat(rows[None, None])
    whole = cache.cat(more[None, None])[0, 0].clone()
    before, places = min(before, len(whole)), torch.tensor([i % len(whole) for i in keep])
    cache.copy(places, before, dim=2)
    return [whole, cache.data[0, 0, : int(cache.shape[2])].clone(), torch.tensor([int(cache.shape[2])])]


WIDE = 8
"""Width of memory, for rows of up to as much."""


class Cache:
    """Its caches of two layers, with one head, as one: the same rows in all."""

    def __init__(self, capacity: int) -> None:
        self.pairs, _, self.lengths = caches(2, 1, WIDE, capacity)
        self.width = 0

    def append(self, k: Tensor, v: Tensor) -> None:
        """By `cat`; rows are filled up to the width of the memory."""
        self.width = k.shape[1]
        for each in self.pairs:
            for one, rows in zip(each, (k, v), strict=True):
                one.cat(torch.nn.functional.pad(rows, (0, WIDE - self.width))[None, None])

    def length(self) -> int:
        """As its shape tells."""
        return int(self.pairs[0][0].shape[2])

    def rollback(self, to_length: int) -> None:
        """By the lengths, which the caches share; a length that is not there is refused here."""
        if not 0 <= to_length <= self.length():
            raise ValueError(f"there are {self.length()} rows, not {to_length}")
        self.lengths.fill_(to_length)

    def rows(self) -> tuple[Tensor, Tensor]:
        """Those of the first layer; an error where layers that were told the same differ."""
        first, second = ([cache.data[0, 0, : int(cache.shape[2]), : self.width].clone() for cache in each] for each in self.pairs)
        if not all(torch.equal(a, b) for a, b in zip(first, second, strict=True)):
            raise AssertionError("layers that were told the same rows hold different ones")
        return first[0], first[1]

    def select(self, kept: list[int]) -> None:
        """By `copy` to the start."""
        for each in self.pairs:
            for one in each:
                one.copy(torch.tensor(kept, dtype=torch.long), 0, dim=2)

    def reset(self) -> None:
        """By `reset_past_key_values`."""
        self.pairs = utils.reset_past_key_values(self.pairs)


sv.subject("kv_cache", name="rest.KVCache (history)", supports=("select", "reset"))(Cache)


def alike(found: Any, right: list[Tensor]) -> bool:
    """Whether arrays are equal, one by one."""
    return len(found) == len(right) and all(a.shape == b.shape and torch.equal(a.double(), b.double()) for a, b in zip(found, right, strict=True))


# Models and trees


class Reader:
    """A model in the repository's form, on one that is asked for prefixes: a row of logits behind each id, in both parts of the pair that it returns.

    Its cache has a slot for each position. An id sees what stands above it, which the repository tells its model apart from these functions: of a prompt all before it, if nothing is told.
    """

    def __init__(self, model: Any, prompt: Sequence[int] = (), above: Sequence[int] = ()) -> None:
        self.model, self.read, self.above = model, dict(enumerate(prompt)), above

    def __call__(self, ids: Tensor, *_: Any, position_ids: Tensor | None = None, **_rest: Any) -> tuple[Tensor, Tensor]:
        """Rows (1, T, V); a slot that nobody wrote into holds id 0."""
        places = range(ids.numel()) if position_ids is None else position_ids.reshape(-1).tolist()
        seen: list[dict[int, int]] = []
        for above, place, token in zip(self.above or range(-1, ids.numel() - 1), places, ids.reshape(-1).tolist(), strict=True):
            seen.append({**(seen[above] if above >= 0 else self.read), place: token})
        rows = torch.stack([self.model([slots.get(place, 0) for place in range(max(slots) + 1)]) for slots in seen]).log()[None]
        return rows, rows


@sv.subject("prefill", name="rest.initialize_logits", conventions={"returns": "logits"})
def initialize_logits(model: Any, tokens: Tensor, chunks: list[int], parents: Tensor) -> Any:
    """A prompt whose cache is empty."""
    return utils.initialize_logits(tokens[None], Reader(model), [])


def tree(paths: list[list[int]]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """Nodes from the root, as their paths, sorted by depth; and the rows of nodes from the root to each leaf."""
    nodes = sorted({tuple(path[:depth]) for path in paths for depth in range(len(path) + 1)} | {()}, key=lambda node: (len(node), node))
    leaves = [node for node in nodes if not any(other[:-1] == node and other for other in nodes)]
    return nodes, [[nodes.index(leaf[:depth]) for depth in range(len(leaf) + 1)] for leaf in leaves]


def padded(rows: list[list[int]], pad: int = -1) -> Tensor:
    """Rows of one length."""
    return torch.tensor([[*row, *[pad] * (max(map(len, rows)) - len(row))] for row in rows])


PATHS = sv.lists(sv.lists(sv.ints(1, 4), min_size=1, max_size=3), min_size=1, max_size=4)


@sv.subject("prefill", name="rest.tree_decoding", supports=("tree",), conventions={"returns": "logits"})
def tree_decoding(model: Any, tokens: Tensor, chunks: list[int], parents: Tensor) -> Tensor:
    """The prompt's last token is the root; the rows before it come from the model. An error where branches have different rows of one node."""
    start = len(tokens) - len(parents) - 1
    above, rows = branches(parents)
    depths = torch.tensor([len(path_to(node, above)) - 1 for node in range(len(above))])
    told = utils.tree_decoding(Reader(model, tokens[:start].tolist(), above), tokens[None, start:], [], depths, tokens[None, :start], padded(rows))[0]
    found: dict[int, Tensor] = {}
    for row, of_leaf in zip(rows, told, strict=True):
        for node, logits in zip(row, of_leaf, strict=False):
            if not torch.equal(found.setdefault(node, logits), logits):
                raise AssertionError(f"branches have different rows of node {node}")
    return torch.stack([*(model(tokens[: end + 1]).log() for end in range(start)), *(found[node] for node in range(len(above)))])


@sv.subject("verify_tree_greedy", name="rest.evaluate_posterior", dtypes=BOTH)
def greedy(logits: Tensor, parents: Tensor, tokens: Tensor) -> tuple[list[int], int]:
    """At temperature 0: a row for each leaf, the root first, padded as it pads; the next token is the argmax where it stops."""
    _, rows = branches(parents)
    ids = padded([[int(tokens[node - 1]) if node else 0 for node in row] for row in rows], PAD)
    best, accepted = (int(one) for one in utils.evaluate_posterior(logits[padded(rows)], ids, 0.0))
    path = rows[best][: accepted + 1]
    return [node - 1 for node in path[1:]], int(logits[path[-1]].argmax())


def branches(parents: Tensor) -> tuple[list[int], list[list[int]]]:
    """The node above each, the root first, which is node 0; and the nodes from it to each leaf."""
    above = [-1, *(parents + 1).tolist()]
    return above, [path_to(leaf, above) for leaf in range(len(above)) if leaf not in above[1:]]


def path_to(node: int, above: list[int]) -> list[int]:
    """From the root."""
    return [node] if node == 0 else [*path_to(above[node], above), node]


NUCLEUS = 1 - 2.0**-20
"""It wants top-p below 1."""


def of_the_nucleus(probs: Tensor, draw: Callable[[Tensor], int]) -> int:
    """A draw of theirs among tokens of a mass that a nucleus of this size cannot leave out, each at least 2^-19; the others, together, are drawn here."""
    tail = probs.where(probs < 2 * (1 - NUCLEUS), 0)
    if not tail.any():
        return draw(probs)
    if int(torch.multinomial(torch.stack((1 - tail.sum(), tail.sum())), 1)):
        return int(torch.multinomial(tail, 1))
    return draw((probs - tail) / (1 - tail.sum()))


@sv.subject("sample", name="rest.get_nucleus_posterior_mask", dtypes=BOTH)
def get_nucleus_posterior_mask(probs: Tensor) -> int:
    """A token matches where it was drawn at its node: each token is a leaf of one root, so that one matches, and follows the row.

    Tokens without mass are no leaves.
    """
    return of_the_nucleus(probs, matched)


def matched(probs: Tensor) -> int:
    """The one leaf that matches."""
    leaves = probs.nonzero()[:, 0]
    candidates = torch.stack((torch.zeros_like(leaves), leaves), 1)
    mask = utils.get_nucleus_posterior_mask(probs.log().expand(len(leaves), 2, -1), candidates, 1.0, NUCLEUS)
    (drawn,) = leaves[mask[:, 0].bool()].tolist()
    return int(drawn)


NAMES = {
    "input": "input_ids",
    "candidates": "candidates",
    "best": "best",
    "accept": "accepted",
    "retrieve": "retrieve",
    "output": "outputs",
    "logits": "logits",
    "new": "new",
    "length": "lengths",
    "data": "data",
}
"""What a parameter is, by what its name has in it."""


def arranged(function: Any, values: dict[str, Any]) -> list[Any]:
    """The values in the order of a function's parameters, told apart by their names."""
    order = []
    for name in inspect.signature(function).parameters:
        kind = next((kind for word, kind in NAMES.items() if name.startswith(word)), None) or next((kind for word, kind in NAMES.items() if word in name), None)
        if kind is None:
            raise TypeError(f"{function.__name__} has a parameter {name}, which this entry does not know")
        order.append(values[kind])
    return order


def accepted(paths: list[list[int]], prompt: list[int], leaf: int, depth: int) -> list[Any]:
    """The right text, number of new tokens, node whose row is next, and rows that both caches hold: the prompt's, then those of the path."""
    nodes, rows = tree(paths)
    path = rows[leaf % len(rows)]
    path = path[: min(depth, len(path) - 1) + 1]
    text = [*prompt, *(nodes[node][-1] if node else 0 for node in path)]
    return [text, 5 + len(path), path[-1], [*range(len(prompt)), *(len(prompt) + node for node in path)], True]


@sv.subject(
    "helper",
    name="rest.update_inference_inputs",
    domain={"paths": PATHS, "prompt": sv.lists(sv.ints(1, 4), min_size=1, max_size=3), "leaf": sv.ints(0, 5), "depth": sv.ints(0, 3)},
    oracle=accepted,
)
def update_inference_inputs(paths: list[list[int]], prompt: list[int], leaf: int, depth: int) -> list[Any]:
    """One leaf's path accepted to a depth, of a tree behind a prompt; five tokens were new before. Rows of the caches are numbers."""
    nodes, rows = tree(paths)
    pairs, data, lengths = caches(1, 1, 1)
    written = torch.arange(float(len(prompt) + len(nodes)))[None, None, :, None]
    for each in pairs[0]:
        each.cat(written)
    best = leaf % len(rows)
    values = {
        "input_ids": torch.tensor([prompt]), "candidates": padded([[nodes[node][-1] if node else 0 for node in row] for row in rows], PAD),
        "best": torch.tensor(best), "accepted": torch.tensor(min(depth, len(rows[best]) - 1)), "retrieve": padded(rows), "outputs": None,
        "logits": padded(rows)[..., None].float(), "new": 5, "data": data, "lengths": lengths,
    }  # fmt: skip
    ids, logits, new = utils.update_inference_inputs(*arranged(utils.update_inference_inputs, values))
    first, second = ([int(x) for x in cache.data[0, 0, : int(cache.shape[2]), 0]] for cache in pairs[0])
    return [ids[0].tolist(), int(new), int(logits.reshape(-1)[0]), first, first == second]


# What searches the datastore


@contextmanager
def reader(corpus: list[list[int]], width: int) -> Iterator[Any]:
    """A store of these documents, in a file that is there as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "store.idx"))
        writer = store.Writer(path, 512 * 1024 * 1024, width)
        for document in corpus:
            writer.add_entry(document)
        writer.finalize()
        yield store.Reader(path)


def searched(corpus: list[list[int]], context: list[int], n_min: int, n_max: int, m: int, budget: int) -> list[list[int]]:
    """It looks for one suffix at a time: the longest first, until something is found; the longest paths come back."""
    with reader(corpus, max([*context, *(token for document in corpus for token in document), 0]) + 1) as found:
        for n in range(min(n_max, len(context)), n_min - 1, -1):
            paths = found.search(context[-n:], choices=budget, long=m)[0]
            if paths:
                return [[token for token in path if token >= 0] for path in paths]
    return []


def drafted(paths: list[list[int]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The tree behind a root of id 0, whose continuations are the paths, without that root; ids are numbered, for a small vocabulary."""
    ids = [0, *sorted({token for path in paths for token in path})]
    corpus = [[0, *(ids.index(token, 1) for token in path)] for path in paths]
    logits = torch.nn.functional.one_hot(torch.tensor([0]), len(ids)).float()[None]
    start = torch.zeros(1, 1, dtype=torch.long)
    with reader(corpus, len(ids)) as found:
        _, nodes, told = utils.generate_candidates_and_draft_buffer(logits, start, found, [1], max_num_draft=10 * AHEAD, device="cpu")
    rows, tokens = told["retrieve_indices"], torch.tensor(ids)[nodes[0]]
    mask, positions = told["draft_attn_mask"][0, 0], told["draft_position_ids"]
    return mask[1:, 1:], positions[1:], torch.where(rows > 0, rows - 1, -1)[:, 1:], tokens[1:]


def root(probs: Tensor) -> int:
    """The first token of every candidate, with a store in which nothing follows it."""
    start = torch.zeros(1, 1, dtype=torch.long)
    return int(utils.generate_candidates_and_draft_buffer(probs.log()[None, None], start, small_store(), [1], top_p=NUCLEUS, device="cpu")[0][0, 0])


@cache
def small_store() -> Any:
    """One document of two ids, whose file is gone by now."""
    with reader([[0, 1]], 2) as found:
        return found


if SEARCHES:
    sv.subject("retriever", name="rest.Reader.search", conventions={"weights": "none", "prefixes": "leaves", "cap": 5000})(searched)
    sv.subject("tree_buffers", name="rest.generate_candidates_and_draft_buffer")(drafted)

    @sv.subject("sample", name="rest.generate_candidates_and_draft_buffer (next token)")
    def next_token(probs: Tensor) -> int:
        """The root of the tree, drawn from the whole nucleus."""
        return of_the_nucleus(probs, root)
