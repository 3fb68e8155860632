"""The reference as specverify's subjects: it is audited like anybody's code."""

import itertools
import tempfile

import torch

import specref
import specverify as sv
from specref.rest import Rest, build
from specref.rules import Block, DeterministicDraft, Greedy, GreedyTree, SampleAndMatch, Standard
from specref.tree_verification import verify_tree
from specref.trees import NONE, Tree, Trees, pack
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


def tree_in_company(parents, tokens) -> Trees:
    """The nodes of a padded tree, packed beside a chain as long as all of its slots: the reference's own padding takes the place of the case's."""
    held = int((tokens != NONE).sum())
    tree, slots = Tree(tuple(tokens.tolist()[:held]), tuple(parents.tolist()[:held])), len(tokens)
    return pack([tree, Tree((0,) * slots, tuple(range(NONE, slots - 1)))])


def accepted(verdict):
    """Of the first tree: its path, and the token after it."""
    return verdict.path[0], verdict.tokens[0, verdict.accepted[0]]


@sv.subject("verify_tree_greedy", dtypes=DTYPES, conventions={"pad": NONE})
def greedy_tree(logits, parents, tokens):
    p = GREEDY(logits).expand(2, *logits.shape)
    return accepted(verify_tree(GreedyTree(), p, None, tree_in_company(parents, tokens), torch.Generator()))
