"""gallery:economize: the verifiers and the sampler of PyPI's `economize`, on chains and draft trees.

Written from signatures, docstrings and by trial. A verifier draws from its selector's generator, `generator_for` of the selector's documented protocol; ours hands over the generator of the call.
"""

import torch
from economize.decoding import DecodeConfig, Draft, GreedySelector, GreedyVerifier, RejectionVerifier, TopPSampler
from torch import Generator, Tensor

import specverify as sv

BOTH = ("float32", "float64")
NODES = {"order": "parents first", "pad": -1}
"""Of a draft tree: nodes in topological order, padded with -1."""
REJECTION, GREEDY = RejectionVerifier(DecodeConfig()), GreedyVerifier(DecodeConfig())


class Sampler(TopPSampler):  # type: ignore[misc]
    """Its sampler, with a generator that is given."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
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
