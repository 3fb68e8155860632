"""The reference as specverify's subjects: it is audited like anybody's code."""

import itertools
import tempfile

import torch

import specref
import specverify as sv
from specref.rest import Rest, build
from specref.rules import Block, DeterministicDraft, Greedy, SampleAndMatch, Standard
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


@sv.subject("verify_batch", rule="standard", dtypes=DTYPES, seed="generator", supports=("undefined padding",), name="verify_batch")
def verify_batch(p, q, draft, lengths, generator):
    """Chains of several lengths, and one generator for all."""
    return specref.verify(Standard(), p, q, draft, generator, lengths)


@sv.subject("verify_batch", rule="standard", dtypes=DTYPES, rng="generators", supports=("temperature", "undefined padding"))
def verify_batch_of_generators(p, q, draft, lengths, *, generators, temperature):
    """A generator for each request; the rows of greedy ones are point masses."""
    return specref.verify(Standard(), p, q, draft, generators, lengths)
